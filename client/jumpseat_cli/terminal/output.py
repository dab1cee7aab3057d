"""Prints answers, as plain text in a pipe and as rendered Markdown on a terminal, and shows a spinner."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

from jumpseat_cli.terminal.text import ControlSequenceFilter, clean_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner as Dots


class AnswerOutput(Protocol):
    """An output for an answer that arrives in pieces."""

    def write(self, text: str) -> None:
        """Show the next piece."""

    def finish(self) -> None:
        """Show the rest, and end the line."""


class PlainOutput:
    """An output that writes each piece as it arrives."""

    def __init__(self) -> None:
        self._filter = ControlSequenceFilter()
        self._last = "\n"

    def write(self, text: str) -> None:
        """Write the piece and flush it, so that the reader of the pipe receives it immediately."""
        if text := self._filter.feed(text):
            sys.stdout.write(text)
            sys.stdout.flush()
            self._last = text[-1]

    def finish(self) -> None:
        """End the last line if the answer did not."""
        if self._last != "\n":
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._last = "\n"


class AnswerText:
    """Shows an answer's text on stdout, rendered if stdout is a terminal, and its thinking on stderr."""

    def __init__(self, *, is_raw: bool) -> None:
        """
        Args:
            is_raw: whether to print the Markdown unchanged on a terminal too.
        """
        self._is_raw = is_raw
        # Create the output now, so that rich is imported while the model answers.
        self._output: AnswerOutput | None = self._make_output()
        self._thinking: DimText | None = None
        self.is_open = False
        """Whether unfinished text of the answer is on the screen."""

    def write(self, text: str) -> None:
        """Show the next piece."""
        self._finish_thinking()
        self._output = self._output or self._make_output()
        self.is_open = True
        self._output.write(text)

    def think(self, text: str) -> None:
        """Show the next piece of thinking; finish the text before it, if any."""
        if self._thinking is None:
            self.finish()
            self._thinking = DimText(sys.stderr)
        self._thinking.write(text)

    def finish(self) -> None:
        """Show the rest, and end the line."""
        self._finish_thinking()
        if self._output is not None and self.is_open:
            self._output.finish()
            self._output, self.is_open = None, False

    def _finish_thinking(self) -> None:
        if self._thinking is not None:
            self._thinking.finish()
            self._thinking = None

    def _make_output(self) -> AnswerOutput:
        return PlainOutput() if self._is_raw else make_output()


class DimText:
    """Text that is written in pieces, dimmed on a terminal, without the text's own control sequences."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console: Console = Console(file=stream)
        self._filter = ControlSequenceFilter()
        self._last = ""

    def write(self, piece: str) -> None:
        """Write the piece immediately."""
        from rich.text import Text

        if piece := self._filter.feed(piece):
            self._console.print(Text(piece, style="dim"), end="", soft_wrap=True)
            self._last = piece[-1]

    def finish(self) -> None:
        """End the text with a blank line."""
        self._console.print("" if self._last == "\n" else "\n", end="\n")


class Spinner:
    """A message on stderr that says what the command is waiting for; this base class shows nothing."""

    def show(self, message: str) -> None:
        """Set the message."""

    def progress(self, message: str, percentage: int | None) -> None:
        """Show a progress report from the daemon."""
        self.show(message if percentage is None else f"{message} ({percentage} %)")

    def pause(self) -> None:
        """Hide until `show` is called again."""

    def stop(self) -> None:
        """Hide, and ignore later calls."""


class TerminalSpinner(Spinner):
    """A spinner on a terminal."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._dots: Dots | None = None
        self._stopped = False

    def show(self, message: str) -> None:
        """Draw the spinner or change its text; does nothing after `stop`."""
        if self._stopped:
            return
        # rich is slow to import, and a pipe does not need it.
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner as Dots
        from rich.text import Text

        # Use a Text, because rich would interpret brackets in a string as markup.
        text = Text(clean_line(message) + " …")
        if self._live is not None and self._dots is not None:
            self._dots.update(text=text)
            return
        self._dots = Dots("dots", text, style="status.spinner")
        # By default rich would replace `sys.stdout` with a proxy that writes to this console, thus to stderr.
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
        """Erase the spinner until the next `show`."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def stop(self) -> None:
        """Erase the spinner and ignore later calls."""
        self._stopped = True
        self.pause()


def make_spinner(message: str) -> Spinner:
    """Return a spinner with this message; it is visible only if stderr is a terminal."""
    spinner = TerminalSpinner() if sys.stderr.isatty() else Spinner()
    # Do not show the spinner before the caller waits: by then the caller has started its daemon, which starts
    # up while rich is imported.
    asyncio.get_running_loop().call_soon(spinner.show, message)
    return spinner


def make_output() -> AnswerOutput:
    """Return an output that renders Markdown on a terminal and writes plain text to a pipe."""
    if not sys.stdout.isatty():
        return PlainOutput()
    from jumpseat_cli.terminal.markdown import MarkdownOutput

    return MarkdownOutput()


def print_text(text: str) -> None:
    """Write the text to stdout: unchanged in a pipe; filtered and ended with a line feed on a terminal."""
    if sys.stdout.isatty():
        text = ControlSequenceFilter().feed(text)
        sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
        sys.stdout.flush()
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
