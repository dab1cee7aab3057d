"""The marker lines of a transcript, and the escape of text lines that look like one.

Only a line feed ends a line. Escaping adds one backslash, also to a line that already has backslashes before
a marker, so unescaping restores the line exactly. Settings of editors are escaped too: see `editor_settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jumpseat.chat.blocks import Message, Position, Range, Role
from jumpseat.chat.transcript.editor_settings import escape_settings, unescape_settings

# A marker is recognised by its line alone, so an unclosed fence cannot hide the headings after it.
# `\r` is allowed at the end of every marker: an editor may save only some lines with CRLF.
FRONT_MATTER = re.compile(r"---[ \t\r]*\Z")
THINKING = "<details><summary>Thinking</summary>"
THINKING_END = "</details>"
NEXT_TEXT = "<!-- text -->"
"""Separates two consecutive text blocks."""

NO_BLOCKS = "<!-- empty -->"
"""The body of a message without blocks. A section without any line of content is no message."""

FENCED_KINDS = ("tool_use", "tool_result", "context", "image", "document", "redacted_thinking", "other")
"""The types of blocks in fences; the info string begins with one of them."""

_KINDS = "|".join(FENCED_KINDS)
_FENCE_LINE = rf"`{{3,}}(?:{_KINDS})(?:[ \t].*)?\r?\Z"
FENCE = re.compile(rf"(?P<ticks>`{{3,}})(?P<kind>{_KINDS})(?P<info>[ \t].*)?\r?\Z")
FENCE_END = re.compile(r"(?P<ticks>`{3,})[ \t\r]*\Z")

_END = r"[ \t\r]*\Z"
_BLANKS = " \t\r"
BLANK_AT_AN_EDGE = re.compile(rf"\\*{_END}")


@dataclass(frozen=True, slots=True)
class RoleNames:
    """The headings of the two roles."""

    user: str = "Me"
    assistant: str = "Assistant"

    others: tuple[RoleNames, ...] = ()
    """Names that are read but not written: a chat may have begun with a model of another provider."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a text, counted from 0; the end is exclusive."""

    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of one line, in characters."""

    line: int
    start: int = 0
    end: int | None = None
    """None for the end of the line."""

    def range_in(self, lines: Sequence[str]) -> Range:
        """The range as LSP counts, in UTF-16. A line that does not exist is empty."""
        line = lines[self.line].rstrip(_BLANKS) if self.line < len(lines) else ""
        return Range(*(Position(self.line, _utf16(line[:at])) for at in (self.start, self.end)))


def _utf16(characters: str) -> int:
    return len(characters.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text. Lines count from 0; the end is exclusive."""

    role: Role
    start_line: int
    """The line of the heading; the first line that is not blank if the text begins without a heading."""

    end_line: int
    message: int | None
    """The index of the section's message; None for an empty section."""

    thinking: Sequence[Lines] | None = None
    """The section's thinking, with the lines that open and close it; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The parsed text."""

    messages: Sequence[Message]
    system: str | None = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    conversation: str | None = None
    """The conversation's id, as the text has it."""

    turns: Sequence[Section] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """Where free text may occur, and which of its lines need an escape there."""

    needs_escape: re.Pattern[str]
    is_escaped: re.Pattern[str]
    can_become_marker: re.Pattern[str]
    """Matches the whole of an unfinished line if more text decides whether it needs an escape."""

    @classmethod
    def of(cls, markers: Sequence[str], beginnings: Sequence[str]) -> Region:
        """Return a region with these marker lines.

        Args:
            markers: Patterns of whole lines.
            beginnings: Patterns of unfinished lines that can still become one of them.
        """
        any_of = "|".join(markers)
        return cls(
            re.compile(rf"\\*(?:{any_of})"),
            re.compile(rf"\\+(?:{any_of})"),
            re.compile(rf"\\*(?:{'|'.join(beginnings)})\Z"),
        )

    def write(self, text: str) -> list[str]:
        """The lines of a text, escaped; blank lines at the edges are kept."""
        needs = self.needs_escape.match
        lines = [escape_settings(line) for line in text.split("\n")]
        return [f"\\{line}" if needs(line) else line for line in lines]

    def read(self, lines: Sequence[str]) -> str:
        """The text of lines from `write`."""
        is_escaped = self.is_escaped.match
        return "\n".join([unescape_settings(line[1:] if is_escaped(line) else line) for line in lines])

    def write_block(self, text: str) -> list[str]:
        """The lines of a text, escaped; also at the edges, where `read_block` drops blank lines."""
        lines = self.write(text)
        for edge in {0, len(lines) - 1}:
            if BLANK_AT_AN_EDGE.match(lines[edge]):
                lines[edge] = f"\\{lines[edge]}"
        return lines

    def read_block(self, lines: Sequence[str]) -> str | None:
        """The text of lines from `write_block`; None if all lines are blank."""
        first, last = 0, len(lines)
        while first < last and is_blank(lines[first]):
            first += 1
        while last > first and is_blank(lines[last - 1]):
            last -= 1
        if first == last:
            return None
        kept = list(lines[first:last])
        for edge in {0, len(kept) - 1}:
            if kept[edge].startswith("\\") and BLANK_AT_AN_EDGE.match(kept[edge]):
                kept[edge] = kept[edge][1:]
        return self.read(kept)


