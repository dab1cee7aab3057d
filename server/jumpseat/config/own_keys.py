"""Checks the keys that only one kind of provider has, and finds unknown keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from jumpseat.config.config import Config
from jumpseat.config.faults import UnknownKey, find_unknown_keys
from jumpseat.config.schema import ProviderConfig


class Kind(Protocol):
    """A kind of provider, as the configuration sees it."""

    @property
    def options(self) -> type[BaseModel] | None:
        """The pydantic model of the kind's own keys."""

    @property
    def user_only(self) -> Mapping[str, str]:
        """Keys that a client may not set on a provider that it adds. Each value is the reason as a clause."""


Kinds: TypeAlias = Mapping[str, Kind]
"""The built-in kinds by name. A look-up may import the kind's module."""


def kind_of(name: str, kind: object, kinds: Kinds | None) -> Kind | None:
    """Return the built-in kind of a provider's table; None if its kind is not built in.

    If a table has no `kind`, its name is its kind.

    Args:
        name: the name of the table, which is the provider's id.
        kind: the value of `kind` in the table.
        kinds: the built-in kinds of providers.
    """
    return (kinds or {}).get(kind if isinstance(kind, str) and kind else name)


def own_keys(model: type[BaseModel] | None) -> tuple[str, ...]:
    """Return the keys that a kind's `options` declare: names and aliases."""
    fields = model.model_fields if model is not None else {}
    return tuple(dict.fromkeys(key for name, field in fields.items() for key in (name, field.alias or name)))


def errors_in_own_keys(tables: Mapping[str, Any], kinds: Kinds | None) -> Iterator[ErrorDetails]:
    """Yield pydantic's errors for every provider's own keys, with paths from the top of the file."""
    providers = tables.get("providers")
    for name, table in providers.items() if isinstance(providers, Mapping) else ():
        kind = kind_of(name, table.get("kind"), kinds) if isinstance(table, Mapping) else None
        if kind is None or kind.options is None:
            continue
        own = {key: value for key, value in table.items() if key not in ProviderConfig.model_fields}
        try:
            kind.options.model_validate(own)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_input=False):
                yield {**each, "loc": ("providers", name, *each["loc"])}


def is_from_plugin(table: ProviderConfig, kinds: Collection[str] | None) -> bool:
    """Whether a plug-in defines the kind of this table."""
    return kinds is not None and bool(table.kind) and table.kind not in kinds


def unknown_keys(config: Config, kinds: Kinds | None) -> list[UnknownKey]:
    """Return the unknown keys, sorted by path. Plug-ins check their own keys."""
    unknown = []
    for each in sorted(find_unknown_keys(config), key=lambda each: each.key):
        if len(each.path) == 3 and each.path[0] == "providers":
            _, name, key = map(str, each.path)
            table = config.providers[name]
            kind = kind_of(name, table.kind, kinds)
            own = own_keys(kind.options if kind is not None else None)
            if key in own or is_from_plugin(table, kinds):
                continue
            each = UnknownKey(each.path, (*each.known, *own))
        unknown.append(each)
    return unknown
