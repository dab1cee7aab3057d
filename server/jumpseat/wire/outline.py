"""Finds the depth of a JSON text, its number of values and its id without parsing it.

Once parsed, a text with many small values takes forty times its size in memory. The scan rejects it as soon
as it exceeds a limit. It does not check whether the text is valid JSON; `json` does.
"""

from __future__ import annotations

import re

MAX_DEPTH = 600
"""The most nested arrays and objects. Every processing step of a message supports this depth."""

MAX_VALUES = 1_000_000
"""The most values of one message, including keys and containers."""

MAX_BATCH = 1000
"""The most messages in one batch."""

MAX_DIGITS = 4300
"""The most digits of a number. This is Python's default limit, because parsing takes quadratic time."""

TOO_LARGE_BATCH = f"A batch may hold at most {MAX_BATCH} messages."
TOO_DEEP = f"The message is nested deeper than {MAX_DEPTH} levels."
TOO_MANY = f"The message has more than {MAX_VALUES} values."
TOO_LONG = f"The message has a number of more than {MAX_DIGITS} digits."

TAIL_BYTES = 4096
"""The number of bytes at the end of a rejected message that are searched for its id."""

_STRING = rb'(?:[^"\\]++|\\.)*+'
_TOKEN = re.compile(rb'"' + _STRING + rb'("?)|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_WHOLE_STRING = re.compile(rb'"' + _STRING + rb'"', re.DOTALL)
_REST_OF_STRING = re.compile(_STRING, re.DOTALL)
# Keys and ids in use are not longer than this.
_SHORT = 1024

# This matches an id that is one of the last members of the outermost object, followed only by strings such as
# `method`.
_ID_AT_THE_END = re.compile(
    rb',\s*"id"\s*:\s*(-?[0-9]{1,20}|"(?:[^"\\]|\\.){0,256}")\s*'
    rb'(?:,\s*"[^"\\]{0,64}"\s*:\s*"[^"\\]{0,256}"\s*)*\}\s*\Z',
    re.DOTALL,
)

_QUOTE, _COMMA, _COLON = b'",:'
_OPENING, _CLOSING = frozenset(b"[{"), frozenset(b"]}")


class Outline:
    """An incremental scan of one text, which stops at a limit."""

    def __init__(self) -> None:
        self.id: bytes | None = None
        """The JSON text of the outermost object's `id`; None until it was read."""

        self.fault: str | None = None
        """The exceeded limit, as one sentence."""

        self._at = 0
        self._in_string = False
        self._depth = 0
        self._values = 0
        self._items = 1
        self._is_array = False
        self._key = b""
        self._after_colon = False

    def read(self, text: bytes | bytearray, start: int, end: int) -> str | None:
        """Scan the bytes since the last call, and return `fault`.

        Args:
            text: a buffer that contains the text so far.
            start: the offset in the buffer where the text begins.
            end: the offset in the buffer where it ends so far.
        """
        if self._in_string:
            rest = _REST_OF_STRING.match(text, start + self._at, end)
            here = end if rest is None else rest.end()
            self._in_string = here >= end or text[here] != _QUOTE
            self._at = here - start + (not self._in_string)
            if self._in_string:
                return None
        depth, values = self._depth, self._values
        stopped = end
        for token in _TOKEN.finditer(text, start + self._at, end):
            first = text[token.start()]
            if first in _OPENING:
                depth += 1
                values += 1
                if depth == 1:
                    self._is_array = first == b"["[0]
                if depth > MAX_DEPTH:
                    self.fault = TOO_DEEP
                    break
            elif first in _CLOSING:
                depth -= 1
            elif first == _COMMA:
                if depth == 1:
                    self._after_colon = False
                    self._items += 1
                    if self._is_array and self._items > MAX_BATCH:
                        self.fault = TOO_LARGE_BATCH
                        break
            elif first == _COLON:
                self._after_colon = self._after_colon or depth == 1
            else:
                size = token.end() - token.start()
                is_string = first == _QUOTE
                if not is_string and size > MAX_DIGITS:
                    self.fault = TOO_LONG
                    break
                if token.end() >= end - is_string and not token[1]:
                    # The token may continue in the next piece, and a string may be split within an escape. A
                    # short token is then read again as a whole.
                    self._in_string = is_string and size > _SHORT
                    stopped = token.end() if self._in_string else token.start()
                    values += self._in_string
                    break
                values += 1
                if depth == 1 and size <= _SHORT:
                    if not self._after_colon:
                        self._key = token[0]
                    elif self._key == b'"id"':
                        self.id = token[0]
            if values > MAX_VALUES:
                self.fault = TOO_MANY
                break
        self._at = stopped - start
        self._depth, self._values = depth, values
        return self.fault


def fault_in(text: bytes) -> tuple[str | None, bytes | None]:
    """Return the exceeded limit of a whole text, if any, and the JSON text of its id.

    Raises:
        ValueError: the brackets are not balanced, so the text is not JSON.
    """
    outline = Outline()
    if outline.read(text, 0, len(text)) is not None:
        bare = _WHOLE_STRING.sub(b"", text)
        if bare.count(b"[") != bare.count(b"]") or bare.count(b"{") != bare.count(b"}"):
            raise ValueError("the text does not close what it opens")
    return outline.fault, outline.id or id_at_the_end(text[-TAIL_BYTES:])


def id_at_the_end(tail: bytes) -> bytes | None:
    """Return the JSON text of the id in the last bytes of a message."""
    match = _ID_AT_THE_END.search(tail)
    return match[1] if match else None
