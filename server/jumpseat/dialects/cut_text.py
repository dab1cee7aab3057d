"""Joins texts that a provider split within a character.

JSON writes a character beyond U+FFFF as two escapes (a surrogate pair). Some providers split their deltas
between these two halves. A piece that begins or ends with a half is a `CutText`. As a `str`, it has U+FFFD in
place of the half, because a half cannot be encoded as UTF-8. `join_pieces` and `Joiner` use the half itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CUT = re.compile("[\udc00-\udfff]|.*[\ud800-\udbff]\\Z", re.DOTALL)

REPLACEMENT = "\ufffd"


class CutText(str):
    """A text whose first or last character is a half; `cut` is the text that still contains the half."""

    __slots__ = ("cut",)

    cut: str

    def __new__(cls, cut: str) -> CutText:  # noqa: D102 - see the class
        self = super().__new__(cls, _HALF.sub(REPLACEMENT, cut))
        self.cut = cut
        return self


def parse_cut_texts(text: bytes | str) -> Any:
    """Parse JSON, and convert strings that begin or end with a half to `CutText`."""
    return _mark(json.loads(text))


def restore_halves(piece: str) -> str:
    """Return the piece; in a `CutText`, with the halves in place of U+FFFD."""
    return piece.cut if isinstance(piece, CutText) else piece


def join_pieces(pieces: Iterable[str]) -> str:
    """Join the pieces into one text, which may be a `CutText` itself."""
    return _to_text(_PAIR.sub(_join_pair, "".join(map(restore_halves, pieces))))


class Joiner:
    """An incremental joiner of the pieces of one text."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Return the text that is complete now; a half at the end waits for the next piece."""
        if not self._half and piece.isascii():
            return piece  # A `CutText` is never ASCII, because it contains U+FFFD.
        piece = restore_halves(piece)
        if not self._half and not _HALF.search(piece):
            return piece
        text = _PAIR.sub(_join_pair, self._half + piece)
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _HALF.sub(REPLACEMENT, text[: len(text) - len(self._half)])

    def finish(self) -> str:
        """Return U+FFFD if a half is still waiting; an empty text otherwise."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def _join_pair(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _to_text(text: str) -> str:
    return CutText(text) if _CUT.match(text) else _HALF.sub(REPLACEMENT, text)


def _mark(value: Any) -> Any:
    match value:
        case str():
            return _to_text(value)
        case dict():
            return {_HALF.sub(REPLACEMENT, key): _mark(item) for key, item in value.items()}
        case list():
            return [_mark(item) for item in value]
        case _:
            return value
