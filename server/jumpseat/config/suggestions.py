"""Suggestions for a name that does not exist: the nearest existing names."""

from __future__ import annotations

from collections.abc import Iterable

CLOSE = 0.6
"""The similarity of two names, from 0 to 1, from which one is suggested for the other."""
# With this value, one or two of six letters may be wrong.


def nearest(name: str, known: Iterable[str], *, most: int = 1, close: float = CLOSE) -> list[str]:
    """The known names that are most like this one, the best first. Case does not count, nor `-` for `_`.

    Args:
        name: the unknown name.
        known: the names that exist.
        most: how many to give.
        close: as `CLOSE`.
    """
    from difflib import get_close_matches  # Deferred: most names exist.

    # A long name was not mistyped, and a comparison takes time in the product of the lengths.
    by_form = {_form(each): each for each in known if len(each) <= 200}
    return [by_form[each] for each in get_close_matches(_form(name[:200]), by_form, most, close)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` as the end of a sentence; empty if no known name is near."""
    return "".join(f"; did you mean {each}?" for each in nearest(name, known))


def alternatives(name: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, followed by all the names that exist."""
    names = list(known)
    meant = did_you_mean(name, names)
    return f"{meant} There are: {', '.join(names)}" if meant else f"; there are: {', '.join(names)}"


def _form(name: str) -> str:
    return name.casefold().strip().replace("-", "_")
