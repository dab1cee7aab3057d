"""Parses long JSON texts in a worker thread without blocking other threads."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from json import decoder, scanner
from typing import Any

from jumpseat.wire.json import read_json

LARGE_JSON_BYTES = 128 * 1024
"""The length up to which the parser in C is used, which then takes a few milliseconds."""

MAX_VALUES = 2_000_000
"""The most values of a text, each of which takes up to a hundred bytes of memory even if its text is short.

Objects and arrays count twice, because the garbage collector, which stops all threads, visits each of them.
"""

_SLICE_BYTES = 1024 * 1024


def read_large_json(text: bytes | str, *, allow_inf_nan: bool = False) -> Any:
    """Parse JSON like `read_json`. Call this in a worker thread for a long text.

    Args:
        text: the JSON text.
        allow_inf_nan: whether to accept NaN and infinities, which are not JSON.

    Raises:
        ValueError: the text is not JSON, is nested very deeply, or has more than `MAX_VALUES` values.
    """
    if len(text) <= LARGE_JSON_BYTES:
        return read_json(text, allow_inf_nan=allow_inf_nan)
    if isinstance(text, bytes):
        text = "".join(codecs.iterdecode(_slices(text), "utf-8"))
    try:
        return _Reader(allow_inf_nan).decode(text)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None


def _slices(text: bytes) -> Iterator[bytes]:
    view = memoryview(text)
    for start in range(0, len(view), _SLICE_BYTES):
        yield bytes(view[start : start + _SLICE_BYTES])


# A parser in C holds the GIL until it has read the whole text, which takes seconds for a few megabytes of
# small values. The standard library's parser in Python lets other threads run, but is about ten times slower.
class _Reader(json.JSONDecoder):
    """The parser in Python, which also counts the values of one text."""

    def __init__(self, allow_inf_nan: bool) -> None:
        super().__init__(parse_constant=None if allow_inf_nan else _refuse)
        self._left = MAX_VALUES
        self.parse_object = self._counted(decoder.JSONObject, _with_whole_keys, 2)  # type: ignore[attr-defined]
        self.parse_array = self._counted(decoder.JSONArray, weight=2)  # type: ignore[attr-defined]
        self.parse_string = self._counted(decoder.scanstring, _with_whole_text)  # type: ignore[attr-defined]
        self.parse_float = self._counted(float)
        self.parse_int = self._counted(int)
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _counted(
        self, parse: Callable[..., Any], then: Callable[[Any], Any] | None = None, weight: int = 1
    ) -> Callable[..., Any]:
        def one(*args: Any) -> Any:
            self._left -= weight
            if self._left < 0:
                raise ValueError(f"the JSON text has more than {MAX_VALUES} values")
            value = parse(*args)
            return value if then is None else then(value)

        return one


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _with_whole_text(parsed: tuple[str, int]) -> tuple[str, int]:
    text, end = parsed
    return (text, end) if _is_plain(text) else (_whole(text), end)


def _with_whole_keys(parsed: tuple[dict[str, Any], int]) -> tuple[dict[str, Any], int]:
    table, end = parsed
    if all(map(_is_plain, table)):
        return table, end
    return {_whole(key): value for key, value in table.items()}, end


def _is_plain(text: str) -> bool:
    return text.isascii() and "\0" not in text


def _whole(text: str) -> str:
    """Return the text with U+FFFD for U+0000 and for each half of a surrogate pair, as `read_json` does."""
    text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
