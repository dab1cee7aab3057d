"""The arguments of a tool call: the text that a model wrote, and what it says.

Above it are the assembler and the dialects.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pydantic_core

from jumpseat.wire import LARGE_JSON_BYTES, read_large_json

_LONG_NUMBER = re.compile(r"\d[eE]\+?\d{3}|\d{200}")
"""In every number that is larger than any double."""


def parse_arguments(raw: str) -> tuple[dict[str, Any] | None, str | None]:
    """A call's arguments, or None and a sentence that says why they cannot be read.

    No text, and the text `null`, are how many servers say "no arguments". Nothing is ever repaired.
    """
    text = raw.strip()
    if text in ("", "null"):
        return {}, None
    try:
        # Short ones strictly: a text that the model has cut inside an emoji is an error for it to see.
        is_large = len(text) > LARGE_JSON_BYTES
        arguments = read_large_json(text) if is_large else pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        return None, f"The arguments of the call are not valid JSON: {error}."
    if not isinstance(arguments, dict):
        return None, "The arguments of the call are not a JSON object."
    if _LONG_NUMBER.search(text) and not _is_finite(arguments):
        return None, "The arguments of the call hold a number that is too large."
    return arguments, None


def arguments_text(value: Any) -> str:
    """The JSON text of arguments that a server sends parsed; what it sends as text stays as it is.

    Infinity, as which `1e400` is read, is written as a word, so that the text is no JSON either.
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_finite(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(map(_is_finite, value.values()))
        case list():
            return all(map(_is_finite, value))
        case _:
            return True
