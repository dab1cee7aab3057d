"""Parses the text of a transcript in linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from jumpseat.chat.blocks import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    Role,
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
    Transcript,
    get_form,
    is_blank,
    is_mark,
)
from jumpseat.chat.transcript.front_matter import FrontMatter, read_front_matter
from jumpseat.chat.transcript.syntax import MARKDOWN, Syntax


def parse(
    text: str,
    *,
    roles: RoleNames | None = None,
    front: FrontMatter | None = None,
    syntax: Syntax = MARKDOWN,
) -> Transcript:
    """Parse a text that was written by `render` or by hand.

    Text before the first heading is a user message. An empty section, where the user writes the next
    question, is not a message. A fence or an element is treated as text if it is not closed in its section or
    lacks a required key.

    Args:
        text: the whole text.
        roles: names in headings, in addition to the standard ones.
        front: the text's front matter, if it has already been parsed.
        syntax: the text's format.

    Raises:
        InvalidRequestError: the front matter is invalid; the message names the line.
    """
    form = get_form(roles or RoleNames(), syntax)
    lines = split_lines(text)
    front = read_front_matter(lines, syntax) if front is None else front
    body = _Body(lines, form)
    messages: list[Message] = []
    turns: list[Section] = []
    for role, heading, first, end in body.sections(front.end_line):
        thinking: list[Lines] = []
        content = body.blocks(first, end, thinking)
        index = None if content is None else len(messages)
        if content is not None:  # An empty list is a message without blocks, None an empty section.
            messages.append(Message(role, tuple(content)))
        turns.append(Section(role, heading, end, index, thinking or None))
    return Transcript(
        messages=tuple(messages),
        system=front.system,
        model=front.model,
        tools=front.tools,
        settings=front.settings,
        conversation=front.conversation,
        turns=tuple(turns),
    )


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
    """The lines of a text, with an index of the lines that may close a fence or an element."""

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

    def sections(self, first: int) -> list[tuple[Role, int, int, int]]:
        """Return the role, line of the heading, first line and end of each section."""
        total = len(self._lines)
        heads: list[tuple[Role, int, int]] = []
        while first < total and is_blank(self._lines[first]):
            first += 1
        if first < total and self._form.read_role(self._lines[first]) is None:
            heads.append(("user", first, first))
        for index in range(first, total):
            role = self._form.read_role(self._lines[index])
            if role is not None:
                heads.append((role, index, index + 1))
        ends = [*(heading for _, heading, _ in heads[1:]), total]
        return [
            (role, heading, self._skip_properties(heading, first, end), end)
            for (role, heading, first), end in zip(heads, ends, strict=False)
        ]

    def _skip_properties(self, heading: int, first: int, end: int) -> int:
        """Return the line after the property drawer that is directly below a heading, or else `first`."""
        syntax = self._syntax
        if (
            not syntax.front_property
            or not heading < first < end
            or not syntax.front_start.match(self._lines[first])
        ):
            return first
        return next(
            (index + 1 for index in range(first, end) if syntax.front_end.match(self._lines[index])), first
        )

    def blocks(self, first: int, end: int, thinking: list[Lines]) -> list[ContentBlock] | None:
        """Return the blocks of a section, or None if it is empty. Adds its thinking's lines to `thinking`."""
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
        """Return the match of the first line of a fence, and its pairs; None if the line has neither."""
        fence = self._syntax.fence.match(self._lines[line])
        return fence, read_info(fence["info"] or "", self._syntax) if fence else None

    def _add_media(self, block: ToolResultBlock, start: int, end: int) -> tuple[ContentBlock, int]:
        """Add the images and documents in the fences after a result that refer to its call."""
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
