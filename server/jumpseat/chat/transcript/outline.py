"""Divides a transcript into sections, and finds the branch of the conversation to which a line belongs.

Headlines enclose each other as in Org. In Markdown, all headings of roles are on the same level, so there is
only one branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jumpseat.chat.blocks import Role
from jumpseat.chat.transcript.form import Form


@dataclass(slots=True, eq=False)
class Headline:
    """A headline of the outline. The root, of level 0, stands for the start of the text."""

    line: int
    level: int
    role: Role | None = None
    parent: Headline | None = None
    has_roles: bool = False
    """Whether any headline inside this one names a role."""

    section: Headline | None = None
    """The headline of the section that this headline belongs to; itself, if it begins a section."""

    last_inside: Headline | None = None
    """The last headline of a role that is directly inside this one."""

    text_end: int = 0
    """The line after the text of the section that begins here."""


class Outline:
    """The headlines of a text.

    A headline begins a section if it names a role, or begins a branch. A headline without a role begins a
    branch if it encloses a headline with a role; otherwise it is text.
    """

    def __init__(self, lines: Sequence[str], form: Form, first: int) -> None:
        """
        Args:
            lines: the lines of the text.
            form: recognises the headings.
            first: the first line after the front matter.
        """
        self._total = len(lines)
        self._root = Headline(first, 0)
        self._headlines = [self._root]
        enclosing = [self._root]
        for line in range(first, self._total):
            found = form.read_heading(lines[line])
            if found is None:
                continue
            level, role = found
            while enclosing[-1].level >= level:
                enclosing.pop()
            headline = Headline(line, level, role, enclosing[-1])
            enclosing.append(headline)
            self._headlines.append(headline)
            outer = headline.parent if role else None
            while outer and not outer.has_roles:
                outer.has_roles = True
                outer = outer.parent
        self.sections = self._divide()
        """The headlines that begin sections, in order. The first one is the root."""

    def _divide(self) -> list[Headline]:
        """Assign every headline to a section, and return the headlines that begin sections."""
        sections: list[Headline] = []
        current: Headline | None = None
        for headline in self._headlines:
            outer = headline.parent
            is_section = headline.role is not None or headline.has_roles or outer is None
            # A headline that is text belongs to the last section with a role directly inside its parent. If
            # there is no such section, the headline belongs to its parent's section.
            headline.section = headline if is_section else outer and (outer.last_inside or outer.section)
            if headline.section is current:
                continue
            if current:
                current.text_end = headline.line
            # A headline that is text gets here only if a branch has already ended its section. Then neither
            # the headline nor the text below it is in the text of any section.
            current = headline if is_section else None
            if is_section:
                sections.append(headline)
            if headline.role and outer:
                outer.last_inside = headline
        if current:
            current.text_end = self._total
        return sections

    def find_path(self, line: int | None) -> list[Headline]:
        """Return the headlines that enclose the branch of a line, from the root to the branch's own headline.

        A branch belongs to a headline, and consists of the sections directly inside that headline.

        Args:
            line: the line, counted from 0; None for the last line.
        """
        before = [each for each in self._headlines if line is None or each.line <= line]
        inmost = before[-1] if before else self._root
        # Go up from a headline that is text, and from the headline of a role, to the headline of the branch.
        while inmost.section is not inmost and inmost.parent:
            inmost = inmost.parent
        if inmost.role and inmost.parent:
            inmost = inmost.parent
        path = [inmost]
        while path[-1].parent:
            path.append(path[-1].parent)
        return path[::-1]

    def select(self, path: Sequence[Headline]) -> set[Headline]:
        """Return the headlines of a conversation's sections.

        Args:
            path: the result of `find_path`, which ends with the headline of the conversation's last branch.
        """
        # On each level, the sections after the next branch of the path are not part of the conversation.
        ends = {outer: inner.line for outer, inner in pairwise(path)}
        ends[path[-1]] = self._total
        return {
            each
            for each in self.sections
            if each in ends or (each.role and each.parent in ends and each.line < ends[each.parent])
        }

    def find_end(self, headline: Headline) -> int:
        """Return the line after everything that a headline encloses."""
        later = (
            each.line
            for each in self._headlines
            if each.line > headline.line and each.level <= headline.level
        )
        return next(later, self._total)
