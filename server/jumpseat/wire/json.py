"""Reading JSON strictly, but for one thing that real senders do: halves of surrogate pairs.

A text that an editor or a tokenizer cut inside an emoji is written `"\\ud83d"`. RFC 8259 (section 8.2)
allows the escape and leaves its meaning open; a request must not go unanswered, and an answer not be lost,
because of it.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json

# Escaped backslashes first, so that the text `\\ud83d` stays what it is; whole pairs next.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HAS_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(text: bytes | str, *, allow_inf_nan: bool = False) -> Any:
    """The value of a JSON text in UTF-8; half a surrogate pair becomes U+FFFD.

    Args:
        text: the JSON text.
        allow_inf_nan: take NaN and infinities, which are not JSON, for what they are meant to be.

    Raises:
        ValueError: it is not JSON; bad UTF-8 and very deep nesting are refused too.
    """
    try:
        return from_json(text, allow_inf_nan=allow_inf_nan)
    except ValueError:
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if not _HAS_SURROGATES.search(raw):
            raise
        return from_json(_ESCAPES.sub(_whole, raw), allow_inf_nan=allow_inf_nan)


def _whole(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape["half"] is None else rb"\ufffd"
