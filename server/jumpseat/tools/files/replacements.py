"""The change of a text by `edit` or `write`, and the part of the text that the user sees."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.tools.files.text import LINE_ENDING, convert_line_endings, find_line_ending, normalize
from jumpseat.tools.server import ToolError

MAX_DIFF = 256 * 1024
"""The length of the longest text that a diff shows whole, in characters."""

CONTEXT = 2000
"""The number of characters to show before and after a change, if the text is longer than `MAX_DIFF`."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text, and the passage of it that is replaced."""

    before: str
    start: int
    end: int
    passage: str
    """The new text of the passage."""

    @property
    def after(self) -> str:
        """The whole new text."""
        return f"{self.before[: self.start]}{self.passage}{self.before[self.end :]}"

    def show(self) -> tuple[str, str]:
        """Return the texts before and after the change, for a diff. Notes replace parts of long texts."""
        start, end = 0, len(self.before)
        if end + len(self.passage) > MAX_DIFF:
            start = self.before.rfind("\n", 0, max(self.start - CONTEXT, 0)) + 1
            end = self.before.find("\n", self.end + CONTEXT) + 1 or end
        head = _describe_gap(start) + normalize(self.before[start : self.start])
        tail = normalize(self.before[self.end : end]) + _describe_gap(len(self.before) - end)
        old, new = normalize(self.before[self.start : self.end]), normalize(self.passage)
        return f"{head}{_shorten(old)}{tail}", f"{head}{_shorten(new)}{tail}"


def replace_once(text: str, old: str, new: str, name: str) -> Replacement:
    """Replace the only occurrence of a passage, whatever the line endings of the text are.

    Args:
        text: the text.
        old: the passage.
        new: the new text of the passage, which receives the line endings of the text.
        name: the file's name for errors.

    Raises:
        ToolError: the passage does not occur exactly once, or nothing would change.
    """
    old, new, plain = normalize(old), normalize(new), normalize(text)
    if old == new:
        raise ToolError("oldText and newText are equal, so nothing would change.")
    start = plain.find(old)
    if start < 0:
        raise ToolError(
            f"oldText does not occur in {name}. Copy it exactly from the file, "
            "with its spaces and line endings."
        )
    if plain.find(old, start + 1) >= 0:
        raise ToolError(f"oldText occurs more than once in {name}. Add the lines around it to oldText.")
    passage = convert_line_endings(new, find_line_ending(text) or "\n")
    return Replacement(
        text, _convert_position(text, plain, start), _convert_position(text, plain, start + len(old)), passage
    )


def replace_all(text: str | None, new: str) -> Replacement:
    """Replace the whole text. The new text receives the line endings of the old one.

    Args:
        text: the old text; None if the file does not exist.
        new: the new text.

    Raises:
        ToolError: nothing would change.
    """
    if text is None:
        return Replacement("", 0, 0, new)
    line_ending = find_line_ending(text)
    passage = new if line_ending is None else convert_line_endings(new, line_ending)
    if passage == text:
        raise ToolError("The file already has this text.")
    return Replacement(text, 0, len(text), passage)


def _convert_position(text: str, plain: str, position: int) -> int:
    """Convert a position in the normalized form of a text into a position in the text itself."""
    if len(text) == len(plain):
        return position
    breaks = plain.count("\n", 0, position)
    if text.count("\r\n") == plain.count("\n"):
        return position + breaks
    # The text mixes line endings of one character and of two.
    ends = zip(range(breaks), LINE_ENDING.finditer(text), strict=False)
    return position + sum(len(found[0]) - 1 for _, found in ends)


def _describe_gap(length: int) -> str:
    return f"[… {length} characters were left out here …]\n" if length else ""


def _shorten(passage: str) -> str:
    if len(passage) <= MAX_DIFF:
        return passage
    half = MAX_DIFF // 2
    return f"{passage[:half]}\n{_describe_gap(len(passage) - 2 * half)}{passage[-half:]}"
