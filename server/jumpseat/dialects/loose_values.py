"""Reads values from a provider's JSON, treating a value of the wrong type as absent.

Compatible servers sometimes send null, numbers in strings, or objects instead of text. A chat must not fail
because of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# JSON readers disagree on larger integers.
_MAX_COUNT = 2**53


def text_in(value: Any) -> str:
    """Return the text; "" for anything else."""
    return value if isinstance(value, str) else ""


def texts_in(value: Any) -> list[str]:
    """Return the texts in a list; other items are skipped."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def mapping_in(value: Any) -> Mapping[str, Any]:
    """Return the object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list; other items are skipped."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number_in(value: Any) -> float | None:
    """Return the number; None for anything else, and for NaN and numbers of 2**53 or more."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_COUNT
    return value if is_number else None


def count_in(value: Any) -> int | None:
    """Return the number as an integer, or 0 if it is negative; None for anything else."""
    number = number_in(value)
    return None if number is None else max(0, int(number))


def limit_in(value: Any) -> int | None:
    """Return the integer if it is at least 1; None for anything else."""
    return value if type(value) is int and value > 0 else None


def moment_in(value: Any) -> datetime | None:
    """Convert a date, an RFC 3339 time or positive Unix seconds to UTC; a time without a zone counts as UTC.

    Return None for anything else, and for a time that `datetime` cannot represent in UTC.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC) if value > 0 else None
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
