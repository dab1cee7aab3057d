"""The marker lines of a transcript, and the escapes for text lines that look like markers.

Only LF ends a line. Escaping adds one backslash, even if a line already has backslashes before a marker, so
that unescaping restores the line exactly. Editor settings are escaped too: see `editor_settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jumpseat.chat.blocks import Message, Position, Range, Role
from jumpseat.chat.transcript.editor_settings import escape_settings, unescape_settings

# Markers are recognised without context, so an unclosed fence cannot hide the headings after it. Every marker
# may end in `\r`, because an editor may save only some lines with CRLF.
FRONT_MATTER = re.compile(r"---[ \t\r]*\Z")
THINKING = "<details><summary>Thinking</summary>"
THINKING_END = "</details>"
NEXT_TEXT = "<!-- text -->"
"""The separator of consecutive text blocks."""

NO_BLOCKS = "<!-- empty -->"
"""The body of a message without blocks. A section without any content is not a message."""

FENCED_KINDS = ("tool_use", "tool_result", "context", "image", "document", "redacted_thinking", "other")
"""The types of fenced blocks. The info string begins with one of them."""

_KINDS = "|".join(FENCED_KINDS)
_FENCE_LINE = rf"`{{3,}}(?:{_KINDS})(?:[ \t].*)?\r?\Z"
FENCE = re.compile(rf"(?P<ticks>`{{3,}})(?P<kind>{_KINDS})(?P<info>[ \t].*)?\r?\Z")
FENCE_END = re.compile(r"(?P<ticks>`{3,})[ \t\r]*\Z")

_END = r"[ \t\r]*\Z"
_BLANKS = " \t\r"
BLANK_AT_AN_EDGE = re.compile(rf"\\*{_END}")


@dataclass(frozen=True, slots=True)
class RoleNames:
    """The names of the two roles in headings."""

    user: str = "Me"
    assistant: str = "Assistant"

    others: tuple[RoleNames, ...] = ()
    """Further names for reading only: the chat may have begun with another provider's model."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A range of lines, counted from 0. The end is exclusive."""

    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of one line, in characters."""

    line: int
    start: int = 0
    end: int | None = None
    """None for the end of the line."""

    def to_range(self, lines: Sequence[str]) -> Range:
        """Return the LSP range of the part, in UTF-16 code units. A missing line counts as empty."""
        line = lines[self.line].rstrip(_BLANKS) if self.line < len(lines) else ""
        return Range(*(Position(self.line, _count_utf16(line[:at])) for at in (self.start, self.end)))


def _count_utf16(characters: str) -> int:
    return len(characters.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text. Lines are counted from 0, and the end is exclusive."""

    role: Role
    start_line: int
    """The line of the heading, or the first non-blank line if the text begins without a heading."""

    end_line: int
    message: int | None
    """The index of the section's message; None for an empty section."""

    thinking: Sequence[Lines] | None = None
    """The lines of the section's thinking, including those that open and close it; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A parsed transcript."""

    messages: Sequence[Message]
    system: str | None = None
    model: str | None = None
    tools: Sequence[str] = ()
    """Selectors of the tools that the daemon runs."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    conversation: str | None = None
    """The id of the conversation from the front matter."""

    turns: Sequence[Section] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A context for free text, with the patterns of lines that need an escape there."""

    needs_escape: re.Pattern[str]
    is_escaped: re.Pattern[str]
    can_become_marker: re.Pattern[str]
    """Matches an unfinished line if the next text decides whether it needs an escape."""

    @classmethod
    def create(cls, markers: Sequence[str], beginnings: Sequence[str]) -> Region:
        """Create a region with these marker lines.

        Args:
            markers: patterns of complete lines.
            beginnings: patterns of unfinished lines that may become markers.
        """
        any_of = "|".join(markers)
        return cls(
            re.compile(rf"\\*(?:{any_of})"),
            re.compile(rf"\\+(?:{any_of})"),
            re.compile(rf"\\*(?:{'|'.join(beginnings)})\Z"),
        )

    def write(self, text: str) -> list[str]:
        """Return the escaped lines of a text. Blank lines at the edges are not escaped."""
        needs = self.needs_escape.match
        lines = [escape_settings(line) for line in text.split("\n")]
        return [f"\\{line}" if needs(line) else line for line in lines]

    def read(self, lines: Sequence[str]) -> str:
        """Return the text whose lines `write` escaped."""
        is_escaped = self.is_escaped.match
        return "\n".join([unescape_settings(line[1:] if is_escaped(line) else line) for line in lines])

    def write_block(self, text: str) -> list[str]:
        """Return the escaped lines of a text, and escape blank edges too, which `read_block` would drop."""
        lines = self.write(text)
        for edge in {0, len(lines) - 1}:
            if BLANK_AT_AN_EDGE.match(lines[edge]):
                lines[edge] = f"\\{lines[edge]}"
        return lines

    def read_block(self, lines: Sequence[str]) -> str | None:
        """Return the text whose lines `write_block` escaped; None if all lines are blank."""
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
    """The syntax with certain role names. Headings with the standard names are always recognised."""

    def __init__(self, roles: RoleNames) -> None:
        self.names: Mapping[Role, str] = {"user": roles.user, "assistant": roles.assistant}
        self._roles: dict[str, Role] = {}
        # If several entries have the same name, the last one wins.
        for each in (*roles.others, RoleNames(), roles):
            self._roles |= {each.user: "user", each.assistant: "assistant"}
        # Put longer names first: an alternation uses the first match, and a name may be a prefix of another.
        named = "|".join(re.escape(name) for name in sorted(self._roles, key=len, reverse=True))
        heading = rf"##[ \t]+(?:{named}){_END}"
        begun_heading = rf"#{{0,2}}|##[ \t]+(?:{_match_beginnings(self._roles)})"
        marks = (THINKING, NEXT_TEXT, NO_BLOCKS)
        any_mark = "|".join(map(re.escape, marks))
        self._heading = re.compile(rf"##[ \t]+(?P<name>{named}){_END}")
        self.in_text = Region.create(
            (heading, _FENCE_LINE, rf"(?:{any_mark}){_END}"),
            (begun_heading, rf"`*|`{{3,}}(?:{_match_beginnings(FENCED_KINDS)})", _match_beginnings(marks)),
        )
        self.in_thinking = Region.create(
            (heading, rf"{re.escape(THINKING_END)}{_END}"), (begun_heading, _match_beginnings([THINKING_END]))
        )
        self.in_fence = Region.create((heading,), (begun_heading,))

    def heading(self, role: Role) -> str:
        """Return the heading for a message of this role."""
        return f"## {self.names[role]}"

    def read_role(self, line: str) -> Role | None:
        """Return the role of a heading; None if the line is not a heading with a role name."""
        found = self._heading.match(line) if line.startswith("##") else None
        return self._roles[found["name"]] if found else None


@lru_cache(maxsize=16)
def get_form(roles: RoleNames) -> Form:
    """Return the cached form for these names."""
    return Form(roles)


def _match_beginnings(words: Iterable[str]) -> str:
    """Return a pattern that matches prefixes of these words, and the words with trailing blanks."""
    begun = {re.escape(word[:length]) for word in words for length in range(len(word))}
    complete = {rf"{re.escape(word)}[ \t]*" for word in words}
    return "|".join(sorted(begun | complete))


def is_blank(line: str) -> bool:
    """Whether a line is empty or consists of white space."""
    return not line.strip(_BLANKS)


def is_mark(line: str, mark: str) -> bool:
    """Whether a line is this mark, with or without trailing blanks."""
    return line.startswith(mark) and is_blank(line[len(mark) :])
