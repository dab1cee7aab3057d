"""Reads a range of lines from a text that may not fit into memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_FRAGMENTS = re.compile(r"[^\n]*\n|[^\n]+")
PIECE = 64 * 1024
"""The length of one piece, in characters of a text or in bytes of a file."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text."""

    text: str
    last: int
    """The number of the last line, counted from 1."""

    is_cut: bool
    """Whether the text is only the beginning of one line, which is too long."""

    total: int | None
    """The number of lines of the whole text; None if it was not read to the end."""


def take_lines(
    pieces: Iterable[str], first: int, last: int | None, max_bytes: int, *, count_all: bool
) -> Excerpt:
    """Return the lines from `first` to `last`, as far as they fit into `max_bytes`.

    Args:
        pieces: the text in pieces, with line feeds as its line endings.
        first: the number of the first line, counted from 1.
        last: the number of the last line; None for the last line of the text.
        max_bytes: the maximum size in bytes of UTF-8. If even the first line does not fit, it is cut.
        count_all: whether to read the text to its end to count its lines.
    """
    lines = _Lines(pieces)
    taken: list[str] = []
    # `complete` is the number of fragments in `taken` up to the end of the last complete line.
    end, size, complete = first - 1, 0, 0
    is_cut = False
    for number, fragment in lines.select(first, last):
        length = len(fragment.encode("utf-8", "surrogatepass"))
        if size + length > max_bytes:
            is_cut = not complete
            rest = fragment.encode("utf-8", "surrogatepass")[: max_bytes - size]
            taken = [*taken, rest.decode("utf-8", "ignore")] if is_cut else taken[:complete]
            end = number if is_cut else number - 1
            break
        taken.append(fragment)
        size += length
        end = number
        if fragment.endswith("\n"):
            complete = len(taken)
    return Excerpt("".join(taken), end, is_cut, lines.count(to_the_end=count_all))


class _Lines:
    """The lines of a text in pieces."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._next = 1
        """The number of the line in which the next piece begins."""

        self._is_open = False
        """Whether an earlier piece contains the beginning of that line."""

        self._is_at_end = False

    def select(self, first: int, last: int | None) -> Iterator[tuple[int, str]]:
        """Yield the fragments of these lines, each with the number of its line.

        A fragment is a line, or the part of a line that is in one piece.
        """
        while last is None or self._next <= last:
            number = self._next
            piece = self._read()
            if piece is None:
                return
            if self._next < first:
                continue
            for fragment in _FRAGMENTS.findall(piece):
                if number >= first and (last is None or number <= last):
                    yield number, fragment
                number += fragment.endswith("\n")

    def count(self, *, to_the_end: bool) -> int | None:
        """Return the number of lines of the text; None if it was not read to the end."""
        while to_the_end and not self._is_at_end:
            self._read()
        return self._next - 1 + self._is_open if self._is_at_end else None

    def _read(self) -> str | None:
        piece = next(self._pieces, None)
        if piece is None:
            self._is_at_end = True
        elif piece:
            self._next += piece.count("\n")
            self._is_open = not piece.endswith("\n")
        return piece
