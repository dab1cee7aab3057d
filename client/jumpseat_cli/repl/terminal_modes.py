"""The modes of the terminal in a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

if sys.platform != "win32":
    import termios


class QuietTerminal:
    """Does not echo keys, which would appear inside an answer; the next prompt gets what was typed.

    A `with` block; on Windows it does nothing.
    """

    def __init__(self, *, is_plain: bool) -> None:
        """
        Args:
            is_plain: the terminal itself edits the input, which needs its usual modes.
        """
        self._is_plain = is_plain
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        if sys.platform != "win32" and not self._is_plain:
            self._before = termios.tcgetattr(0)
            self._silence()
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Give the terminal to something that expects its usual modes, such as an editor."""
        self._restore()
        try:
            yield
        finally:
            self._silence()

    def _silence(self) -> None:
        if sys.platform != "win32" and self._before is not None:
            modes = [*self._before]
            # In canonical mode the kernel would take Ctrl-D for itself, and with ICRNL change Enter.
            modes[3] &= ~(termios.ECHO | termios.ICANON)
            modes[3] |= termios.NOFLSH  # Ctrl-C and Ctrl-Z keep what was typed before them.
            modes[0] &= ~termios.ICRNL
            termios.tcsetattr(0, termios.TCSANOW, modes)

    def _restore(self) -> None:
        if sys.platform != "win32" and self._before is not None:
            # Not TCSAFLUSH, which would drop what was typed.
            termios.tcsetattr(0, termios.TCSANOW, self._before)
