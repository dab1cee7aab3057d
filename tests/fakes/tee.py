"""Starts a program and copies its input to a file: `tee.py FILE PROGRAM ...`.

It stands for npm's entry point of the Copilot language server, or for a user's wrapper script: a process
between the daemon and the program. It imports only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path


def main(copy: str, *command: str) -> int:
    """Run the command until it ends, and return its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert child.stdin is not None
    with Path(copy).open("ab", buffering=0) as file, contextlib.suppress(BrokenPipeError):
        while data := os.read(0, 1 << 16):
            file.write(data)
            child.stdin.write(data)
            child.stdin.flush()
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