class Form:
    """The form with certain role names; headings with the standard names are always recognised."""

    def __init__(self, roles: RoleNames) -> None:
        self.names: Mapping[Role, str] = {"user": roles.user, "assistant": roles.assistant}
        self._roles: dict[str, Role] = {}
        # A name that two of them have belongs to the last one.
        for each in (*roles.others, RoleNames(), roles):
            self._roles |= {each.user: "user", each.assistant: "assistant"}
        # The longest name first: an alternation takes the first match, and one name may begin another.
        named = "|".join(re.escape(name) for name in sorted(self._roles, key=len, reverse=True))
        heading = rf"##[ \t]+(?:{named}){_END}"
        begun_heading = rf"#{{0,2}}|##[ \t]+(?:{_beginnings_of(self._roles)})"
        marks = (THINKING, NEXT_TEXT, NO_BLOCKS)
        any_mark = "|".join(map(re.escape, marks))
        self._heading = re.compile(rf"##[ \t]+(?P<name>{named}){_END}")
        self.in_text = Region.of(
            (heading, _FENCE_LINE, rf"(?:{any_mark}){_END}"),
            (begun_heading, rf"`*|`{{3,}}(?:{_beginnings_of(FENCED_KINDS)})", _beginnings_of(marks)),
        )
        self.in_thinking = Region.of(
            (heading, rf"{re.escape(THINKING_END)}{_END}"), (begun_heading, _beginnings_of([THINKING_END]))
        )
        self.in_fence = Region.of((heading,), (begun_heading,))

    def heading(self, role: Role) -> str:
        """The heading of a message."""
        return f"## {self.names[role]}"

    def role_of(self, line: str) -> Role | None:
        """The role of a heading; None if the line is not a heading of a role."""
        found = self._heading.match(line) if line.startswith("##") else None
        return self._roles[found["name"]] if found else None


@lru_cache(maxsize=16)
def form_of(roles: RoleNames) -> Form:
    """The form for these names."""
    return Form(roles)


def _beginnings_of(words: Iterable[str]) -> str:
    """Return a pattern of the beginnings of these words, and of the whole words with blanks behind them."""
    begun = {re.escape(word[:length]) for word in words for length in range(len(word))}
    complete = {rf"{re.escape(word)}[ \t]*" for word in words}
    return "|".join(sorted(begun | complete))


def is_blank(line: str) -> bool:
    """Whether a line is empty or only white space."""
    return not line.strip(_BLANKS)


def is_mark(line: str, mark: str) -> bool:
    """Whether a line is this mark, with or without trailing blanks."""
    return line.startswith(mark) and is_blank(line[len(mark) :])
