"""The built wheel, installed as a command by uv and by pipx in an empty home directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.editors.programs import program

COMMAND_SECONDS = 100.0

pytestmark = [
    pytest.mark.xdist_group("wheel"),
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="the home directory is given by HOME"),
]

KEPT = {".config/jumpseat", ".local/state/jumpseat", ".local/share/jumpseat"}
"""The directories that stay after an uninstall; docs/command-line.md names them."""


class Home:
    """An empty home directory, in which one installer works."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_", "UV_", "XDG_RUNTIME")) or name == "LANG"
        }
        self.variables["HOME"] = str(directory)
        self.variables["PATH"] = os.pathsep.join([str(directory / ".local/bin"), "/usr/bin", "/bin"])
        self.variables["UV_SYSTEM_CERTS"] = "1"

    def run(self, *command: str | Path) -> str:
        ran = subprocess.run(
            command,
            env=self.variables,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def stop_daemon(self) -> None:
        """End the shared daemon; there is none if its cold start took longer than a command waits."""
        if command := shutil.which("jumpseat", path=str(self.directory / ".local/bin")):
            stop = [command, "daemon", "stop"]
            subprocess.run(stop, env=self.variables, timeout=COMMAND_SECONDS, check=False)

    def files(self) -> set[str]:
        """The files below it, without the installers' own caches and logs."""
        return {
            str(path.relative_to(self.directory))
            for path in self.directory.rglob("*")
            if path.is_file() and not {".cache", "uv", "pipx"} & set(path.relative_to(self.directory).parts)
        }


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    directory = tmp_path / "user"
    directory.mkdir()
    home = Home(directory)
    yield home
    if shutil.which("jumpseat", path=str(directory / ".local/bin")):  # The test failed.
        subprocess.run(
            ["jumpseat", "daemon", "stop"], env=home.variables, timeout=COMMAND_SECONDS, check=False
        )


def commands_of(installer: str, wheel: str, home: Home) -> dict[str, list[str]]:
    if installer == "uv":
        # uv's environments have no pip: `jumpseat local install` looks for uv on the PATH.
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
def test_a_tool_installer_installs_and_removes_the_command_and_its_local_model(
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
