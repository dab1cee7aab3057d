"""The declaration of one kind of provider. Importing a spec does not import an adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from pydantic import BaseModel

from jumpseat.adapters.base.interface import Adapter
from jumpseat.config import ProviderConfig, SettingRow
from jumpseat.http import HttpClient


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """One kind of provider."""

    kind: str
    """The value of `kind` in a provider's table."""

    adapter: str
    """The adapter as `module:class`, constructed with `(provider id, its table, http)`."""

    settings_rows: Mapping[str, SettingRow]
    """The settings that a chat may set, by name; rows of the user's configuration take precedence."""

    options: type[BaseModel] | None = None
    """The pydantic model of the kind's own keys, like `Adapter.options` of a plug-in."""

    source_keys: Sequence[str] = ()
    """The kind's own keys whose value is a value source."""

    user_only: Mapping[str, str] = field(default_factory=dict)
    """The keys that a client may not set for a provider that it adds, each with the reason.

    The reason is the end of a sentence: "names a program".
    """

    display_name: str | None = None
    """The name to show for the built-in provider of this kind; None if there is no such provider."""

    def create(self, provider: str, config: ProviderConfig, http: HttpClient) -> Adapter:
        """Import the adapter's class and construct it.

        Raises:
            ConfigError: the table cannot be used.
        """
        module, _, name = self.adapter.partition(":")
        factory: Callable[[str, ProviderConfig, HttpClient], Adapter] = getattr(import_module(module), name)
        return factory(provider, config, http)
