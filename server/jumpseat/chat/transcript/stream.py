"""Writes an answer into a transcript while it is generated.

Lines that look like markers, and editor settings, are escaped as in `render`. The start of a line, or the
last word, is held back until it is certain whether it needs an escape. So unescaped markers and settings
never appear in the text, not even briefly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from jumpseat.chat.events import (
    BlockDoneEvent,
    DoneEvent,
    ResponseEvent,
    StreamEvent,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolUseDoneEvent,
)
from jumpseat.chat.transcript.editor_settings import BEGUN_WORD, escape_settings
from jumpseat.chat.transcript.fences import FencedBlock
from jumpseat.chat.transcript.form import Form, Region, RoleNames, get_form
from jumpseat.chat.transcript.render import LEADING_BLANK_LINES, render_fences
from jumpseat.chat.transcript.syntax import MARKDOWN, Syntax


class TranscriptStream:
    """Converts the events of one turn to the growing text of its section, without the heading.

    Joined, the texts that `add` returns equal the body of the section that `render` writes with
    `trim_answers`, without the last line ending. Blocks are written in order: a block that begins before the
    previous one is complete has to wait.
    """

    def __init__(self, roles: RoleNames, syntax: Syntax = MARKDOWN) -> None:
        self._form = get_form(roles, syntax)
        self._restart()

    def _restart(self) -> None:
        self._parts: dict[int, _Part] = {}
        self._number = 0
        self._last: _Part | None = None

    def add(self, event: StreamEvent) -> str:
        """Return the text that this event adds.

        After a second `ResponseEvent`, the section starts again: the caller must discard the text so far.
        """
        match event:
            case ResponseEvent():
                self._restart()
            case TextStartEvent():
                self._parts[event.block] = _TextPart(self._form.in_text, self._form.syntax)
            case ThinkingStartEvent():
                self._parts[event.block] = _ThinkingPart(self._form.in_thinking, self._form.syntax)
            case TextDeltaEvent() | ThinkingDeltaEvent():
                self._parts[event.block].add(event.text)
            case TextDoneEvent() | ThinkingDoneEvent():
                self._parts[event.block].finish()
            case ToolUseDoneEvent() | BlockDoneEvent():
                self._parts[event.block] = _FencedPart(event.content, self._form)
            case DoneEvent():
                return self._finish()
            case _:
                return ""
        return self._take()

    def _take(self) -> str:
        pieces = []
        while part := self._parts.get(self._number):
            pieces.append(self._take_from(part))
            if not part.is_complete:
                break
            del self._parts[self._number]
            self._number += 1
        return "".join(pieces)

    def _finish(self) -> str:
        pieces = []
        # A failed turn leaves blocks unfinished. An unfinished tool call has no part.
        for _, part in sorted(self._parts.items()):
            if not part.is_complete:
                part.finish()
            pieces.append(self._take_from(part))
        self._parts.clear()
        return "".join(pieces)

    def _take_from(self, part: _Part) -> str:
        piece = part.take()
        if not piece or part is self._last:
            return piece
        last, self._last = self._last, part
        if last is None:
            return piece
        separator = f"{self._form.syntax.next_text}\n\n" if type(last) is type(part) is _TextPart else ""
        return f"{last.lead_of_next}{separator}{piece}"


class _Part:
    """A block, and the part of its text that is ready to be written."""

    lead_of_next: ClassVar[str] = "\n\n"
    """The text to write between this part and the next one."""

    def __init__(self) -> None:
        self.is_complete = False
        self._ready: list[str] = []

    def add(self, text: str) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        self.is_complete = True

    def take(self) -> str:
        """Return the text that became ready since the last call."""
        ready, self._ready = self._ready, []
        return "".join(ready)


class _TextPart(_Part):
    def __init__(self, region: Region, syntax: Syntax) -> None:
        super().__init__()
        self._syntax = syntax
        self._text = EscapedText(region, syntax.undecided)

    def add(self, text: str) -> None:
        self._ready.append(self._text.add(text))

    def finish(self) -> None:
        super().finish()
        self._ready.append(self._text.finish())


class _ThinkingPart(_TextPart):
    # An editor can fold the thinking once its last line is terminated.
    lead_of_next = "\n"

    def __init__(self, region: Region, syntax: Syntax) -> None:
        super().__init__(region, syntax)
        self._ready.append(f"{syntax.thinking}\n\n")

    def finish(self) -> None:
        super().finish()
        before = "\n\n" if self._text.is_begun else ""
        self._ready.append(f"{before}{self._syntax.thinking_end}\n")


class _FencedPart(_Part):
    def __init__(self, block: FencedBlock, form: Form) -> None:
        super().__init__()
        self.is_complete = True
        self._ready.append("\n".join(render_fences(block, form, drop_returns=True)))


class EscapedText:
    """Escapes one growing text, and drops leading blank lines, trailing white space and carriage returns."""

    def __init__(self, region: Region, undecided: str) -> None:
        """
        Args:
            region: the context of the text.
            undecided: see `Syntax.undecided`.
        """
        self._region = region
        self._held: list[str] = []
        # Text that matches these patterns is only added to the held text. Examining all of the held text for
        # each such character would take quadratic time for a megabyte of backticks or blanks. After `vim`,
        # digits count too, because they may be the version number in a modeline.
        self._undecided_elsewhere = re.compile(rf"[{undecided}]*\Z")
        self._undecided_in_number = re.compile(rf"[{undecided}0-9]*\Z")
        self._undecided = self._undecided_elsewhere
        self.is_begun = False
        """Whether any text has been returned."""

    def add(self, text: str) -> str:
        """Add text, and return the new text that is ready to be written."""
        text = text.replace("\r", "")
        self._held.append(text)
        return "" if self._undecided.match(text) else self._release(is_complete=False)

    def finish(self) -> str:
        """Return the remaining text."""
        return self._release(is_complete=True)

    def _release(self, *, is_complete: bool) -> str:
        text = "".join(self._held)
        # If the beginning of the first line has already been returned, put a full stop in its place.
        # Otherwise, the rest of that line would be treated as the start of a line.
        first_new = 1 if self.is_begun else 0
        text = f".{text}" if self.is_begun else LEADING_BLANK_LINES.sub("", text)
        uncut = text.rstrip().split("\n")
        lines = uncut if is_complete else self._take_decided(uncut, is_new=len(uncut) > first_new)
        raw = "\n".join(lines)
        self._held = [text[len(raw) :]]
        if not raw:
            return ""
        edges = {0, len(lines) - 1} if is_complete else {0}
        written = [escape_settings(line) for line in lines]
        for index in range(first_new, len(lines)):
            if index in edges and self._region.blank_at_an_edge.match(uncut[index]):
                written[index] = f"{self._region.escape}{written[index]}"
            elif self._region.needs_escape.match(escape_settings(uncut[index])):
                written[index] = self._region.escape_line(written[index])
        self.is_begun = True
        # If `first_new` is 1, the text begins with the full stop: remove this one character.
        return "\n".join(written)[first_new:]

    def _take_decided(self, lines: Sequence[str], *, is_new: bool) -> list[str]:
        """Return the lines without the part of the last line whose escape depends on the next text.

        Args:
            is_new: whether no part of the last line has been returned yet.
        """
        *before, last = lines
        word = BEGUN_WORD.search(last)
        is_number = word is not None and word["number"]
        self._undecided = self._undecided_in_number if is_number else self._undecided_elsewhere
        if word:
            last = last[: word.start()].rstrip()
        if is_new and (not last or self._region.can_become_marker.match(lines[-1])):
            return before
        return [*before, last]
