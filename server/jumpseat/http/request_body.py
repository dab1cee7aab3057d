"""Serializes the JSON bodies of requests; long ones piece by piece in a worker thread.

The serializer holds the GIL until it returns, so serializing a long conversation in one call would block all
other chats.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from jumpseat.chat import RequestError
from jumpseat.system.threads import compute
from jumpseat.wire import LONG_JSON_BYTES

PIECE = 64 * 1024
"""The maximum number of characters of a text to serialize in one call."""

DEPTH = 5
"""The depth to which a long body is divided. The text in a block of a message is at this depth."""

MAX_VALUES = 2000
"""The number of values above which a body is long."""


async def serialize(body: Any, provider: str) -> bytes:
    """Return the JSON text of a request's body.

    Raises:
        RequestError: the body has a number that JSON does not support.
    """
    long = _is_long(body)
    return await compute(long, _serialize, body, provider, long)


def _is_long(body: Any) -> bool:
    values = [(body, DEPTH)]
    count = size = 0
    while values:
        value, depth = values.pop()
        count += 1
        if isinstance(value, str):
            size += len(value)
        elif depth and isinstance(value, dict | list):
            if len(value) > MAX_VALUES:
                return True
            inner = value.values() if isinstance(value, dict) else value
            values += [(each, depth - 1) for each in inner]
        if size > LONG_JSON_BYTES or count > MAX_VALUES:
            return True
    return False


def _serialize(body: Any, provider: str, long: bool) -> bytes:
    pieces: list[bytes] = []
    try:
        if not long:
            return _serialize_value(body)
        _write(body, DEPTH, pieces)
        return b"".join(pieces)
    except PydanticSerializationError:
        # Either the body has an unpaired surrogate, because an editor has split a character, or the body is
        # nested deeper than `to_json` supports.
        with contextlib.suppress(ValueError):
            return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except _NotFiniteError:
        pass
    raise RequestError(
        f"The request to {provider} has a number that JSON does not support: NaN or infinity.",
        provider=provider,
    )


class _NotFiniteError(Exception):
    pass


def _write(value: Any, depth: int, pieces: list[bytes]) -> None:
    """Append the JSON text in pieces; an array or object that is `depth` levels down is not divided."""
    if isinstance(value, str) and len(value) > PIECE:
        pieces.append(b'"')
        pieces.extend(to_json(value[start : start + PIECE])[1:-1] for start in range(0, len(value), PIECE))
        pieces.append(b'"')
    elif depth and value and isinstance(value, list):
        for number, each in enumerate(value):
            pieces.append(b"," if number else b"[")
            _write(each, depth - 1, pieces)
        pieces.append(b"]")
    elif depth and value and isinstance(value, dict) and not _is_flat(value):
        for number, (key, each) in enumerate(value.items()):
            pieces += (b"," if number else b"{", to_json(key), b":")
            _write(each, depth - 1, pieces)
        pieces.append(b"}")
    else:
        pieces.append(_serialize_value(value))


def _is_flat(value: dict[Any, Any]) -> bool:
    """Whether an object has only short texts."""
    return all(isinstance(each, str) and len(each) <= PIECE for each in value.values())


def _serialize_value(value: Any) -> bytes:
    text = to_json(value, inf_nan_mode="constants")
    # The two modes differ only in numbers, not in strings that contain these words.
    if (b"NaN" in text or b"Infinity" in text) and text != to_json(value, inf_nan_mode="null"):
        raise _NotFiniteError
    return text
