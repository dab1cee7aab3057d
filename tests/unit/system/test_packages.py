"""The command in hints that installs a package."""

from __future__ import annotations

import sys

import pytest

from jumpseat.system import packages


def test_the_command_uses_the_pip_of_this_environment() -> None:
    assert packages.install_command("keyring") == f"{sys.executable} -m pip install keyring"


def test_the_command_uses_uv_in_an_environment_without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/home/a b/python")

    command = packages.install_command("keyring>=25")

    assert command == "uv pip install --python '/home/a b/python' 'keyring>=25'"
