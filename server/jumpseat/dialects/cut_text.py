"""Texts that a provider cut within a character, and put together again.

JSON writes a character beyond U+FFFF as two escapes, and some providers cut their deltas between them. A
piece that begins or ends with such a half is a `CutText`: for all who do not know of it a text with U+FFFD
in the place of the half, so that no half reaches anything that cannot write it. Those that put pieces
together use `joined` or a `Joiner`. Above it are the assembler and the decoders.
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
    """A text whose first or last character is a half; `cut` has that half."""

    __slots__ = ("cut",)

    cut: str

    def __new__(cls, cut: str) -> CutText:  # noqa: D102 - the class says it
        self = super().__new__(cls, _HALF.sub(REPLACEMENT, cut))
        self.cut = cut
        return self


def with_cut_texts(text: bytes | str) -> Any:
    """The value of a JSON text that is known to hold halves, with those at the ends of its texts kept."""
    return _marked(json.loads(text))


def halves_of(piece: str) -> str:
    """The piece with its halves, where it has any at its ends."""
    return piece.cut if isinstance(piece, CutText) else piece


def joined(pieces: Iterable[str]) -> str:
    """The text of several pieces; it may begin or end with a half itself."""
    return _text(_PAIR.sub(_whole, "".join(map(halves_of, pieces))))


class Joiner:
    """Puts a text together as its pieces come."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """What is certain with this piece; a half at its end waits for the next one."""
        piece = halves_of(piece)
        if not self._half and (piece.isascii() or not _HALF.search(piece)):
            return piece
        text = _PAIR.sub(_whole, self._half + piece)
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _HALF.sub(REPLACEMENT, text[: len(text) - len(self._half)])

    def finish(self) -> str:
        """What stands for a half whose other half did not come."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def _whole(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _text(text: str) -> str:
    return CutText(text) if _CUT.match(text) else _HALF.sub(REPLACEMENT, text)


def _marked(value: Any) -> Any:
    match value:
        case str():
            return _text(value)
        case dict():
            return {_HALF.sub(REPLACEMENT, key): _marked(item) for key, item in value.items()}
        case list():
            return [_marked(item) for item in value]
        case _:
            return value
