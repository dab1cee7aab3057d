"""Reading JSON strictly, but for one thing that real senders do: halves of surrogate pairs. And writing it.

A text that an editor or a tokenizer cut inside an emoji is written `"\\ud83d"`. RFC 8259 (section 8.2)
allows the escape and leaves its meaning open; a request must not go unanswered, and an answer not be lost,
because of it.

pydantic's parser and writer are fast, but stop at a depth of some 200 levels. What is deeper is for the
standard library, up to `MAX_DEPTH`.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from jumpseat.wire.outline import fault_in

# Escaped backslashes first, so that the text `\\ud83d` stays what it is; whole pairs next.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HAS_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F]")

# How the parser begins when it gives up on a text that may be JSON; a test holds these words.
_LIMITS = ("recursion limit exceeded", "number out of range")


class TooLarge(ValueError):  # noqa: N818 - a limit of ours, where other ValueErrors are mistakes of the text
    """The text may be JSON, but is nested too deep or has a number that is too long.

    Its text is one plain sentence; `id` is the text of the outermost object's id, where there is one.
    """

    def __init__(self, reason: str, id_text: bytes | None) -> None:
        super().__init__(reason)
        self.id = id_text


def read_json(text: bytes | str, *, allow_inf_nan: bool = False) -> Any:
    """The value of a JSON text in UTF-8; half a surrogate pair becomes U+FFFD.

    Args:
        text: the JSON text.
        allow_inf_nan: take NaN and infinities, which are not JSON, for what they are meant to be.

    Raises:
        TooLarge: it is beyond a limit.
        ValueError: it is not JSON; bad UTF-8 is refused too.
    """
    try:
        return from_json(text, allow_inf_nan=allow_inf_nan)
    except ValueError as error:
        is_limit = str(error).startswith(_LIMITS)
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if _HAS_SURROGATES.search(raw):
            raw = _ESCAPES.sub(_whole, raw)
        elif not is_limit:
            raise
    if not is_limit:
        try:
            return from_json(raw, allow_inf_nan=allow_inf_nan)
        except ValueError as error:
            if not str(error).startswith(_LIMITS):
                raise
    fault, id_text = fault_in(raw)
    if fault is not None:
        raise TooLarge(fault, id_text)
    return json.loads(raw.decode(), parse_constant=None if allow_inf_nan else _no_constant)


def _whole(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape["half"] is None else rb"\ufffd"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def write_json(value: Any) -> bytes:
    """The JSON text of a value: UTF-8 without blanks. NaN and infinities become null.

    Raises:
        ValueError: the value holds something that JSON has no form for.
    """
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        pass
    with contextlib.suppress(TypeError, ValueError):
        return _written(value)
    try:
        return _written(_writable(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"A value could not be written as JSON: {error}") from error


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _writable(value: Any) -> Any:
    """The same value with a replacement character for whatever UTF-8 cannot hold, and null for NaN."""
    match value:
        case str():
            # Half a surrogate pair, as a file name that is not UTF-8 has it, has no UTF-8 form.
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value
