"""What reads the user's input."""

from __future__ import annotations

from typing import Protocol


class Reader(Protocol):
    """A prompt on the terminal."""

    async def read(self, text: str = "") -> str | None:
        """The next input, which may have several lines; None if the user leaves.

        Args:
            text: is there already, to be edited.
        """

    async def confirm(self, question: str) -> bool:
        """Whether the user answers yes."""

    def interrupt(self) -> None:
        """Take a Ctrl-C that arrived as a signal while nothing ran."""
