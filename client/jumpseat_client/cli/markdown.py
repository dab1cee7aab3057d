"""Markdown on a terminal while it is still being written.

Blocks that are finished are printed for good and scroll away like any output; only the unfinished tail
is drawn again and again. So an answer of any length costs no more than its longest block.
"""

from __future__ import annotations

import asyncio
import re
import sys

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from jumpseat_client.cli.terminal import ControlSequenceFilter

FRAMES_PER_SECOND = 10

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST_ITEM = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])([ \t]|$)")


class BlockSplitter:
    """Cuts Markdown into blocks that stand by themselves, as soon as it is certain where one ends.

    A blank line ends a block unless the next line is indented or goes on with a list; a fence begins one
    and ends it. The blocks put together again are the text.
    """

    def __init__(self) -> None:
        self.tail = ""
        """What is not finished yet."""
        self._scanned = 0
        self._fence: str | None = None
        self._after_blank = False
        self._in_list = False

    def feed(self, text: str) -> list[str]:
        """Take the next piece; give the blocks that it finishes."""
        self.tail += text
        blocks: list[str] = []
        while (end := self.tail.find("\n", self._scanned)) >= 0:
            line = self.tail[self._scanned : end]
            if self._begins_block(line):
                blocks.append(self._cut(self._scanned))
            self._scanned += len(line) + 1
            if self._ends_block(line):
                blocks.append(self._cut(self._scanned))
        return blocks

    def _begins_block(self, line: str) -> bool:
        """Whether everything before this line is finished."""
        if self._fence is not None or not line.strip() or not self.tail[: self._scanned].strip():
            return False
        if self._in_list and (line[0] in " \t" or _LIST_ITEM.match(line)):
            return False
        if _opened_fence(line):
            return not self._in_list
        return self._after_blank and line[0] not in " \t"

    def _ends_block(self, line: str) -> bool:
        """Note what the line means for the next ones; True if it closes a fence that is no list's."""
        if self._fence is not None:
            closing = _FENCE.fullmatch(line)
            if closing is None or not closing[1].startswith(self._fence) or closing[2].strip():
                return False
            self._fence = None
            return not self._in_list
        self._fence = _opened_fence(line)
        self._after_blank = not line.strip()
        self._in_list = self._in_list or _LIST_ITEM.match(line) is not None
        return False

    def _cut(self, at: int) -> str:
        block, self.tail = self.tail[:at], self.tail[at:]
        self._scanned = 0
        self._after_blank = self._in_list = False
        return block


def _opened_fence(line: str) -> str | None:
    """The back-ticks or tildes of a line that opens a code fence."""
    fence = _FENCE.fullmatch(line)
    return fence[1] if fence and not (fence[1][0] == "`" and "`" in fence[2]) else None


class _Tail:
    """The unfinished block: its last lines, as many as the screen can show."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(_markdown(self._text), options, pad=False)
        for line in lines[-max(1, console.height - 2) :]:
            yield from _without_trailing_blanks(line)
            yield Segment.line()


def _without_trailing_blanks(line: list[Segment]) -> list[Segment]:
    """The line as short as it looks: what fills the width wraps as soon as a terminal echoes a key."""
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        last = kept[-1]
        kept[-1] = Segment(last.text.rstrip(), last.style, last.control)
    return kept


class MarkdownOutput:
    """Renders an answer on stdout. Written to in a running event loop, which draws the tail.

    rich would draw it in a thread, which now and then erases what a block was just printed over.
    """

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout)
        self._filter = ControlSequenceFilter()
        self._splitter = BlockSplitter()
        self._live: Live | None = None
        self._frame: asyncio.TimerHandle | None = None
        self._printed = False

    def write(self, text: str) -> None:
        """Print the blocks that this piece finishes, and have the tail drawn again in a moment."""
        blocks = self._splitter.feed(self._filter.feed(text))
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        if blocks:
            self._live.update(_Tail(""), refresh=True)
        for block in blocks:
            self._print(block)
        self._live.update(_Tail(self._splitter.tail))
        if self._frame is None:
            self._frame = asyncio.get_running_loop().call_later(1 / FRAMES_PER_SECOND, self._draw)

    def finish(self) -> None:
        """Print the tail for good."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        if self._live is not None:
            self._live.update(_Tail(""))
            self._live.stop()
            self._live = None
        rest, self._splitter = self._splitter.tail, BlockSplitter()
        self._print(rest)

    def _draw(self) -> None:
        self._frame = None
        if self._live is not None:
            self._live.refresh()

    def _print(self, block: str) -> None:
        if not block.strip():
            return
        if self._printed:
            self._console.print()
        self._console.print(_markdown(block))
        self._printed = True


def _markdown(text: str) -> Markdown:
    # Links are written out: where one leads must be seen before it is followed.
    return Markdown(text, hyperlinks=False)
