"""The programs of these tests: the editors, and what they start in place of the daemon."""

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
"""Much longer than any test needs, for a busy machine."""

NEEDED = (
    *("chat/start", "chat/cancel", "edit/start", "prompts/get", "prompts/list", "settings/schema"),
    *("transcript/check", "transcript/parse", "transcript/render"),
)
"""The methods without which an editor takes a daemon for too old."""


def program(name: str) -> str:
    """The program next to our interpreter (where a wheel installs it), or on the PATH; skips without it."""
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
    """A program in Python, as an editor starts it."""
    file = directory / "program.py"
    file.write_text(body)
    return [sys.executable, str(file)]


def write_program_body(methods: Sequence[str], then: str) -> str:
    """Return the body of a program of release 0.0.9 that answers `initialize` with these methods."""
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
    """The daemon's program, which starts once the file `go` exists, or after a minute."""
    return program_that(
        directory,
        "import os, sys, time\n"
        f"for _ in range(6000):\n  os.path.exists({str(go)!r}) or time.sleep(0.01)\n"
        "os.execv(sys.executable, [sys.executable, '-P', '-m', 'jumpseat', *sys.argv[1:]])\n",
    )


def path_with_uv(directory: Path, body: str) -> str:
    """A PATH whose uv is this program in Python."""
    uv = directory / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f"#!{sys.executable}\n{body}")
    uv.chmod(0o755)
    return f"{uv.parent}:/usr/bin:/bin"


def path_with_uv_that_says(directory: Path, reason: str, code: int = 20) -> str:
    """A PATH whose uv runs the installer as if it failed for this reason, or ended with another exit code."""
    return path_with_uv(directory, f"import sys\nprint({reason!r}, *sys.argv)\nsys.exit({code})\n")
