"""Finds the lines of a text that match a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumpseat.tools.files.text import normalize

MAX_LINE = 300
"""The maximum number of characters to show of a line."""

BEFORE_MATCH = 100
"""The maximum number of characters to show before the match, if the line is longer than `MAX_LINE`."""


class Matcher:
    """A pattern, compiled."""

    def __init__(self, pattern: str, *, is_regex: bool) -> None:
        """
        Args:
            pattern: the text to find in a line, or a regular expression.
            is_regex: whether the pattern is a regular expression.

        Raises:
            ValueError: the regular expression is not valid. The message gives the reason.
        """
        self._pattern = pattern
        try:
            # A huge repetition number raises `OverflowError`, and deep nesting raises `RecursionError`.
            self._expression = re.compile(pattern, re.MULTILINE) if is_regex else None
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None

    def find_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield each line that matches: its number, counted from 1, and its text, which may be cut."""
        text = normalize(text)
        # Most texts have no match. A search of the whole text shows that faster than a search of each line.
        if self._find(text) is None:
            return
        for number, line in enumerate(text.split("\n"), 1):
            position = self._find(line)
            if position is not None:
                yield number, _cut(line, position)

    def _find(self, text: str) -> int | None:
        if self._expression is not None:
            found = self._expression.search(text)
            return found.start() if found else None
        position = text.find(self._pattern)
        return position if position >= 0 else None


def _cut(line: str, position: int) -> str:
    if len(line) <= MAX_LINE:
        return line
    start = max(0, min(position - BEFORE_MATCH, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
