"""Parses the text of a transcript in linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumpseat.chat.blocks import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
)
from jumpseat.chat.transcript.fences import create_block, read_info
from jumpseat.chat.transcript.form import (
    Form,
    Lines,
    RoleNames,
    Section,
    get_form,
    is_blank,
    is_mark,
)
from jumpseat.chat.transcript.front_matter import FrontMatter, read_front_matter, read_values
from jumpseat.chat.transcript.outline import Headline, Outline
from jumpseat.chat.transcript.syntax import MARKDOWN, Syntax


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a text that belongs to a branch. Lines are counted from 0, and the end is exclusive."""

    start_line: int
    """The line of the headline that encloses the branch."""

    end_line: int
    level: int
    """The level of the headings of roles in the branch."""

    front: FrontMatter
    """The values of the branch's own property drawer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A parsed transcript: the conversation that one line belongs to, and all sections of the text."""

    messages: Sequence[Message]
    front: FrontMatter
    """The values that apply to the conversation."""

    turns: Sequence[Section]
    """All sections of the text, including those of other branches."""

    branch: Branch | None
    """The branch that contains the line; None if no branch does."""


def parse(
    text: str,
    *,
    roles: RoleNames | None = None,
    front: FrontMatter | None = None,
    syntax: Syntax = MARKDOWN,
    line: int | None = None,
) -> Transcript:
    """Parse a text that was written by `render` or by hand.

    Text before the first heading is a user message. An empty section, where the user writes the next
    question, is not a message. A fence, or an element that contains thinking, is treated as text if it is not
    closed in its section. A fence that lacks a required key is treated as text too.

    Args:
        text: the whole text.
        roles: names in headings, in addition to the standard ones.
        front: the text's front matter, if it has already been parsed.
        syntax: the text's format.
        line: a line of the branch to parse, counted from 0; None for the last line.

    Raises:
        FrontMatterError: the front matter, or the branch's property drawer, is invalid.
    """
    form = get_form(roles or RoleNames(), syntax)
    lines = split_lines(text)
    front = read_front_matter(lines, syntax) if front is None else front
    outline = Outline(lines, form, front.end_line)
    path = outline.find_path(line)
    selected = outline.select(path)
    body = _Body(lines, form)
    messages: list[Message] = []
    turns: list[Section] = []
    for headline in outline.sections:
        heading, first, end = body.find_text(headline)
        role = headline.role or "user"
        thinking: list[Lines] = []
        content = body.parse_blocks(first, end, thinking)
        if headline.role is None and content is None:
            continue
        index = None
        # An empty list means a message without blocks, and None means an empty section.
        if content is not None and headline in selected:
            index = len(messages)
            messages.append(Message(role, tuple(content)))
        turns.append(Section(role, heading, end, index, thinking or None))
    values = [body.read_properties(each) for each in path[1:]]
    for each in values:
        front = front.override(each)
    *_, inmost = path
    branch = None
    if values:
        level = inmost.last_inside.level if inmost.last_inside else inmost.level + 1
        branch = Branch(inmost.line, outline.find_end(inmost), level, values[-1])
    return Transcript(messages=tuple(messages), front=front, turns=tuple(turns), branch=branch)


def parse_front_matter(text: str, syntax: Syntax = MARKDOWN) -> FrontMatter:
    """Parse only the front matter. Its model determines the role names for parsing the rest.

    Raises:
        InvalidRequestError: see `parse`.
    """
    return read_front_matter(split_lines(text), syntax)


