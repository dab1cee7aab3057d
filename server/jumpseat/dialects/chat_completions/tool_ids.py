"""Ids of tool calls for servers that take one form of them only.

Mistral wants exactly nine letters and digits, else the answer is an error 400 with the code 3280 (the
openai-chat reference, "Reasoning in chat/completions"). Owns the map from our ids to theirs, which is made
anew for each request: the conversation keeps the ids it has. Above it is the encoder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

LENGTH = 9

_FITS = re.compile(rf"[a-zA-Z0-9]{{{LENGTH}}}")


def nine_character_ids(ids: Iterable[str]) -> dict[str, str]:
    """For each id one of nine letters and digits; ids that have that form stay as they are.

    The same conversation gives the same ids, also when it has grown, so that a server's prompt cache holds.
    """
    wanted = dict.fromkeys(ids)
    mapped = {each: each for each in wanted if _FITS.fullmatch(each)}
    taken = set(mapped)
    for each in wanted:
        attempt = 0
        while each not in mapped:
            digest = hashlib.sha256(f"{each}/{attempt}".encode("utf-8", "surrogatepass")).hexdigest()
            if digest[:LENGTH] not in taken:
                mapped[each] = digest[:LENGTH]
                taken.add(digest[:LENGTH])
            attempt += 1
    return mapped
