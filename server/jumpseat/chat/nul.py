"""U+0000, which no text of the vocabulary contains: Emacs before 30 cannot read JSON that does.

It becomes U+FFFD when a text is read, before the text is compared, stored or sent.
"""

from __future__ import annotations

from typing import Any, TypeVar

JsonText = TypeVar("JsonText", str, bytes, str | bytes)

REPLACEMENT = "\ufffd"


def replace_nul(text: str) -> str:
    """Return the text with U+FFFD for each U+0000."""
    return text.replace("\0", REPLACEMENT)


def replace_nul_in(value: Any) -> Any:
    """Return a value of JSON with U+FFFD for each U+0000 in its strings and keys."""
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
    """Return the JSON text with the escape of U+FFFD for each escape of U+0000."""
    # The text is split at escaped backslashes, which may stand before the letters of an escape.
    if isinstance(json_text, str):
        if r"\u0000" not in json_text:
            return json_text
        return r"\\".join([part.replace(r"\u0000", r"\ufffd") for part in json_text.split(r"\\")])
    if rb"\u0000" not in json_text:
        return json_text
    return rb"\\".join([part.replace(rb"\u0000", rb"\ufffd") for part in json_text.split(rb"\\")])
