"""One model under several spellings: which name of a list is meant.

Owns the rule that `claude-sonnet-4-5-20250929` and `claude-sonnet-4.5` are one name, and where it ends.
Does no I/O.

A name is taken apart into a vendor (`anthropic/…`), a stem and a version (a date at its end, or `latest`).
Case, and which of `.`, `-` and `_` separates, do not count. Two names may mean one model if their stems are
the same, and their vendors and versions do not contradict each other: one that is absent fits any. So no
dated name ever becomes another date's, and no vendor's model another vendor's.
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
    """A name, taken apart."""

    vendor: str
    """What stands before the last slash; empty where there is none."""

    stem: str
    """The rest, in lower case, separated by `-` alone, without its version."""

    version: str
    """A date as eight digits, `latest`, or nothing."""

    date_form: DateForm = ""

    def may_mean(self, other: Spelling) -> bool:
        """Whether a name in this spelling may mean a listed one that is written so."""
        return (
            self.stem == other.stem != ""
            and (self.vendor == other.vendor or not self.vendor or not other.vendor)
            # The latest may be any of the dated ones; a dated one need not be the latest.
            and (self.version in (other.version, "", LATEST) or not other.version)
        )


@lru_cache(maxsize=4096)
def spelling(name: str) -> Spelling:
    """Take a name apart."""
    text = name.strip().casefold()
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


def normalised(name: str) -> str:
    """One spelling for all spellings of a name: `vendor/stem-date`; normalising it again changes nothing."""
    listed_as = spelling(name)
    vendor = f"{listed_as.vendor}/" if listed_as.vendor else ""
    return f"{vendor}{listed_as.stem}{'-' if listed_as.version else ''}{listed_as.version}"


def candidates(name: str, listed: Iterable[str], *, complete: bool = True) -> list[str]:
    """The names of a list that a name means: one, none, or several that fit equally well.

    An exact match is the only one. Else the closest are taken: the same version precedes an absent one, then
    the same vendor an absent one. `…-latest` means the newest of those that differ in the date.

    Args:
        name: the name to look up.
        listed: the names of one provider, each once.
        complete: whether that is all the provider has. If not, the provider may know a dated name that is not
            listed, so a date counts, unless the list shows that the provider never writes dates in that form.
    """
    names = list(listed)
    if name in names:
        return [name]
    wanted = spelling(name)
    fitting = [(each, listed_as) for each in names if wanted.may_mean(listed_as := spelling(each))]
    if not _drops_the_date(wanted, map(spelling, names), complete=complete):
        fitting = [(each, listed_as) for each, listed_as in fitting if listed_as.version == wanted.version]
    if not fitting:
        return []
    best = max(_closeness(wanted, listed_as) for _, listed_as in fitting)
    closest = [(each, listed_as) for each, listed_as in fitting if _closeness(wanted, listed_as) == best]
    if wanted.version == LATEST:
        newest = max(listed_as.version for _, listed_as in closest)
        closest = [(each, listed_as) for each, listed_as in closest if listed_as.version == newest]
    return [each for each, _ in closest]


def _drops_the_date(wanted: Spelling, listed: Iterable[Spelling], *, complete: bool) -> bool:
    """Whether an undated name of the list may stand for a dated one; true where there is no date to drop."""
    if not wanted.version:
        return True
    spelled = list(listed)
    if wanted.version != LATEST and any(each.stem == wanted.stem and each.date_form for each in spelled):
        return False  # This very model is listed by date, and not with this one.
    if complete:
        return True
    # Dashed dates are left alone: who writes them has names with and without a date side by side.
    return wanted.date_form == "compact" and all(each.date_form != "compact" for each in spelled)


def _closeness(wanted: Spelling, listed_as: Spelling) -> tuple[bool, bool, bool]:
    return wanted.version == listed_as.version, not listed_as.version, wanted.vendor == listed_as.vendor
