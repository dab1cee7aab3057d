"""Renders Markdown on a terminal while it arrives.

Finished blocks are printed once and scroll away like any output; only the unfinished tail is redrawn. The
cost of a redraw therefore depends on the longest block, not on the length of the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.markdown import Markdown
from rich.segment import ControlType, Segment, Segments

from jumpseat_cli.terminal.text import ControlSequenceFilter

FRAMES_PER_SECOND = 10

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST_ITEM = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])([ \t]|$)")


class BlockSplitter:
    """Splits Markdown into independent blocks, each as soon as its end is certain.

    A blank line ends a block unless the next line is indented or continues a list. A code fence outside a
    list is a separate block. Joining the blocks yields the original text.
    """

    def __init__(self) -> None:
        self.tail = ""
        """The unfinished text."""
        self.fence_line = ""
        """The first line of the code fence that is still open; empty if there is none."""
        self._scanned = 0
        """The length of the complete lines in `tail` that were examined."""

        self._fence: str | None = None
        """The backticks or tildes of the code fence that is still open."""

        self._after_blank_line = False
        self._in_list = False

    def feed(self, text: str) -> list[str]:
        """Add the next piece, and return the blocks that it finishes."""
        self.tail += text
        blocks: list[str] = []
        while (end := self.tail.find("\n", self._scanned)) >= 0:
            line = self.tail[self._scanned : end]
            if self._is_block_start(line):
                blocks.append(self._cut(self._scanned))
            self._scanned += len(line) + 1
            if self._advance(line):
                blocks.append(self._cut(self._scanned))
        return blocks

    def _is_block_start(self, line: str) -> bool:
        """Whether everything before this line is finished."""
        if self._fence is not None or not line.strip() or not self.tail[: self._scanned].strip():
            return False
        if self._in_list and (line[0] in " \t" or _LIST_ITEM.match(line)):
            return False
        if _parse_fence(line):
            return not self._in_list
        return self._after_blank_line and line[0] not in " \t"

    def _advance(self, line: str) -> bool:
        """Update the state for the next lines; return whether the line closes a fence outside a list."""
        if self._fence is not None:
            closing = _FENCE.fullmatch(line)
            if closing is None or not closing[1].startswith(self._fence) or closing[2].strip():
                return False
            self._fence, self.fence_line = None, ""
            return not self._in_list
        self._fence = _parse_fence(line)
        self.fence_line = f"{line}\n" if self._fence else ""
        self._after_blank_line = not line.strip()
        self._in_list = self._in_list or _LIST_ITEM.match(line) is not None
        return False

    def _cut(self, at: int) -> str:
        block, self.tail = self.tail[:at], self.tail[at:]
        self._scanned = 0
        self._after_blank_line = self._in_list = False
        return block


def _parse_fence(line: str) -> str | None:
    """Return the backticks or tildes of a line that opens a code fence, else None."""
    fence = _FENCE.fullmatch(line)
    return fence[1] if fence and not (fence[1][0] == "`" and "`" in fence[2]) else None


class _Rows:
    """Markdown as rows without trailing spaces, which would wrap when the terminal becomes narrower."""

    def __init__(self, text: str, *, boxes: bool) -> None:
        """
        Args:
            text: complete Markdown that does not depend on earlier output.
            boxes: whether to keep spaces that have a background colour, so that the colour fills its box.
                Rows that are erased later must not keep these spaces, which fill the row: a key that is
                echoed at the end of a full row would begin another row.
        """
        self._text = text
        self._boxes = boxes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Write links out, so that users see the target before they follow a link.
        markdown = Markdown(self._text, hyperlinks=False)
        for row in console.render_lines(markdown, options, pad=False):
            yield from self._without_trailing_spaces(row)
            yield Segment.line()

    def _without_trailing_spaces(self, row: list[Segment]) -> list[Segment]:
        kept = list(row)
        while kept and not self._is_box_background(kept[-1]):
            text, style, control = kept.pop()
            if text := text.rstrip():
                return [*kept, Segment(text, style, control)]
        return kept

    def _is_box_background(self, segment: Segment) -> bool:
        return self._boxes and segment.style is not None and segment.style.bgcolor is not None


class _Region:
    """Rows at the end of the output that are drawn and erased repeatedly."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lengths: list[int] = []
        """The length of each drawn row."""

        self.whole = True
        """Whether all rows were drawn, not just the last ones."""

    def draw(self, text: str, *, after_empty_row: bool) -> None:
        """Draw Markdown, or only its last rows if it does not fit on the screen.

        Args:
            text: the Markdown.
            after_empty_row: whether to draw an empty row first.
        """
        rendered = self._console.render_lines(_Rows(text, boxes=False), pad=False)
        rows = [[Segment("")], *rendered] if after_empty_row else rendered
        shown = rows[-max(1, self._console.height - 2) :]
        self.whole = len(shown) == len(rows)
        self._lengths = [Segment.get_line_length(row) for row in shown]
        self._console.print(Segments(s for row in shown for s in [*row, Segment.line()]), end="")

    def erase(self) -> bool:
        """Erase the rows; return False if they cannot be erased."""
        self._measure()
        width, height = self._console.size
        # A terminal that becomes narrower may wrap long rows in any way, so the first row may be anywhere.
        wrapped = max(self._lengths, default=0) > width and not _cuts_long_rows(os.environ)
        # A row that scrolled off the screen cannot be erased.
        safe = len(self._lengths) < height and not wrapped
        if safe and self._lengths:
            erased = (ControlType.ERASE_IN_LINE, 2)  # Echoed keys may be below the last row.
            up = [(ControlType.CURSOR_UP, 1), erased] * len(self._lengths)
            self._console.control(Control(ControlType.CARRIAGE_RETURN, erased, *up))
        self._lengths = []
        return safe

    def _measure(self) -> None:
        # rich uses COLUMNS if it is set, but COLUMNS does not change when the terminal is resized.
        with contextlib.suppress(OSError, ValueError):
            size = os.get_terminal_size(self._console.file.fileno())
            if size.columns and size.lines:
                self._console.size = size


