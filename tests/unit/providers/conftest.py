"""Fixtures for the tests of plug-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.providers.plugged import Install, Site


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that installs a distribution in this process, for one test."""
    site = Site(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return site.install
