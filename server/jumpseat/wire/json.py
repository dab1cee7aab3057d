"""Reads and writes JSON. Reading is strict, except that it accepts halves of surrogate pairs.

If an editor or a tokenizer splits a text inside an emoji, it is written as `"\\ud83d"`. RFC 8259
(section 8.2) allows the escape but does not define its meaning. Such a request must be answered, and such an
answer read. U+0000 becomes U+FFFD, because Emacs before 30 cannot read it.

pydantic's parser and writer are fast, but fail at a depth of about 200 levels. The standard library handles
deeper values, up to `MAX_DEPTH`.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jumpseat.wire.outline import fault_in

if TYPE_CHECKING:
    from pydantic_core import PydanticSerializationError, from_json, to_json
else:
    # The first message imports pydantic, which replaces these functions. A client thus imports it while its
    # daemon is starting.

    def from_json(*arguments: Any, **options: Any) -> Any:
        """Import pydantic's function and call it."""
        _import_pydantic()
        return from_json(*arguments, **options)

    def to_json(*arguments: Any, **options: Any) -> bytes:
        """Import pydantic's function and call it."""
        _import_pydantic()
        return to_json(*arguments, **options)

    def _import_pydantic() -> None:
        global PydanticSerializationError, from_json, to_json
        from pydantic_core import PydanticSerializationError, from_json, to_json


# Escaped backslashes match first, so that the text `\\ud83d` is unchanged, and then complete pairs.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HAS_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F]")

# The parser's errors for a text that may be valid JSON start with these words; a test checks them.
_LIMITS = ("recursion limit exceeded", "number out of range")


class TooLarge(ValueError):  # noqa: N818 - a limit, and not a syntax error
    """The text may be JSON, but is nested too deeply or has a number that is too long.

    The message is one sentence; `id` is the JSON text of the outermost object's id, if any.
    """

    def __init__(self, reason: str, id_text: bytes | None) -> None:
        super().__init__(reason)
        self.id = id_text


def has_escaped_nul(text: bytes | str) -> bool:
    """Whether a string in the JSON text may contain U+0000."""
    return (r"\u0000" in text) if isinstance(text, str) else (rb"\u0000" in text)


def read_json(text: bytes | str, *, allow_inf_nan: bool = False, keep_nul: bool = False) -> Any:
    """Parse JSON in UTF-8; U+0000 and halves of surrogate pairs become U+FFFD.

    Args:
        text: the JSON text.
        allow_inf_nan: whether to accept NaN and infinities, which are not JSON.
        keep_nul: whether to leave U+0000 unchanged.

    Raises:
        TooLarge: the text is beyond a limit.
        ValueError: the text is not JSON, or not valid UTF-8.
    """
    if not keep_nul and has_escaped_nul(text):
        # `jumpseat.chat` is imported only if necessary, because it would delay the start of a client.
        from jumpseat.chat.nul import replace_escaped_nul

        text = replace_escaped_nul(text)
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
    """Return the JSON text of a value, in UTF-8 without whitespace. NaN and infinities become null.

    Raises:
        ValueError: the value contains something that JSON cannot represent.
    """
    try:
        return to_json(value, inf_nan_mode="null")
    except PydanticSerializationError:
        pass
    with contextlib.suppress(TypeError, ValueError):
        return _dumped(value)
    try:
        return _dumped(_writable(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"A value could not be written as JSON: {error}") from error


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _writable(value: Any) -> Any:
    """Return the value with U+FFFD in place of characters that UTF-8 cannot encode, and null for NaN."""
    match value:
        case str():
            # UTF-8 cannot encode half a surrogate pair, which a file name that is not UTF-8 may contain.
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value
