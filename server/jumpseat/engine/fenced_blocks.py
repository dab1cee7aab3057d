"""Finds Markdown code blocks in answers, even if they are nested, unclosed, or closed within a text line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# CommonMark 0.31, section 4.5: an info string after backticks cannot contain a backtick.
OPENING = re.compile(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z")
BARE_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})\s*\Z")


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block in an answer. Line numbers start at 0."""

    first: int
    """The line number of the opening fence."""

    end: int
    """The number of the line after the closing fence."""

    language: str
    opening: str
    """The line of the opening fence, unchanged."""

    lines: Sequence[str]
    closed: bool

    @property
    def fence_length(self) -> int:
        """The number of marks in the opening fence."""
        marks = self.opening.lstrip(" ")
        return len(marks) - len(marks.lstrip(marks[0]))


def find_fenced_blocks(lines: list[str]) -> list[FencedBlock]:
    """Return the outermost fenced blocks. Nested fences are recognised only if every block is then closed."""
    blocks = _scan(lines, nesting=True)
    if blocks and not blocks[-1].closed:
        blocks = _scan(lines, nesting=False)
    # A fence with nothing after it is a stray closing fence.
    return [block for block in blocks if block.closed or any(line.strip() for line in block.lines)]


def find_enclosing_block(lines: list[str]) -> FencedBlock | None:
    """Return the block that consists of all lines; None if the lines are not enclosed by fences.

    The first and the last line must be fences, and the fences between them must be paired.
    """
    # CommonMark would end the block at a bare fence in its content, but models forget to make the outer
    # fence longer.
    opening = OPENING.match(lines[0])
    if opening is None or len(lines) < 2 or not BARE_FENCE.match(lines[-1]):
        return None
    inside = _remove_indent(lines[1:-1], len(opening["indent"]))
    same_marks = opening["marks"][0] == lines[-1].lstrip()[0]
    if not same_marks or not all(block.closed for block in _scan(inside, nesting=False)):
        return None
    return FencedBlock(0, len(lines), _read_language(opening), lines[0], inside, True)


def _scan(lines: list[str], *, nesting: bool) -> list[FencedBlock]:
    blocks: list[FencedBlock] = []
    stack: list[str] = []
    first, indent, language = 0, 0, ""
    for index, line in enumerate(lines):
        fence = OPENING.match(line)
        if fence is None:
            continue
        marks = fence["marks"]
        if not stack:
            stack, first, indent, language = [marks], index, len(fence["indent"]), _read_language(fence)
            continue
        if marks[0] != stack[-1][0] or len(marks) < len(stack[-1]):
            continue
        if not fence["info"].strip():
            stack.pop()
            if not stack:
                inside = _remove_indent(lines[first + 1 : index], indent)
                blocks.append(FencedBlock(first, index + 1, language, lines[first], inside, True))
        elif nesting:
            # CommonMark treats this line as content, but models forget to make the outer fence longer.
            stack.append(marks)
    if stack:
        inside = _remove_indent(lines[first + 1 :], indent)
        if len(stack) == 1:
            _remove_glued_fence(inside, stack[0])
        blocks.append(FencedBlock(first, len(lines), language, lines[first], inside, False))
    return blocks


def _read_language(opening: re.Match[str]) -> str:
    words = opening["info"].split()
    return words[0].lower() if words else ""


def _remove_glued_fence(inside: list[str], marks: str) -> None:
    """Remove a closing fence from the end of the last line of text."""
    last = next((index for index in reversed(range(len(inside))) if inside[index].strip()), None)
    if last is None:
        return
    text = inside[last].rstrip()
    length = len(text) - len(text.rstrip(marks[0]))
    if length == len(marks) < len(text):
        inside[last] = text[:-length]


def _remove_indent(lines: Sequence[str], indent: int) -> list[str]:
    """Return the lines with up to `indent` leading spaces removed (CommonMark 0.31, section 4.5)."""
    return [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines]


def find_lines_outside(lines: list[str], blocks: Sequence[FencedBlock]) -> list[str]:
    """Return the lines outside these blocks, which must be in order."""
    outside, start = [], 0
    for block in blocks:
        outside += lines[start : block.first]
        start = block.end
    return outside + lines[start:]
