"""Suggests existing names for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

CLOSE = 0.6
"""The minimum similarity, from 0 to 1, for suggesting a name."""
# With this value, one or two letters in six may be wrong.


def find_similar(name: str, known: Iterable[str], *, most: int = 1, close: float = CLOSE) -> list[str]:
    """Return the known names that are most similar to `name`, the best first.

    Ignores case and treats `-` as `_`.

    Args:
        most: the maximum number of results.
        close: the minimum similarity; see `CLOSE`.
    """
    from difflib import get_close_matches  # Imported late: most names are correct.

    # Skip long known names and shorten `name`: the time for a comparison grows with both lengths.
    by_form = {_normalize(each): each for each in known if len(each) <= 200}
    return [by_form[each] for each in get_close_matches(_normalize(name[:200]), by_form, most, close)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` as the end of a sentence, or an empty string if no name is similar."""
    return "".join(f"; did you mean {each}?" for each in find_similar(name, known))


def alternatives(name: str, known: Iterable[str]) -> str:
    """Return the text of `did_you_mean`, followed by all names that exist."""
    names = list(known)
    meant = did_you_mean(name, names)
    return f"{meant} Available: {', '.join(names)}" if meant else f"; available: {', '.join(names)}"


def _normalize(name: str) -> str:
    return name.casefold().strip().replace("-", "_")
