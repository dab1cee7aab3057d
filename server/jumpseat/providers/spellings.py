"""Matches spellings of model names: `claude-sonnet-4-5-20250929` and `claude-sonnet-4.5` are the same model.

A name consists of a vendor (`anthropic/…`), a stem and a version (a date, or `latest`). Case and separators
(`.`, `-`, `_`) are ignored. Two names match if their stems are equal and their vendors and versions do not
differ; a missing vendor or version matches any. A name that ends in `latest` also matches dated names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

LATEST = "latest"

DateForm: TypeAlias = Literal["", "compact", "dashed"]
"""`20250929` is compact, `2025-09-29` is dashed."""

_SEPARATORS = re.compile(r"[._\s-]+")
_YEAR = r"20[2-9]\d"
_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_COMPACT = re.compile(rf"[-@]({_YEAR}{_MONTH}{_DAY})$")
_DASHED = re.compile(rf"-({_YEAR})-({_MONTH})-({_DAY})$")
_LATEST = re.compile(r"[-:@]latest$")


@dataclass(frozen=True, slots=True)
class Spelling:
    """The parts of a model name."""

    vendor: str
    """The part before the last slash; empty if there is none."""

    stem: str
    """The rest without the version, in lower case, with `-` as the only separator."""

    version: str
    """A date as eight digits, `latest`, or empty."""

    date_form: DateForm = ""

    def can_mean(self, other: Spelling) -> bool:
        """Whether a name with this spelling may refer to a listed name with the other spelling."""
        return (
            self.stem == other.stem != ""
            and (self.vendor == other.vendor or not self.vendor or not other.vendor)
            # `latest` may refer to any dated name, but a dated name does not refer to `latest`.
            and (self.version in (other.version, "", LATEST) or not other.version)
        )


@lru_cache(maxsize=4096)
def parse_spelling(name: str) -> Spelling:
    """Parse a model name."""
    text = name.strip().casefold()
    # Gemini's own list uses this prefix.
    while text.startswith("models/"):
        text = text.removeprefix("models/").strip()
    vendor, _, last = text.rpartition("/")
    stem = _SEPARATORS.sub("-", last).strip("-")
    version = ""
    form: DateForm = ""
    if found := _COMPACT.search(stem):
        version, form = found[1], "compact"
    elif found := _DASHED.search(stem):
        version, form = found[1] + found[2] + found[3], "dashed"
    elif found := _LATEST.search(stem):
        version = LATEST
    return Spelling(vendor.strip(), (stem[: found.start()] if found else stem).strip("-"), version, form)


def find_candidates(name: str, listed: Iterable[str], *, complete: bool = True) -> list[str]:
    """Return the listed names that match a name best: one, none or several.

    An exact match excludes all others. Otherwise an equal version is better than a missing one. Only if this
    leaves several names, an equal vendor is better than a missing one. `…-latest` matches the newest of the
    names that differ only in the date.

    Args:
        name: the name to look up.
        listed: the names of one provider, each once.
        complete: whether `listed` contains all models of the provider. If not, it may lack the dated model
            that `name` means. A dated name then matches an undated one only if the date is compact and no
            listed name has a compact date.
    """
    names = list(listed)
    if name in names:
        return [name]
    searched = parse_spelling(name)
    fitting = [(each, listed_as) for each in names if searched.can_mean(listed_as := parse_spelling(each))]
    if not _may_drop_date(searched, map(parse_spelling, names), complete=complete):
        fitting = [(each, listed_as) for each, listed_as in fitting if listed_as.version == searched.version]
    if not fitting:
        return []
    best = max(_rate(searched, listed_as) for _, listed_as in fitting)
    closest = [(each, listed_as) for each, listed_as in fitting if _rate(searched, listed_as) == best]
    if searched.version == LATEST:
        newest = max(listed_as.version for _, listed_as in closest)
        closest = [(each, listed_as) for each, listed_as in closest if listed_as.version == newest]
    return [each for each, _ in closest]


def _may_drop_date(searched: Spelling, listed: Iterable[Spelling], *, complete: bool) -> bool:
    """Whether the searched name may match an undated name of the list."""
    if not searched.version:
        return True
    spelled = list(listed)
    if searched.version != LATEST and any(each.stem == searched.stem and each.date_form for each in spelled):
        return False  # The list contains this model with other dates.
    if complete:
        return True
    # Providers that use dashed dates offer a model under its dated and its undated name, so the dated name
    # probably exists too.
    return searched.date_form == "compact" and all(each.date_form != "compact" for each in spelled)


def _rate(searched: Spelling, listed_as: Spelling) -> tuple[bool, bool, bool]:
    return searched.version == listed_as.version, not listed_as.version, searched.vendor == listed_as.vendor
