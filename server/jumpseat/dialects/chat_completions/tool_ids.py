"""Converts the ids of tool calls for servers that require nine letters and digits.

Mistral answers other ids with an error 400, code 3280. Only the request uses the new ids; the conversation
does not change. Source: `tests/dialect_rows/chat_completions.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LENGTH = 9

_FITS = re.compile(rf"[a-zA-Z0-9]{{{LENGTH}}}")


def nine_character_ids(ids: Iterable[str]) -> dict[str, str]:
    """Map each id to an id of nine letters and digits; an id that already has this form is unchanged."""
    # Use a digest, not a count: the ids of earlier calls must not change, or the prompt cache is invalidated.
    unique = dict.fromkeys(ids)
    mapped = {each: each for each in unique if _FITS.fullmatch(each)}
    taken = set(mapped)
    for each in unique:
        attempt = 0
        while each not in mapped:
            digest = hashlib.sha256(f"{each}/{attempt}".encode("utf-8", "surrogatepass")).hexdigest()
            if digest[:LENGTH] not in taken:
                mapped[each] = digest[:LENGTH]
                taken.add(digest[:LENGTH])
            attempt += 1
    return mapped
