"""The keys of one kind of provider, beside the common ones: their faults, and unknown keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from jumpseat.config.config import Config
from jumpseat.config.faults import UnknownKey, unknown_in
from jumpseat.config.schema import ProviderConfig


class Kind(Protocol):
    """What a kind of provider declares for the configuration."""

    @property
    def options(self) -> type[BaseModel] | None:
        """The model of its own keys."""

    @property
    def user_only(self) -> Mapping[str, str]:
        """Keys that a client may not set on a provider that it adds, each with the reason as a clause."""


Kinds: TypeAlias = Mapping[str, Kind]
"""The built-in kinds by name. Looking one up may import it."""


def kind_of(name: str, kind: object, kinds: Kinds | None) -> Kind | None:
    """The built-in kind of a table; a provider that exists without configuration needs no `kind`."""
    return (kinds or {}).get(kind if isinstance(kind, str) and kind else name)


def own_keys(model: type[BaseModel] | None) -> tuple[str, ...]:
    """The keys that a model of options declares, by name and by alias."""
    fields = model.model_fields if model is not None else {}
    return tuple(dict.fromkeys(key for name, field in fields.items() for key in (name, field.alias or name)))


def errors_in_own_keys(tables: Mapping[str, Any], kinds: Kinds | None) -> Iterator[ErrorDetails]:
    """Pydantic's errors in the own keys of every provider, with paths from the top of the file."""
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


def is_of_a_plugin(table: ProviderConfig, kinds: Collection[str] | None) -> bool:
    """Whether the kind of this table is not a built-in one."""
    return kinds is not None and bool(table.kind) and table.kind not in kinds


def unknown_keys(config: Config, kinds: Kinds | None) -> list[UnknownKey]:
    """Keys that have no meaning, in the order of their paths; plug-ins check their own keys."""
    unknown = []
    for each in sorted(unknown_in(config), key=lambda each: each.key):
        if len(each.path) == 3 and each.path[0] == "providers":
            _, name, key = map(str, each.path)
            table = config.providers[name]
            kind = kind_of(name, table.kind, kinds)
            own = own_keys(kind.options if kind is not None else None)
            if key in own or is_of_a_plugin(table, kinds):
                continue
            each = UnknownKey(each.path, (*each.known, *own))
        unknown.append(each)
    return unknown
