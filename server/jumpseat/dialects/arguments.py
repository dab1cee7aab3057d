"""Converts the arguments of a tool call from the model's text to an object, and back."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from jumpseat.wire import has_half, read_json

# This matches every number that is too large for a double, and some others.
_LONG_NUMBER = re.compile(r"\d[eE]\+?\d{3}|\d{200}")


def parse_arguments(raw: str) -> tuple[dict[str, Any] | None, str | None]:
    """Return the arguments and None, or None and a sentence that describes the error."""
    # Malformed JSON is not repaired: a guess could run a tool with arguments that the model did not write.
    text = raw.strip()
    if text in ("", "null"):  # Many servers send these for a call without arguments.
        return {}, None
    try:
        arguments = read_json(text)
    except ValueError as error:
        return None, f"The arguments of the call are not valid JSON: {error}."
    if not isinstance(arguments, dict):
        return None, "The arguments of the call are not a JSON object."
    if has_half(text):
        return None, "The arguments of the call are not valid JSON: a surrogate pair is incomplete."
    if _LONG_NUMBER.search(text) and not _is_finite(arguments):
        return None, "The arguments of the call contain a number that is too large."
    return arguments, None


def arguments_text(value: Any) -> str:
    """Return the arguments as JSON text, whether the server sent an object or text."""
    if value is None or isinstance(value, str):
        return value or ""
    # `1e400` was parsed as infinity and is written as `Infinity`, which `parse_arguments` rejects.
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
