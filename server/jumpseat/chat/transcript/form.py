"""Reads and writes the headings of a transcript, and escapes text lines that look like markers.

Only LF ends a line. Escaping adds one escape character, even if the line already has some before its marker,
so that unescaping restores the line exactly. Editor settings are escaped too: see `editor_settings`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jumpseat.chat.blocks import Position, Range, Role
from jumpseat.chat.transcript.editor_settings import escape_settings, unescape_settings
from jumpseat.chat.transcript.syntax import END, Syntax, match_beginnings

_BLANKS = " \t\r"


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
    """The index of the section's message; None if the section is empty or in another branch."""

    thinking: Sequence[Lines] | None = None
    """The lines of the section's thinking, including those that open and close it; None if it has none."""


@dataclass(frozen=True, slots=True)
class Region:
    """A context for free text, with the patterns of lines that need an escape there."""

    escape: str
    needs_escape: re.Pattern[str]
    is_escaped: re.Pattern[str]
    can_become_marker: re.Pattern[str]
    """Matches an unfinished line if the next text decides whether it needs an escape."""

    blank_at_an_edge: re.Pattern[str]
    """Matches a blank line, with or without escapes."""

    @classmethod
    def create(cls, syntax: Syntax, markers: Sequence[str], beginnings: Sequence[str]) -> Region:
        """Create a region.

        Args:
            syntax: the format.
            markers: patterns of complete lines.
            beginnings: patterns of unfinished lines that may become markers.
        """
        escape = re.escape(syntax.escape)
        complete, begun = syntax.after_blanks

        def compile_line(
            escapes: str, flush: Sequence[str], indented: Sequence[str], end: str = ""
        ) -> re.Pattern[str]:
            forms = [f"{escapes}(?:{'|'.join(flush)})", *(rf"[ \t]*{escapes}(?:{each})" for each in indented)]
            return re.compile(f"(?:{'|'.join(forms)}){end}")

        return cls(
            syntax.escape,
            compile_line(f"{escape}*", markers, complete),
            compile_line(f"{escape}+", markers, complete),
            compile_line(f"{escape}*", beginnings, begun, r"\Z"),
            re.compile(f"{escape}*{END}"),
        )

    def escape_line(self, line: str) -> str:
        """Add an escape before the first character that is not blank."""
        blanks = len(line) - len(line.lstrip(_BLANKS))
        return f"{line[:blanks]}{self.escape}{line[blanks:]}"

    def unescape_line(self, line: str) -> str:
        """Remove the escape, if the line has one."""
        if not self.is_escaped.match(line):
            return line
        blanks = len(line) - len(line.lstrip(_BLANKS))
        return line[:blanks] + line[blanks + 1 :]

    def write(self, text: str) -> list[str]:
        """Return the escaped lines of a text. Blank lines at the edges are not escaped."""
        needs = self.needs_escape.match
        lines = [escape_settings(line) for line in text.split("\n")]
        return [self.escape_line(line) if needs(line) else line for line in lines]

    def read(self, lines: Sequence[str]) -> str:
        """Return the text whose lines `write` escaped."""
        return "\n".join([unescape_settings(self.unescape_line(line)) for line in lines])

    def write_block(self, text: str) -> list[str]:
        """Like `write`, but also escape blank lines at the edges, because `read_block` would drop them."""
        lines = self.write(text)
        for edge in {0, len(lines) - 1}:
            if self.blank_at_an_edge.match(lines[edge]):
                lines[edge] = f"{self.escape}{lines[edge]}"
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
            if kept[edge].startswith(self.escape) and self.blank_at_an_edge.match(kept[edge]):
                kept[edge] = kept[edge][1:]
        return self.read(kept)


class Form:
    """A syntax with certain role names. Headings with the standard names are always recognised."""

    def __init__(self, roles: RoleNames, syntax: Syntax) -> None:
        self.syntax = syntax
        self.names: Mapping[Role, str] = {"user": roles.user, "assistant": roles.assistant}
        self._roles: dict[str, Role] = {}
        # If several entries have the same name, the last one wins.
        for each in (*roles.others, RoleNames(), roles):
            self._roles |= {each.user: "user", each.assistant: "assistant"}
        # Put longer names first: an alternation uses the first match, and a name may be a prefix of another.
        named = "|".join(re.escape(name) for name in sorted(self._roles, key=len, reverse=True))
        self._sign = syntax.heading.rstrip()
        sign, level_sign = re.escape(self._sign), re.escape(syntax.level_sign)
        role = rf"(?P<name>{named}){syntax.after_role}{END}"
        self._headline = re.compile(
            rf"(?P<level_sign>{level_sign and f'{level_sign}*'}){sign}[ \t]+(?:{role})?"
        )
        # A line with this pattern is a heading even inside a fence, so that an unclosed fence cannot hide it.
        # So every region must escape such lines.
        heading = rf"{sign}[ \t]+{role}".replace("(?P<name>", "(?:")
        begun_heading = f"{match_beginnings([self._sign])}|{sign}[ \t]+(?:{match_beginnings(self._roles)})"
        self.in_text, self.in_thinking, self.in_fence = (
            Region.create(syntax, (heading, *lines.complete), (begun_heading, *lines.begun))
            for lines in (syntax.in_text, syntax.in_thinking, syntax.in_fence)
        )

    def write_heading(self, role: Role, level: int = 1) -> str:
        """Return the heading for a message of this role. Formats without levels ignore the level."""
        return f"{self.syntax.level_sign * (level - 1)}{self.syntax.heading}{self.names[role]}"

    def read_heading(self, line: str) -> tuple[int, Role | None] | None:
        """Return the level and the role of a heading; None if the line is not a heading.

        In formats without levels, only headings with the name of a role count.
        """
        found = self._headline.match(line) if line.startswith(self._sign) else None
        if found is None or (not found["name"] and not self.syntax.level_sign):
            return None
        return 1 + len(found["level_sign"]), self._roles[found["name"]] if found["name"] else None


@lru_cache(maxsize=16)
def get_form(roles: RoleNames, syntax: Syntax) -> Form:
    """Return the cached form for these names."""
    return Form(roles, syntax)


def is_blank(line: str) -> bool:
    """Whether a line is empty or consists of white space."""
    return not line.strip(_BLANKS)


def is_mark(line: str, mark: str) -> bool:
    """Whether a line is this mark, with or without trailing blanks."""
    return line.startswith(mark) and is_blank(line[len(mark) :])
