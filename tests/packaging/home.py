"""An empty home directory, as a new user of this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

COMMAND_SECONDS = 100.0
"""The time limit for a command. An installation may download a hundred megabytes."""


class Home:
    """An empty home directory, in which programs run with few environment variables."""

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

    def run(self, *command: str | Path, seconds: float = COMMAND_SECONDS) -> str:
        """Run a program, which must succeed, and return its standard output."""
        ran = subprocess.run(
            command,
            env=self.variables,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def stop_daemon(self, program: str | Path | None = None) -> None:
        """Stop the shared daemon with this program, or else with the home's `jumpseat` if it is installed.

        Ignore the exit code, because there may be no daemon: a command does not wait for a slow cold start.
        """
        if command := shutil.which(program or "jumpseat", path=str(self.directory / ".local/bin")):
            stop = [command, "daemon", "stop"]
            subprocess.run(stop, env=self.variables, timeout=COMMAND_SECONDS, check=False)

    def files(self) -> set[str]:
        """Return the files below the directory, without the installers' own caches and logs."""
        return {
            str(path.relative_to(self.directory))
            for path in self.directory.rglob("*")
            if path.is_file() and not {".cache", "uv", "pipx"} & set(path.relative_to(self.directory).parts)
        }
