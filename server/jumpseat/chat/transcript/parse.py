"""From a text to its conversation: every line is looked at a bounded number of times."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from jumpseat.chat.blocks import ContentBlock, Message, Role, TextBlock, ThinkingBlock
from jumpseat.chat.transcript.fences import block_of, read_info
from jumpseat.chat.transcript.form import (
    FENCE,
    FENCE_END,
    NEXT_TEXT,
    NO_BLOCKS,
    THINKING,
    THINKING_END,
    Form,
    RoleNames,
    Section,
    Transcript,
    form_of,
    is_blank,
    is_mark,
)
from jumpseat.chat.transcript.front_matter import FrontMatter, read_front_matter


def parse(text: str, *, roles: RoleNames | None = None, front: FrontMatter | None = None) -> Transcript:
    """What a text holds, written by `render` or by hand.

    What stands before the first heading is the user's message. A section with nothing in it, such as the
    one in which the next question will be written, is no message. A fence or an element that is not
    closed in its section, or lacks what it must have, is text.

    Args:
        text: the whole text.
        roles: names of the headings, beside the standard ones.
        front: the text's front matter where it was read before.

    Raises:
        InvalidRequestError: the front matter cannot be read; the message names the line.
    """
    form = form_of(roles or RoleNames())
    lines = lines_of(text)
    front = read_front_matter(lines) if front is None else front
    body = _Body(lines, form)
    messages: list[Message] = []
    turns: list[Section] = []
    for role, heading, first, end in body.sections(front.end_line):
        content = body.blocks(first, end)
        index = None if content is None else len(messages)
        if content is not None:
            messages.append(Message(role, tuple(content)))
        turns.append(Section(role, heading, end, index))
    return Transcript(
        messages=tuple(messages),
        system=front.system,
        model=front.model,
        settings=front.settings,
        turns=tuple(turns),
    )


def parse_front_matter(text: str) -> FrontMatter:
    """The front matter alone, which says whose names of the roles the headings have.

    Raises:
        InvalidRequestError: as `parse` does.
    """
    return read_front_matter(lines_of(text))


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; one that was saved with CRLF throughout has none in them."""
    text = text.removeprefix("\ufeff")
    ends = text.count("\n")
    if ends and text.count("\r\n") == ends:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


class _Body:
    """The lines of a text, with what ends a fence or an element found beforehand."""

    def __init__(self, lines: Sequence[str], form: Form) -> None:
        self._lines = lines
        self._form = form
        self._fence_ends: dict[int, list[int]] = defaultdict(list)
        self._thinking_ends: list[int] = []
        for index, line in enumerate(lines):
            if line.startswith("```"):
                if found := FENCE_END.match(line):
                    self._fence_ends[len(found["ticks"])].append(index)
            elif is_mark(line, THINKING_END):
                self._thinking_ends.append(index)

    def sections(self, first: int) -> list[tuple[Role, int, int, int]]:
        """For each section its role, the line of its heading, its first line, and its end."""
        total = len(self._lines)
        heads: list[tuple[Role, int, int]] = []
        lead = first
        while lead < total and is_blank(self._lines[lead]):
            lead += 1
        if lead < total and self._form.role_of(self._lines[lead]) is None:
            heads.append(("user", lead, lead))
        for index in range(lead, total):
            role = self._form.role_of(self._lines[index])
            if role is not None:
                heads.append((role, index, index + 1))
        ends = [*(heading for _, heading, _ in heads[1:]), total]
        return [(*head, end) for head, end in zip(heads, ends, strict=False)]

    def blocks(self, first: int, end: int) -> list[ContentBlock] | None:
        """The blocks of a section; None where there is nothing in it."""
        lines, form = self._lines, self._form
        found: list[ContentBlock] = []
        marked_empty = False
        text: list[str] = []

        def flush() -> None:
            said = form.in_text.read_block(text)
            if said is not None:
                found.append(TextBlock(said))
            text.clear()

        index = first
        while index < end:
            line = lines[index]
            index += 1
            if line.startswith("```"):
                fenced = self._fenced(index - 1, end)
                if fenced is not None:
                    flush()
                    block, index = fenced
                    found.append(block)
                    continue
            elif line.startswith("<"):
                if is_mark(line, THINKING):
                    close = _next(self._thinking_ends, index - 1, end)
                    if close is not None:
                        flush()
                        found.append(ThinkingBlock(form.in_thinking.read_block(lines[index:close]) or ""))
                        index = close + 1
                        continue
                elif is_mark(line, NEXT_TEXT):
                    flush()
                    continue
                elif is_mark(line, NO_BLOCKS):
                    marked_empty = True
                    continue
            text.append(line)
        flush()
        return found if found or marked_empty else None

    def _fenced(self, opening: int, end: int) -> tuple[ContentBlock, int] | None:
        """The block that is fenced from this line on, and the line after it."""
        found = FENCE.match(self._lines[opening])
        pairs = read_info(found["info"] or "") if found else None
        if found is None or pairs is None:
            return None
        close = _next(self._fence_ends[len(found["ticks"])], opening, end)
        if close is None:
            return None
        inside = self._lines[opening + 1 : close]
        block = block_of(found["kind"], pairs, inside, self._form.in_fence.read(inside))
        return None if block is None else (block, close + 1)


def _next(places: Sequence[int], after: int, end: int) -> int | None:
    """The first of these places behind a line and before the end."""
    at = bisect_right(places, after)
    return places[at] if at < len(places) and places[at] < end else None
