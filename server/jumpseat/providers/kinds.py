"""The built-in kinds of providers, and the provider tables of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from jumpseat.adapters.base.spec import ProviderSpec
from jumpseat.config import Config, ProviderConfig


class Specs(Mapping[str, ProviderSpec]):
    """Specs by kind, each imported when first looked up."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        """
        Args:
            rows: `module:name` of each kind's spec.
        """
        self._rows = rows
        self._specs: dict[str, ProviderSpec] = {}

    def __getitem__(self, kind: str) -> ProviderSpec:
        if kind not in self._specs:
            module, _, name = self._rows[kind].partition(":")
            self._specs[kind] = getattr(import_module(module), name)
        return self._specs[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


KINDS = Specs(
    {
        "anthropic": "jumpseat.adapters.anthropic.spec:ANTHROPIC",
        "copilot": "jumpseat.adapters.github.copilot.spec:COPILOT",
        "copilot-language-server": "jumpseat.adapters.github.language_server.spec:LANGUAGE_SERVER",
        "local": "jumpseat.adapters.local.spec:LOCAL",
        "ollama": "jumpseat.adapters.ollama.spec:OLLAMA",
        "openai": "jumpseat.adapters.openai.spec:OPENAI",
        "openai-responses": "jumpseat.adapters.openai.spec:RESPONSES",
    }
)

BUILT_IN = ("copilot", "local")
"""The built-in providers, which exist without configuration. Each has the name of its kind.

When a default provider is chosen, they are tried in this order.
"""

SIGN_IN_PROVIDER = "copilot"
"""The provider of a sign-in request that does not name one."""


def merge_tables(config: Config) -> dict[str, ProviderConfig]:
    """Return every provider's table by id, built-in providers first.

    An invalid table is reduced to its kind. `Registry.adapter` raises the error of the table.
    """
    built_in = {kind: ProviderConfig(kind=kind, name=KINDS[kind].display_name) for kind in BUILT_IN}
    kinds = config.kinds_of_faulty_providers
    broken = {name: ProviderConfig(kind=kinds.get(name, "")) for name in config.faults}
    for table in (*built_in.values(), *broken.values()):
        table.set_environment(config.environment)
    tables = {**built_in, **config.providers, **broken}
    for name, table in tables.items():
        # A table that only changes a built-in provider may omit `kind`.
        if not table.kind and name in BUILT_IN:
            completed = {"kind": name, "name": table.name or built_in[name].name}
            tables[name] = table.model_copy(update=completed)
    return tables
