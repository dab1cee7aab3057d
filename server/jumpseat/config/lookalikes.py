"""Finds provider ids that could be mistaken for one another.

There is no table of confusable characters: a character outside ASCII is assumed to resemble any single
character, or to be invisible. This rejects a few harmless ids but never accepts a deceptive one.
"""

from __future__ import annotations

import unicodedata

_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "-": None, "_": None, ".": None})


def looks_like(one: str, other: str) -> bool:
    """Whether two ids differ only in case, separators, and characters that are invisible or look alike.

    The time is proportional to the product of their lengths.
    """
    first, second = _normalize(one), _normalize(other)
    # The lengths of all prefixes of `second` that match the part of `first` read so far.
    reached = _skip_invisible({0}, second)
    for each in first:
        steps = {
            place + 1 for place in reached if place < len(second) and _may_look_like(each, second[place])
        }
        stays = set() if _is_visible_ascii(each) else reached
        reached = _skip_invisible(steps | stays, second)
    return len(second) in reached


def _normalize(name: str) -> str:
    """Return the name with one spelling for similar ASCII characters and for compatibility characters."""
    plain = unicodedata.normalize("NFKC", name).casefold().translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


def _may_look_like(one: str, other: str) -> bool:
    return one == other or not (_is_visible_ascii(one) and _is_visible_ascii(other))


def _skip_invisible(places: set[int], text: str) -> set[int]:
    """Return the positions, and those that can be reached from them by skipping characters outside ASCII."""
    result = set(places)
    for place, each in enumerate(text):
        if place in result and not _is_visible_ascii(each):
            result.add(place + 1)
    return result


def _is_visible_ascii(character: str) -> bool:
    return "!" <= character <= "~"
