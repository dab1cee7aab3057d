"""Whether a person could confuse one provider's id with another.

Uses no table of confusable characters: a character outside ASCII may look like any one character, or like
none. That refuses a few harmless ids and accepts no deceptive one.
"""

from __future__ import annotations

import unicodedata

_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "-": None, "_": None, ".": None})


def looks_like(one: str, other: str) -> bool:
    """Whether ids differ only in case, separators, and characters that are invisible or look alike.

    Takes time proportional to the product of their lengths.
    """
    first, second = _form(one), _form(other)
    # The positions in `second` up to which it can match the part of `first` read so far.
    reached = _past_invisible({0}, second)
    for each in first:
        steps = {place + 1 for place in reached if place < len(second) and _may_be(each, second[place])}
        stays = set() if _is_ascii(each) else reached
        reached = _past_invisible(steps | stays, second)
    return len(second) in reached


def _form(name: str) -> str:
    """One spelling for ASCII characters that look alike and for Unicode's compatible characters."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


def _may_be(one: str, other: str) -> bool:
    return one == other or not (_is_ascii(one) and _is_ascii(other))


def _past_invisible(places: set[int], text: str) -> set[int]:
    """The positions, and those after them that only characters outside ASCII separate from them."""
    result = set(places)
    for place, each in enumerate(text):
        if place in result and not _is_ascii(each):
            result.add(place + 1)
    return result


def _is_ascii(character: str) -> bool:
    return "!" <= character <= "~"
