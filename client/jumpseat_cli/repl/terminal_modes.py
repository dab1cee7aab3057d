"""The terminal's modes during a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

if sys.platform != "win32":
    import termios


class QuietTerminal:
    """A `with` block in which the terminal does not echo keys, because they would appear inside an answer.

    The next prompt receives the typed keys. On Windows the block does nothing.
    """

    def __init__(self, *, is_plain: bool) -> None:
        """
        Args:
            is_plain: whether the terminal edits the input itself. Its modes then stay unchanged, because
                it needs them for editing.
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
    def with_usual_modes(self) -> Iterator[None]:
        """Restore the usual modes for a program that needs them, such as an editor."""
        self._restore()
        try:
            yield
        finally:
            self._silence()

    def _silence(self) -> None:
        if sys.platform != "win32" and self._before is not None:
            modes = [*self._before]
            # In canonical mode the kernel would handle Ctrl-D itself, and ICRNL would translate Enter.
            modes[3] &= ~(termios.ECHO | termios.ICANON)
            modes[3] |= termios.NOFLSH  # Otherwise Ctrl-C and Ctrl-Z would discard keys typed before them.
            modes[0] &= ~termios.ICRNL
            termios.tcsetattr(0, termios.TCSANOW, modes)

    def _restore(self) -> None:
        if sys.platform != "win32" and self._before is not None:
            # TCSAFLUSH would discard the typed keys.
            termios.tcsetattr(0, termios.TCSANOW, self._before)
