"""Types into a conversation and reads its screen. POSIX only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.fakes.screen import Screen
from tests.fakes.terminal import Terminal

ATTACH = [sys.executable, "-P", "-m", "jumpseat", "attach"]
UP, ALT_ENTER, CTRL_C, CTRL_D, TAB = "\x1b[A", "\x1b\r", "\x03", "\x04", "\t"

# COLUMNS and LINES do not change with the terminal. With TMUX, our commands handle a resize differently.
SIZE_VARIABLES = ("COLUMNS", "LINES", "TMUX")


@contextmanager
def typists() -> Iterator[Callable[..., Typist]]:
    """Yield a function that starts typists, and end the programs that a failed test leaves running."""
    started: list[Typist] = []

    def start(*arguments: str, **more: Any) -> Typist:
        started.append(Typist(*arguments, **more))
        return started[-1]

    try:
        yield start
    finally:
        for process in (each.terminal.process for each in started):
            if process.poll() is None:
                process.kill()
                process.wait(20)


class Typist:
    """A user of `jumpseat ARGUMENTS` with a real daemon, which is the shared one by default."""

    def __init__(
        self,
        *arguments: str,
        daemon: Sequence[str] = ATTACH,
        size: tuple[int, int] = (24, 80),
        **variables: str,
    ) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in SIZE_VARIABLES}
        command = [sys.executable, "-m", "tests.fakes.cli", json.dumps(list(daemon)), *arguments]
        # Set these variables with `env`, because `Terminal` overrides some variables of its environment.
        given = [f"{key}={value}" for key, value in variables.items()]
        self.terminal = Terminal(["env", *given, *command], environment, size)
        self.screen = Screen(*size)
        # pyte calls this function with the answers to a program's questions, such as for the cursor position.
        self.screen.write_process_input = lambda answer: self.terminal.type(answer.encode())

    def type(self, text: str) -> None:
        self.terminal.type(text.encode())

    def enter(self, text: str) -> None:
        """Type a text and press Enter."""
        self.type(f"{text}\r")

    def paste(self, text: str) -> None:
        """Paste a text as terminals with bracketed paste do."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        self.terminal.resize(rows, columns)
        self.screen.resize(rows, columns)

    def see(self, text: str, *, times: int = 1) -> None:
        """Read until `self.text` contains the text this many times."""
        self.read_until(lambda: self.text.count(text) >= times, text)

    def read_until(self, done: Callable[[], bool], what: object = "") -> None:
        while not done():
            try:
                piece = self.terminal.read()
            except AssertionError:
                piece = b""
            assert piece, f"{what!r} is not on the screen:\n{self.shown}"
            self._show(piece)

    def leave(self) -> str:
        """Press Ctrl-D, wait for exit code 0 and return all rows."""
        self.type(CTRL_D)
        return self.finish()

    def finish(self, code: int = 0) -> str:
        """Wait for this exit code and return all rows."""
        while piece := self.terminal.read():
            self._show(piece)
        os.close(self.terminal.screen)
        assert self.terminal.process.wait(20) == code, self.shown
        return self.shown

    @property
    def rows(self) -> list[str]:
        """All rows with text, the scrollback first."""
        return [row for row in self.screen.rows if row.strip()]

    @property
    def shown(self) -> str:
        """All rows."""
        return "\n".join(self.screen.rows)

    @property
    def text(self) -> str:
        """All rows, joined to one line, because a terminal wraps between any two characters."""
        return "".join(self.screen.rows)

    @property
    def output(self) -> bytes:
        return self.terminal.output

    def _show(self, piece: bytes) -> None:
        self.terminal.output += piece
        self.screen.show(piece)
