"""The markers of a transcript, line by line, and how ordinary lines are escaped.

Lines end with a line feed and nothing else. Each line is judged by itself, so an unclosed fence swallows
nothing. A line of text that would be a marker gets a backslash in front; one that has backslashes in front of
a marker gets one more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jumpseat.chat.blocks import Message, Role

FRONT_MATTER = re.compile(r"---[ \t\r]*\Z")
THINKING = "<details><summary>Thinking</summary>"
THINKING_END = "</details>"
NEXT_TEXT = "<!-- text -->"
"""Between two text blocks that follow each other."""

NO_BLOCKS = "<!-- empty -->"
"""The body of a message without blocks; a section without anything is none."""

FENCED_KINDS = ("tool_use", "tool_result", "context", "image", "redacted_thinking", "other")
"""The blocks that stand in fences, by the word that their info string begins with."""

_KINDS = "|".join(FENCED_KINDS)
_FENCE_LINE = rf"`{{3,}}(?:{_KINDS})(?:[ \t].*)?\r?\Z"
FENCE = re.compile(rf"(?P<ticks>`{{3,}})(?P<kind>{_KINDS})(?P<info>[ \t].*)?\r?\Z")
FENCE_END = re.compile(r"(?P<ticks>`{3,})[ \t\r]*\Z")

_END = r"[ \t\r]*\Z"
_BLANKS = " \t\r"
_BLANK_AT_AN_EDGE = re.compile(rf"\\*{_END}")


@dataclass(frozen=True, slots=True)
class RoleNames:
    """What the headings of the two roles say."""

    user: str = "Me"
    assistant: str = "Assistant"


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text: lines count line feeds from 0, the end is exclusive."""

    role: Role
    start_line: int
    """That of the heading; of the first line with words where a text begins without one."""

    end_line: int
    message: int | None
    """The index of the section's message; None for a section with nothing in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a text holds."""

    messages: Sequence[Message]
    system: str | None = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    turns: Sequence[Section] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A place for free text, and the lines that must not stand there as they are."""

    needs_escape: re.Pattern[str]
    is_escaped: re.Pattern[str]

    @classmethod
    def of(cls, *forms: str) -> Region:
        """The region in which lines of these forms mean something."""
        any_of = "|".join(forms)
        return cls(re.compile(rf"\\*(?:{any_of})"), re.compile(rf"\\+(?:{any_of})"))

    def write(self, text: str) -> list[str]:
        """The lines of a text for a place where blank lines at its edges are kept."""
        needs = self.needs_escape.match
        return [f"\\{line}" if needs(line) else line for line in text.split("\n")]

    def read(self, lines: Sequence[str]) -> str:
        """The text of such lines."""
        is_escaped = self.is_escaped.match
        return "\n".join([line[1:] if is_escaped(line) else line for line in lines])

    def write_block(self, text: str) -> list[str]:
        """The lines of a text for a place where blank lines at its edges mean nothing."""
        lines = self.write(text)
        for edge in {0, len(lines) - 1}:
            if _BLANK_AT_AN_EDGE.match(lines[edge]):
                lines[edge] = f"\\{lines[edge]}"
        return lines

    def read_block(self, lines: Sequence[str]) -> str | None:
        """The text of such lines; None where all of them are blank."""
        first, last = 0, len(lines)
        while first < last and is_blank(lines[first]):
            first += 1
        while last > first and is_blank(lines[last - 1]):
            last -= 1
        if first == last:
            return None
        kept = list(lines[first:last])
        for edge in {0, len(kept) - 1}:
            if kept[edge].startswith("\\") and _BLANK_AT_AN_EDGE.match(kept[edge]):
                kept[edge] = kept[edge][1:]
        return self.read(kept)


class Form:
    """The form for certain names of the roles; the standard names are always understood."""

    def __init__(self, roles: RoleNames) -> None:
        standard = RoleNames()
        self.names: Mapping[Role, str] = {"user": roles.user, "assistant": roles.assistant}
        self._roles: dict[str, Role] = {standard.user: "user", standard.assistant: "assistant"}
        self._roles |= {roles.user: "user", roles.assistant: "assistant"}
        named = "|".join(re.escape(name) for name in sorted(self._roles, key=len, reverse=True))
        heading = rf"##[ \t]+(?:{named}){_END}"
        marks = "|".join(re.escape(mark) for mark in (THINKING, NEXT_TEXT, NO_BLOCKS))
        self._heading = re.compile(rf"##[ \t]+(?P<name>{named}){_END}")
        self.in_text = Region.of(heading, _FENCE_LINE, rf"(?:{marks}){_END}")
        self.in_thinking = Region.of(heading, rf"{re.escape(THINKING_END)}{_END}")
        self.in_fence = Region.of(heading)

    def heading(self, role: Role) -> str:
        """The line above a message."""
        return f"## {self.names[role]}"

    def role_of(self, line: str) -> Role | None:
        """Whose message begins below this line; None where it is no heading of a role."""
        found = self._heading.match(line) if line.startswith("##") else None
        return self._roles[found["name"]] if found else None


@lru_cache(maxsize=16)
def form_of(roles: RoleNames) -> Form:
    """The form for these names."""
    return Form(roles)


def is_blank(line: str) -> bool:
    """Whether a line shows nothing."""
    return not line.strip(_BLANKS)


def is_mark(line: str, mark: str) -> bool:
    """Whether a line is this mark, with blanks behind it or not."""
    return line.startswith(mark) and is_blank(line[len(mark) :])
