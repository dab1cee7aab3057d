"""Fenced blocks of Markdown as models write them: not closed, nested, or at the end of a line of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

OPENING = re.compile(r"(?P<indent> {0,3})(?:(?P<ticks>`{3,})(?P<a>[^`]*)|(?P<tildes>~{3,})(?P<b>.*))\Z")
BARE_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})\s*\Z")


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block of an answer; lines count from 0."""

    first: int
    """The line of the opening fence."""

    end: int
    """The line after the closing fence."""

    language: str
    opening: str
    """The line of the opening fence, unchanged."""

    lines: Sequence[str]
    closed: bool

    @property
    def length(self) -> int:
        """The number of marks of the opening fence."""
        marks = self.opening.lstrip(" ")
        return len(marks) - len(marks.lstrip(marks[0]))


def fenced_blocks(lines: list[str]) -> list[FencedBlock]:
    """The outermost fenced blocks: with fences inside of fences if that comes out even, else without."""
    found = _scan(lines, nesting=True)
    if found and not found[-1].closed:
        found = _scan(lines, nesting=False)
    # One that opens behind everything else opens nothing: it closes what was never opened.
    return [block for block in found if block.closed or any(line.strip() for line in block.lines)]


def block_from_end_to_end(lines: list[str]) -> FencedBlock | None:
    """The block that is all of these lines, though a fence of its content would end it by the rules.

    What shows that it does not is that the last line is a fence too, and that those between them come out
    even.
    """
    opening = OPENING.match(lines[0])
    if opening is None or len(lines) < 2 or not BARE_FENCE.match(lines[-1]):
        return None
    info = (opening["a"] or opening["b"] or "").strip()
    inside = _outdented(lines[1:-1], len(opening["indent"]))
    same_marks = lines[0].lstrip()[0] == lines[-1].lstrip()[0]
    if not same_marks or not all(block.closed for block in _scan(inside, nesting=False)):
        return None
    language = info.split()[0].lower() if info else ""
    return FencedBlock(0, len(lines), language, lines[0], inside, True)


def _scan(lines: list[str], *, nesting: bool) -> list[FencedBlock]:
    """Fenced blocks as CommonMark 0.31 (section 4.5) has them.

    With `nesting`, a fence of the same kind with an info string opens a block within the block: models
    forget that the outer fence must be the longer one.
    """
    found: list[FencedBlock] = []
    stack: list[str] = []
    first, indent, language = 0, 0, ""
    for index, line in enumerate(lines):
        fence = OPENING.match(line)
        if fence is None:
            continue
        marker = fence["ticks"] or fence["tildes"]
        info = (fence["a"] if fence["ticks"] else fence["b"]).strip()
        if not stack:
            stack, first, indent = [marker], index, len(fence["indent"])
            language = info.split()[0].lower() if info else ""
            continue
        fits = marker[0] == stack[-1][0] and len(marker) >= len(stack[-1])
        if fits and not info:
            stack.pop()
            if not stack:
                inside = _outdented(lines[first + 1 : index], indent)
                found.append(FencedBlock(first, index + 1, language, lines[first], inside, True))
        elif fits and nesting:
            stack.append(marker)
    if stack:
        inside = _outdented(lines[first + 1 :], indent)
        if len(stack) == 1:
            _take_glued_fence(inside, stack[0])
        found.append(FencedBlock(first, len(lines), language, lines[first], inside, False))
    return found


def _take_glued_fence(inside: list[str], marker: str) -> None:
    """Take away a closing fence that stands at the end of the last line instead of on one of its own."""
    last = next((index for index in reversed(range(len(inside))) if inside[index].strip()), None)
    if last is None:
        return
    text = inside[last].rstrip()
    marks = len(text) - len(text.rstrip(marker[0]))
    if marks == len(marker) < len(text):
        inside[last] = text[:-marks]


def _outdented(lines: Sequence[str], indent: int) -> list[str]:
    """Lines without the indentation of their fence, as far as they have it."""
    return [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines]


def lines_outside(lines: list[str], blocks: Sequence[FencedBlock]) -> list[str]:
    """The lines that stand in none of these blocks, which are in their order."""
    found, start = [], 0
    for block in blocks:
        found += lines[start : block.first]
        start = block.end
    return found + lines[start:]
