"""Shows the thinking of an answer as a count of lines or as dimmed text."""

from __future__ import annotations

import sys

from jumpseat_cli.terminal.output import DimText, Spinner
from jumpseat_cli.terminal.styles import note


class Thinking:
    """The thinking of one turn, which arrives in pieces."""

    def __init__(self, spinner: Spinner, *, is_shown: bool) -> None:
        """
        Args:
            spinner: shows the number of lines if the text is not printed.
            is_shown: whether to print the text.
        """
        self._spinner = spinner
        self._is_shown = is_shown
        self._writer: DimText | None = None
        self._open = False
        """Whether pieces were added since the last `finish`."""

        self.text = ""

    def write(self, piece: str) -> None:
        """Add the next piece."""
        if not self._open and self.text:
            piece = f"\n\n{piece}"
        self._open = True
        self.text += piece
        if self._is_shown:
            self._spinner.pause()
            self._writer = self._writer or DimText(sys.stdout)
            self._writer.write(piece)
        else:
            self._spinner.show(f"Thinking ({count_of_lines(self.text)})")

    def finish(self) -> None:
        """End the text if it is shown; otherwise print a note with the number of its lines."""
        if not self._open:
            return
        self._open = False
        self._spinner.pause()
        if self._writer is not None:
            self._writer.finish()
            self._writer = None
        else:
            note(f"Thinking … ({count_of_lines(self.text)}; /thinking shows them)")


def count_of_lines(text: str) -> str:
    """Describe the number of lines of a text, such as `3 lines`."""
    count = len(text.strip().splitlines())
    return f"{count} line{'' if count == 1 else 's'}"


def print_thinking(text: str) -> None:
    """Print the complete thinking of an answer."""
    writer = DimText(sys.stdout)
    writer.write(text.strip())
    writer.finish()
