"""The built wheel, installed as a command by uv and by pipx in an empty home directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.editors.programs import program
from tests.packaging.home import Home

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="HOME sets the home directory only on POSIX"),
]

KEPT = {".config/jumpseat", ".local/state/jumpseat", ".local/share/jumpseat"}
"""The directories that remain after an uninstall, as docs/command-line.md says."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    directory = tmp_path / "user"
    directory.mkdir()
    home = Home(directory)
    yield home
    home.stop_daemon()


def commands_of(installer: str, wheel: str, home: Home) -> dict[str, list[str]]:
    if installer == "uv":
        # uv's environments do not have pip, so `jumpseat local install` looks for uv on the PATH.
        uv = str(home.directory / ".local/bin/uv")
        Path(uv).parent.mkdir(parents=True)
        Path(uv).symlink_to(program("uv"))
        return {
            "install": [uv, "tool", "install", "--python", sys.executable, wheel],
            "uninstall": [uv, "tool", "uninstall", "jumpseat"],
        }
    pipx = program("pipx")
    return {
        "install": [pipx, "install", "--python", sys.executable, wheel],
        "uninstall": [pipx, "uninstall", "jumpseat"],
    }


@pytest.mark.parametrize("installer", ["uv", "pipx"])
def test_a_tool_installer_installs_jumpseat_and_removes_all_but_the_users_files(
    installer: str, home: Home, wheel: Path
) -> None:
    commands = commands_of(installer, f"{wheel}[local]", home)

    home.run(*commands["install"])
    assert home.run("jumpseat", "--version").startswith(f"jumpseat {__version__}\n")
    home.run("jumpseat", "local", "install")
    assert home.run("jumpseat", "chat", "--max-tokens", "5", "Say hello.").strip()
    home.stop_daemon()

    home.run(*commands["uninstall"])
    assert not (home.directory / ".local/bin/jumpseat").exists()
    left = home.files()
    left.discard(".local/bin/uv")
    assert {file for file in left if not any(file.startswith(f"{kept}/") for kept in KEPT)} == set()
    assert any(file.endswith(".gguf") for file in left)
