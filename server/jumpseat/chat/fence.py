"""Markdown fences that their content cannot close."""

from __future__ import annotations

import re

SHORTEST_FENCE = 3


def make_fence(text: str, *, shortest: int = SHORTEST_FENCE) -> str:
    """Return a fence of backticks that is longer than any run of backticks in the text.

    Args:
        shortest: the minimum length.
    """
    return "`" * max(shortest, 1 + max(map(len, re.findall("`+", text)), default=0))
