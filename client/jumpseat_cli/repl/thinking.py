"""The thinking of an answer: one line that counts, or dimmed text."""

from __future__ import annotations

import sys

from jumpseat_cli.repl.notes import note
from jumpseat_cli.terminal.output import DimText, Spinner


class Thinking:
    """Takes the thinking of one turn in pieces."""

    def __init__(self, spinner: Spinner, *, shown: bool) -> None:
        """
        Args:
            spinner: counts the lines of thinking that is not shown.
            shown: print the text.
        """
        self._spinner = spinner
        self._shown = shown
        self._writer: DimText | None = None
        self._open = False
        self.text = ""

    def write(self, piece: str) -> None:
        """Take the next piece."""
        if not self._open and self.text:
            piece = f"\n\n{piece}"
        self._open = True
        self.text += piece
        if self._shown:
            self._spinner.pause()
            self._writer = self._writer or DimText(sys.stdout)
            self._writer.write(piece)
        else:
            self._spinner.show(f"Thinking ({count_of_lines(self.text)})")

    def finish(self) -> None:
        """End the text, or leave one line in its place."""
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
    """How many lines a text has, in words."""
    count = len(text.strip().splitlines())
    return f"{count} line{'' if count == 1 else 's'}"


def print_thinking(text: str) -> None:
    """Print a whole text of thinking."""
    writer = DimText(sys.stdout)
    writer.write(text.strip())
    writer.finish()
