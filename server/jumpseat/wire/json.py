"""Reads and writes JSON. Reading is strict, except that it accepts halves of surrogate pairs.

If an editor or a tokenizer splits a text inside an emoji, the parts contain single halves, such as
`"\\ud83d"`. RFC 8259 (section 8.2) allows this escape but does not define its meaning. A request that
contains it must be answered, and an answer that contains it must be read. U+0000 becomes U+FFFD, because
Emacs before 30 cannot read U+0000.

pydantic's parser and writer are fast, but fail at a depth of about 200 levels. The standard library handles
deeper values, up to `MAX_DEPTH`. The functions import pydantic at their first call, so that a client can
start its daemon first, and import pydantic while the daemon is starting.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from jumpseat.wire.limits import MAX_DEPTH, MAX_DIGITS, TOO_LONG, TooLarge, check_limits

# Escaped backslashes match first, so that the text `\\ud83d` is unchanged. Complete pairs match next, so that
# only single halves are left.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HAS_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F]")

# pydantic's errors for a text that may be valid JSON start with these words; a test checks them.
_LIMIT_ERRORS = ("recursion limit exceeded", "number out of range")


def has_half(text: bytes | str) -> bool:
    """Whether the JSON text contains the escape of half a surrogate pair."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return bool(_HAS_SURROGATES.search(raw)) and any(each["half"] for each in _ESCAPES.finditer(raw))


def read_json(
    text: bytes | str,
    *,
    allow_inf_nan: bool = False,
    keep_nul: bool = False,
    is_checked: bool = False,
    parse_halves: Callable[[bytes], Any] | None = None,
) -> Any:
    """Parse JSON in UTF-8; U+0000 and halves of surrogate pairs become U+FFFD.

    Call this in a thread if the text is longer than `LONG_JSON_BYTES`.

    Args:
        text: the JSON text.
        allow_inf_nan: whether to accept NaN and infinities, which are not JSON.
        keep_nul: whether to leave U+0000 unchanged.
        is_checked: whether the size and the depth of the text are known to be within the limits.
        parse_halves: parses a text with half a surrogate pair; may raise RecursionError for a deep text.

    Raises:
        TooLarge: the text is beyond a limit.
        ValueError: the text is not JSON, or not valid UTF-8.
    """
    import pydantic_core

    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_DEPTH and not is_checked:
        check_limits(raw)
    if not keep_nul and rb"\u0000" in raw:
        # `jumpseat.chat` is imported only if necessary, because it would delay the start of a client.
        from jumpseat.chat.nul import replace_escaped_nul

        raw = replace_escaped_nul(raw)
    try:
        return pydantic_core.from_json(raw, allow_inf_nan=allow_inf_nan, cache_strings="keys")
    except ValueError as error:
        if _HAS_SURROGATES.search(raw):
            if parse_halves is not None and has_half(raw):
                with contextlib.suppress(RecursionError):
                    return parse_halves(raw)
            raw = _ESCAPES.sub(_replace_half, raw)
        elif not str(error).startswith(_LIMIT_ERRORS):
            raise
    constant = None if allow_inf_nan else _refuse_constant
    return json.loads(raw.decode(), parse_int=_read_int, parse_constant=constant)


def _replace_half(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape["half"] is None else rb"\ufffd"


def _read_int(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise TooLarge(TOO_LONG)
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def write_json(value: Any) -> bytes:
    """Return the JSON text of a value, in UTF-8 without whitespace. NaN and infinities become null.

    Raises:
        ValueError: the value contains something that JSON cannot represent.
    """
    import pydantic_core

    try:
        return pydantic_core.to_json(value, inf_nan_mode="null")
    except pydantic_core.PydanticSerializationError:
        pass
    with contextlib.suppress(TypeError, ValueError):
        return _dump(value)
    try:
        return _dump(_make_writable(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"A value could not be written as JSON: {error}") from error


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _make_writable(value: Any) -> Any:
    """Return the value without characters that UTF-8 cannot encode, and without NaN and infinities."""
    match value:
        case str():
            # UTF-8 cannot encode half a surrogate pair. Python puts such halves into the names of files whose
            # names are not valid UTF-8.
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_make_writable(key): _make_writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_make_writable(item) for item in value]
        case _:
            return value
