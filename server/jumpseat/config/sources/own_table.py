"""`schema:a.b`: another value from the provider's table in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource


def _refer(path: str, table: ProviderConfig) -> str:
    value = own_value(table, *path.split("."))
    if not isinstance(value, str | int | float):
        raise SourceError(
            "the provider's table in the file has no text or number there",
            "Write a path in that table, as in schema:settings.temperature.default.",
        )
    return as_text(value)


def _find_fault(path: str, table: ProviderConfig) -> str | None:
    is_value = isinstance(own_value(table, *path.split(".")), str | int | float)
    return None if is_value else "does not refer to a text or number in this table"


def own_value(table: ProviderConfig, *path: str) -> Any:
    """Return the value at a path in the provider's table, as the file defines it; None if there is none."""
    # Ignore the client's overlay, which must not choose a host or a key.
    own = table.origin.table
    value: Any = table if own is None else own
    for name in path:
        value = _get_member(value, name)
    return value


def as_text(value: str | int | float) -> str:
    """Convert a TOML value to text, with `true` and `false` in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _get_member(value: Any, name: str) -> Any:
    if isinstance(value, BaseModel):
        known = name in type(value).model_fields
        return getattr(value, name) if known else (value.model_extra or {}).get(name)
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return None


# It is costly because it may refer to a costly source.
OWN_TABLE = ValueSource(prefix="schema:", refer=_refer, find_fault=_find_fault, costly=True)
