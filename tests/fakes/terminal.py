"""Runs a command on a real terminal, types keys and reads its output. POSIX only."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.processes import restore_interrupts

REPOSITORY = Path(__file__).parents[2]

LIMIT_SECONDS = 50.0
"""The time limit for reading from a command on a busy machine."""

_PIECE = re.compile(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)")


class Terminal:
    """A command on a terminal, which has 24 rows and 80 columns by default."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (24, 80),
    ) -> None:
        self.screen, terminal = pty.openpty()
        """The descriptor with which the test reads the output and types keys."""

        termios.tcsetwinsize(terminal, size)
        if env is None:  # pytest's workers set COLUMNS, which would hide the terminal's own size.
            env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment = {**env, "TERM": "xterm-256color", "CONTROLLING_TTY": "1"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=REPOSITORY,
            env=environment,
            start_new_session=True,
            preexec_fn=restore_interrupts,
        )
        os.close(terminal)
        self.output = b""
        self._deadline = time.monotonic() + LIMIT_SECONDS

    def read_until(self, done: Callable[[bytes], bool]) -> None:
        while not done(self.output):
            piece = self.read()
            assert piece, self.output
            self.output += piece

    def type(self, keys: bytes) -> None:
        os.write(self.screen, keys)

    def wait_for_echo(self, *, on: bool) -> None:
        """Wait until the command has switched the echo of keys on or off."""
        while bool(termios.tcgetattr(self.screen)[3] & termios.ECHO) is not on:
            assert time.monotonic() < self._deadline, f"The echo is not {'on' if on else 'off'}."
            time.sleep(0.01)  # Poll, because no event reports the change.

    def resize(self, rows: int, columns: int) -> None:
        """Resize the window, which sends SIGWINCH to the command."""
        termios.tcsetwinsize(self.screen, (rows, columns))

    def finish(self) -> tuple[int, str]:
        """Wait for the end of the command, and return its exit code and its whole output."""
        while piece := self.read():
            self.output += piece
        os.close(self.screen)
        return self.process.wait(20), self.output.decode()

    def read(self) -> bytes:
        """Return the next piece of output, or nothing if the command has closed the terminal."""
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self.screen], [], [], left)[0]:
            self.process.kill()
            raise AssertionError(f"The command has not ended after {LIMIT_SECONDS} s: {self.output!r}")
        try:
            return os.read(self.screen, 65_536)
        except OSError:  # On Linux, this means that the command has closed the terminal.
            return b""


def list_visible_lines(output: str) -> list[str]:
    """Return the lines that the terminal shows at the end of the output.

    This function supports only the sequences that our commands send: move up, erase a line, and change the
    colours or the cursor's look.
    """
    lines, row, column = [""], 0, 0
    for piece in _PIECE.split(output):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\r":
            column = 0
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif not piece.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + piece + lines[row][column + len(piece) :]
            column += len(piece)
    return [line.rstrip() for line in lines]
