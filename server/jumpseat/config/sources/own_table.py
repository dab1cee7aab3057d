"""`schema:a.b`: another value of the provider's own table, as the file has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource


def _refer(path: str, table: ProviderConfig) -> str:
    found = own_value(table, *path.split("."))
    if not isinstance(found, str | int | float):
        raise SourceError(
            "the provider's table in the file has no text or number there",
            "It is a path in that table, as in schema:settings.temperature.default.",
        )
    return as_text(found)


def _fault(path: str, table: ProviderConfig) -> str | None:
    found = own_value(table, *path.split("."))
    is_value = isinstance(found, str | int | float)
    return None if is_value else "names a place of this table that has no text or number"


def own_value(table: ProviderConfig, *path: str) -> Any:
    """The value at a path of a table as the file has it; None where there is none.

    A client's overlay of the table is not used: it must not choose a host or a key.
    """
    own = table.origin.table
    found: Any = table if own is None else own
    for name in path:
        found = _step(found, name)
    return found


def as_text(value: str | int | float) -> str:
    """A value of TOML as text; true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _step(found: Any, name: str) -> Any:
    if isinstance(found, BaseModel):
        known = name in type(found).model_fields
        return getattr(found, name) if known else (found.model_extra or {}).get(name)
    if isinstance(found, Mapping):
        return found.get(name)
    if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
        return found[int(name)]
    return None


OWN_TABLE = ValueSource(prefix="schema:", refer=_refer, fault=_fault, costly=True)
