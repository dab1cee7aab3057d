"""Where an answer goes: plain text in a pipe, rendered Markdown on a terminal, and the spinner before it.

rich is imported only where something is rendered. Whatever arrives is filtered here, so nothing above
has to remember it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from jumpseat_client.cli.terminal import ControlSequenceFilter, clean_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner as Dots


class AnswerOutput(Protocol):
    """Takes an answer in pieces."""

    def write(self, text: str) -> None:
        """Show the next piece."""

    def finish(self) -> None:
        """Show what is left, and end the line."""


class PlainOutput:
    """Writes each piece as it comes."""

    def __init__(self) -> None:
        self._filter = ControlSequenceFilter()
        self._last = "\n"

    def write(self, text: str) -> None:
        """Write the piece and flush it: whoever reads the pipe wants it now."""
        if text := self._filter.feed(text):
            sys.stdout.write(text)
            sys.stdout.flush()
            self._last = text[-1]

    def finish(self) -> None:
        """End the last line, if the answer did not."""
        if self._last != "\n":
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._last = "\n"


class Spinner:
    """Says on stderr what is being waited for; this one says nothing."""

    def show(self, message: str) -> None:
        """Wait for this from now on."""

    def progress(self, message: str, percentage: int | None) -> None:
        """What the daemon reports of a wait of its own."""
        self.show(message if percentage is None else f"{message} ({percentage} %)")

    def pause(self) -> None:
        """Leave no trace until `show` is called again."""

    def stop(self) -> None:
        """The wait is over: leave no trace."""


class TerminalSpinner(Spinner):
    """The same on a terminal."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._dots: Dots | None = None
        self._stopped = False

    def show(self, message: str) -> None:
        """Draw it, or change its text; nothing once it was stopped."""
        if self._stopped:
            return
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner as Dots
        from rich.text import Text

        # A Text, because brackets in a string would be read as markup.
        text = Text(clean_line(message) + " …")
        if self._live is not None and self._dots is not None:
            self._dots.update(text=text)
            return
        self._dots = Dots("dots", text, style="status.spinner")
        # With stdout redirected, as is rich's default, an answer that begins now would find no terminal.
        self._live = Live(
            self._dots,
            console=Console(stderr=True),
            refresh_per_second=12.5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def pause(self) -> None:
        """Erase it for now."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def stop(self) -> None:
        """Erase it, for good."""
        self._stopped = True
        self.pause()


def make_spinner() -> Spinner:
    """A spinner if a person would see it."""
    return TerminalSpinner() if sys.stderr.isatty() else Spinner()


def make_output() -> AnswerOutput:
    """Rendered Markdown for a person, plain text for a program."""
    if not sys.stdout.isatty():
        return PlainOutput()
    from jumpseat_client.cli.markdown import MarkdownOutput

    return MarkdownOutput()
