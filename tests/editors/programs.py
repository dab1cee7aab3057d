"""The programs of these tests: the editors, and programs that they start instead of the daemon."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

WAIT_SECONDS = 20.0
"""A time limit that is much longer than any test needs, even on a busy machine."""

NEEDED = (
    *("chat/start", "chat/cancel", "edit/start", "prompts/get", "prompts/list", "settings/schema"),
    *("transcript/check", "transcript/parse", "transcript/render"),
)
"""The methods that a daemon must have. If one is missing, an editor reports that the daemon is too old."""


def program(name: str) -> str:
    """Return the path of a program beside our interpreter or on the PATH; skip the test if there is none."""
    beside = Path(sys.executable).parent
    found = shutil.which(name, path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def connect(address: Path, name: str) -> socket.socket:
    """Connect to the editor called `name` as soon as it listens at the address."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            assert time.monotonic() < deadline, f"{name} does not listen"
            time.sleep(0.01)
        else:
            connection.settimeout(2 * WAIT_SECONDS)
            return connection


def program_that(directory: Path, body: str) -> list[str]:
    """Write a program in Python, and return the command that starts it."""
    file = directory / "program.py"
    file.write_text(body)
    return [sys.executable, str(file)]


def body_with_methods(methods: Sequence[str], then: str) -> str:
    """Return a program that answers `initialize` as release 0.0.9 with these methods, then runs `then`."""
    experimental = {"jumpseat": {"protocolVersion": 1, "methods": list(methods)}}
    result = {
        "serverInfo": {"name": "jumpseat", "version": "0.0.9"},
        "capabilities": {"experimental": experimental},
    }
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    return (
        "import sys, time\nsys.stdin.readline()\n"
        f"body = {answer!r}\n"
        "sys.stdout.write(f'Content-Length: {len(body)}\\r\\n\\r\\n{body}')\nsys.stdout.flush()\n"
        f"{then}\n"
    )


def slow_program(directory: Path, go: Path) -> list[str]:
    """Return a command that starts the daemon once the file `go` exists, or after a minute."""
    return program_that(
        directory,
        "import os, sys, time\n"
        f"for _ in range(6000):\n  os.path.exists({str(go)!r}) or time.sleep(0.01)\n"
        "os.execv(sys.executable, [sys.executable, '-P', '-m', 'jumpseat', *sys.argv[1:]])\n",
    )


def path_with_uv(directory: Path, body: str) -> str:
    """Return a PATH on which `uv` is this program in Python."""
    uv = directory / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f"#!{sys.executable}\n{body}")
    uv.chmod(0o755)
    return f"{uv.parent}:/usr/bin:/bin"


def path_with_uv_that_says(directory: Path, reason: str, code: int = 20) -> str:
    """Return a PATH on which `uv` prints this reason and exits with this code, as the installer does."""
    return path_with_uv(directory, f"import sys\nprint({reason!r}, *sys.argv)\nsys.exit({code})\n")
