"""Tool servers from other distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.system.environment import environment_of_process
from jumpseat.tools.plugins import load_plugins
from tests.fakes import tool_plugin


def test_a_plug_in_cannot_have_the_name_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tool_plugin.install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    environment = environment_of_process()

    assert [server.name for server in load_plugins(environment)] == ["shed"]
    assert list(load_plugins(environment, {"shed"})) == []
    assert "cannot have the name of the tool server shed" in caplog.text