def split_lines(text: str) -> list[str]:
    """Split a text into lines at LF, or at CRLF if all line endings are CRLF."""
    text = text.removeprefix("\ufeff")
    ends = text.count("\n")
    # If line endings are mixed, `\r` may be part of the content.
    if ends and text.count("\r\n") == ends:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class _Body:
    """The lines of a text, with an index of the lines that may close a fence or an element with thinking."""

    def __init__(self, lines: Sequence[str], form: Form) -> None:
        self._lines = lines
        self._form = form
        self._syntax = syntax = form.syntax
        # Without these indexes, each unclosed opening would require a scan to the end of its section.
        self._fence_ends: dict[str, list[int]] = defaultdict(list)
        self._thinking_ends: list[int] = []
        for index, line in enumerate(lines):
            if not line.startswith(syntax.openings):
                continue
            if found := syntax.fence_end.match(line):
                self._fence_ends[found["key"].lower()].append(index)
            elif is_mark(line, syntax.thinking_end):
                self._thinking_ends.append(index)

    def find_text(self, headline: Headline) -> tuple[int, int, int]:
        """Return the first line of a section, the first line of its text, and the line after the text.

        A section without a heading of its own begins with its text.
        """
        first, end = headline.line, headline.text_end
        if headline.parent:
            drawer = self._find_drawer(headline)
            first = drawer[1] + 1 if drawer else first + 1
        if headline.role:
            return headline.line, first, end
        while first < end and is_blank(self._lines[first]):
            first += 1
        return first, first, end

    def read_properties(self, headline: Headline) -> FrontMatter:
        """Parse the property drawer directly below a headline; empty if there is none.

        Raises:
            FrontMatterError: a value is invalid.
        """
        drawer = self._find_drawer(headline)
        return read_values(self._lines, *drawer, self._syntax) if drawer else FrontMatter()

    def _find_drawer(self, headline: Headline) -> tuple[int, int] | None:
        """Return the first and the last line of a headline's property drawer; None if there is none."""
        lines, syntax, first, end = self._lines, self._syntax, headline.line + 1, headline.text_end
        if syntax.planning and first < end and syntax.planning.match(lines[first]):
            first += 1
        if not (syntax.front_property and first < end and syntax.front_start.match(lines[first])):
            return None
        return next(
            ((first, line) for line in range(first, end) if syntax.front_end.match(lines[line])), None
        )

    def parse_blocks(self, first: int, end: int, thinking: list[Lines]) -> list[ContentBlock] | None:
        """Return the blocks of a section; None if it is empty.

        Args:
            first: the first line of the section's text.
            end: the line after the text.
            thinking: a list to which the lines of each thinking block are added.
        """
        lines, form, syntax = self._lines, self._form, self._syntax
        blocks: list[ContentBlock] = []
        marked_empty = False
        text: list[str] = []

        def flush() -> None:
            block_text = form.in_text.read_block(text)
            if block_text is not None:
                blocks.append(TextBlock(block_text))
            text.clear()

        index = first
        while index < end:
            line = lines[index]
            index += 1
            if line.startswith(syntax.openings):
                fenced = self._parse_fence(index - 1, end)
                if fenced is not None:
                    flush()
                    block, index = fenced
                    blocks.append(block)
                    continue
                if is_mark(line, syntax.thinking):
                    close = _find_next(self._thinking_ends, index - 1, end)
                    if close is not None:
                        flush()
                        blocks.append(ThinkingBlock(form.in_thinking.read_block(lines[index:close]) or ""))
                        thinking.append(Lines(index - 1, close + 1))
                        index = close + 1
                        continue
                elif is_mark(line, syntax.next_text):
                    flush()
                    continue
                elif is_mark(line, syntax.no_blocks):
                    marked_empty = True
                    continue
            text.append(line)
        flush()
        return blocks if blocks or marked_empty else None

    def _parse_fence(self, opening: int, end: int) -> tuple[ContentBlock, int] | None:
        """Return the block whose fence begins at this line, and the line after it."""
        fence, pairs = self._read_opening(opening)
        if fence is None or pairs is None:
            return None
        # `render` writes fences of equal length, so a fence of another length is content.
        close = _find_next(self._fence_ends[fence["key"].lower()], opening, end)
        if close is None:
            return None
        inside = self._lines[opening + 1 : close]
        block = create_block(fence["kind"].lower(), pairs, inside, self._form.in_fence.read(inside))
        if isinstance(block, ToolResultBlock):
            return self._add_media(block, close + 1, end)
        return None if block is None else (block, close + 1)

    def _read_opening(self, line: int) -> tuple[re.Match[str] | None, dict[str, str] | None]:
        """Return the match of a fence's first line, and the pairs. Each is None if it is invalid."""
        fence = self._syntax.fence.match(self._lines[line])
        return fence, read_info(fence["info"] or "", self._syntax) if fence else None

    def _add_media(self, block: ToolResultBlock, start: int, end: int) -> tuple[ContentBlock, int]:
        """Return a tool result with its images and documents, and the line after its last fence.

        The images and documents come from the next fences, each of which names the call's id as its `result`.
        """
        media: list[ImageBlock | DocumentBlock] = []
        position = start
        while True:
            while position < end and not self._lines[position].strip():
                position += 1
            pairs = self._read_opening(position)[1] if position < end else None
            if not pairs or pairs.get("result") != block.tool_use_id:
                break
            found = self._parse_fence(position, end)
            if found is None or not isinstance(found[0], ImageBlock | DocumentBlock):
                break
            media.append(found[0])
            start = position = found[1]
        if not media:
            return block, start
        text = (TextBlock(block.text),) if block.text else ()
        return replace(block, content=(*text, *media)), start


def _find_next(lines: Sequence[int], after: int, end: int) -> int | None:
    """Return the first of these lines between `after` and `end`, both exclusive."""
    at = bisect_right(lines, after)
    return lines[at] if at < len(lines) and lines[at] < end else None
