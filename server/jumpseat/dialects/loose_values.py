"""Values out of a provider's JSON: one of another kind than it should be counts as absent.

Imitators put null, numbers in strings and objects where text should be; none of that may end a chat. Above it
are the dialects and the adapters.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_MAX_COUNT = 2**53
"""Beyond this a number is no count, and JSON's readers no longer agree on it."""


def text_in(value: Any) -> str:
    """The text; "" where there is none."""
    return value if isinstance(value, str) else ""


def texts_in(value: Any) -> list[str]:
    """The texts of a list, without whatever else it holds."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def mapping_in(value: Any) -> Mapping[str, Any]:
    """The object; an empty one where there is none."""
    return value if isinstance(value, Mapping) else {}


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list, without whatever else it holds."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def number_in(value: Any) -> float | None:
    """The number; None for NaN, and for 1e999, which is read as infinity: they count nothing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_COUNT
    return value if is_number else None


def count_in(value: Any) -> int | None:
    """How many there are, at least 0; None where that is not said."""
    number = number_in(value)
    return None if number is None else max(0, int(number))


def limit_in(value: Any) -> int | None:
    """A limit, at least 1; None where that is not said."""
    return value if type(value) is int and value > 0 else None


def moment_in(value: Any) -> datetime | None:
    """A date, a moment of RFC 3339, or seconds since 1970, as UTC's; UTC where no zone is said.

    None for anything else, a moment that no calendar of UTC holds included.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC) if value > 0 else None
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
