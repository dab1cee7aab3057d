"""Checks the size and depth of a JSON text without parsing it.

Once parsed, a text with many small values takes forty times its size in memory. The parser also holds the GIL
until it has read the whole text, so all other chats wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

MAX_DEPTH = 600
"""The maximum depth of arrays and objects. Every processing step of a message supports it."""

MAX_VALUES = 420_000
"""The maximum number of values in a text. Keys count too, and empty arrays and objects count twice.

The parser holds the GIL for up to about 60 ms to parse that many values. A transcript of 20,000 messages has
fewer values.
"""

MAX_DIGITS = 4300
"""The maximum number of digits of an integer. Python has this limit because parsing takes quadratic time."""

LONG_JSON_BYTES = 128 * 1024
"""The length up to which parsing takes only a few milliseconds. A longer text is parsed in a thread."""

TOO_DEEP = f"The JSON text is nested deeper than {MAX_DEPTH} levels."
TOO_MANY = f"The JSON text has more than {MAX_VALUES} values."
TOO_LONG = f"The JSON text has an integer of more than {MAX_DIGITS} digits."

_PIECE_BYTES = 64 * 1024

# Every key and every value, except the outermost value, follows one of the bytes `[{,:`. These bytes and the
# closing brackets are the marks; all other bytes are removed.
_OTHER = bytes(set(range(256)) - set(b"[{,:]}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class TooLarge(ValueError):  # noqa: N818 - a limit, and not a syntax error
    """The text may be JSON, but is beyond a limit. The message is one sentence."""


class LimitCheck:
    """An incremental check of one text. It does not check whether the text is valid JSON."""

    def __init__(self) -> None:
        self._marks = _MarkReader()
        self._depth = 0
        self._values = 0

    def feed(self, piece: bytes) -> None:
        """Check the next bytes of the text.

        Raises:
            TooLarge: the text so far is beyond a limit.
        """
        marks = self._marks.feed(piece)
        steps = memoryview(marks.translate(_STEPS, b",:")).cast("b")
        if max(accumulate(steps, initial=self._depth)) > MAX_DEPTH:
            raise TooLarge(TOO_DEEP)
        change = sum(steps)
        self._depth += change
        # Every mark except a closing bracket counts as one value.
        closing = (len(steps) - change) // 2
        self._values += len(marks) - closing
        if self._values > MAX_VALUES:
            raise TooLarge(TOO_MANY)


def check_limits(text: bytes) -> None:
    """Check the size and depth of a whole text.

    Raises:
        TooLarge: the text is beyond a limit, but may be JSON.
        ValueError: the text is beyond a limit and is not JSON, because some arrays or objects are not closed.
    """
    if len(text) <= MAX_VALUES and text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return
    check = LimitCheck()
    try:
        for piece in _split(text):
            check.feed(piece)
    except TooLarge:
        if not _is_balanced(text):
            raise ValueError("the text does not close all its arrays and objects") from None
        raise


def _split(text: bytes) -> Iterator[bytes]:
    """Yield the text in pieces, because a search of the whole text would hold the GIL for too long."""
    return (text[start : start + _PIECE_BYTES] for start in range(0, len(text), _PIECE_BYTES))


def _is_balanced(text: bytes) -> bool:
    """Whether a text closes as many arrays and objects as it opens."""
    reader = _MarkReader()
    arrays = objects = 0
    for piece in _split(text):
        marks = reader.feed(piece)
        arrays += marks.count(b"[") - marks.count(b"]")
        objects += marks.count(b"{") - marks.count(b"}")
    return arrays == objects == 0


class _MarkReader:
    """Finds the marks of a text: its brackets, commas and colons outside strings. Works piece by piece."""

    def __init__(self) -> None:
        self._in_string = False
        self._backslash = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the marks in the next bytes of the text."""
        text = _remove_escapes(self._backslash + piece)
        self._backslash = text[-1:] if text.endswith(b"\\") else b""
        parts = text.split(b'"')
        marks = b"".join(parts[self._in_string :: 2]).translate(None, _OTHER)
        self._in_string ^= len(parts) % 2 == 0
        return marks


def _remove_escapes(text: bytes) -> bytes:
    """Remove escaped quotation marks and backslashes; the other quotation marks begin and end strings."""
    return text.replace(rb"\\", b"").replace(rb"\"", b"")
