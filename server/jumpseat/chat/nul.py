"""Replaces U+0000 with U+FFFD in every text, because Emacs before 30 cannot parse JSON with U+0000.

The characters of a text are replaced when it is read, before it is compared, stored or sent.
"""

from __future__ import annotations

from typing import Any, TypeVar

JsonText = TypeVar("JsonText", str, bytes, str | bytes)

REPLACEMENT = "\ufffd"


def replace_nul(text: str) -> str:
    """Replace each U+0000 in the text with U+FFFD."""
    return text.replace("\0", REPLACEMENT)


def replace_nul_in(value: Any) -> Any:
    """Replace each U+0000 in the strings and keys of a JSON value with U+FFFD."""
    match value:
        case str():
            return replace_nul(value)
        case dict():
            return {replace_nul(key): replace_nul_in(item) for key, item in value.items()}
        case list():
            return [replace_nul_in(item) for item in value]
        case _:
            return value


def replace_escaped_nul(json_text: JsonText) -> JsonText:
    """Replace each escaped U+0000 in a JSON text with an escaped U+FFFD."""
    # Split the text at escaped backslashes, because the text after one may look like an escape. For example,
    # `\\u0000` is a backslash and the plain text `u0000`.
    if isinstance(json_text, str):
        if r"\u0000" not in json_text:
            return json_text
        return r"\\".join([part.replace(r"\u0000", r"\ufffd") for part in json_text.split(r"\\")])
    if rb"\u0000" not in json_text:
        return json_text
    return rb"\\".join([part.replace(rb"\u0000", rb"\ufffd") for part in json_text.split(rb"\\")])