def _cuts_long_rows(environ: Mapping[str, str]) -> bool:
    """Whether this terminal cuts long rows instead of wrapping them when it becomes narrower."""
    if "TMUX" in environ:
        return False
    return "XTERM_VERSION" in environ or environ.get("TERM", "").startswith(("linux", "screen", "eterm"))


class MarkdownOutput:
    """Renders an answer on stdout. `write` needs a running event loop, which draws the tail."""

    # rich's Live is unsuitable: it draws in a thread, which sometimes erases a block that was just printed,
    # and after a resize it erases rows that it did not draw.

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout)
        self._filter = ControlSequenceFilter()
        self._splitter = BlockSplitter()
        self._region = _Region(self._console)
        self._drawn = ""
        """The tail when it was last drawn."""
        self._staying = ""
        """Unfinished text that was drawn and can no longer be erased."""
        self._draws = self._console.is_terminal and not self._console.is_dumb_terminal
        self._frame: asyncio.TimerHandle | None = None
        """The scheduled redraw of the tail."""

        self._has_printed = False
        self._is_cursor_hidden = False

    def write(self, text: str) -> None:
        """Print the blocks that this piece finishes, and schedule a redraw of the tail."""
        for block in self._splitter.feed(self._filter.feed(text)):
            self._print(block)
        if self._frame is None and self._draws:
            self._frame = asyncio.get_running_loop().call_later(1 / FRAMES_PER_SECOND, self._draw)

    def finish(self) -> None:
        """Print the tail as the last block."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        rest, self._splitter = self._splitter.tail, BlockSplitter()
        self._print(rest)
        self._hide_cursor(False)

    def _draw(self) -> None:
        self._frame = None
        self._hide_cursor(True)
        self._erase()
        self._drawn = self._splitter.tail
        self._region.draw(self._rest_of(self._drawn), after_empty_row=self._needs_empty_row)

    def _print(self, block: str) -> None:
        self._erase()
        rest = self._rest_of(block)
        if rest.strip():
            if self._needs_empty_row:
                self._console.print()
            self._console.print(_Rows(rest, boxes=True), end="")
        self._has_printed = self._has_printed or bool(block.strip())
        self._staying = self._staying[len(block) :]

    def _erase(self) -> None:
        """Erase the tail. If that is impossible, the rows that were drawn stay on the screen.

        If they are the whole tail, printing continues after them. If they are only its last rows, the whole
        tail is printed again.
        """
        if not self._region.erase() and self._region.whole:
            self._staying = self._drawn

    def _rest_of(self, block: str) -> str:
        """Return the part of the block that is not yet permanently on the screen.

        If the part starts inside a code fence, the fence's first line is put before it.
        """
        before = BlockSplitter()
        before.feed(self._staying)
        rest = block[len(self._staying) :]
        return before.fence_line + rest if rest else ""

    def _hide_cursor(self, hide: bool) -> None:
        if self._is_cursor_hidden != hide:
            self._console.show_cursor(not hide)
            self._is_cursor_hidden = hide

    @property
    def _needs_empty_row(self) -> bool:
        """Whether an empty row has to separate the next rows from the previous block."""
        return self._has_printed and not self._staying
