"""The kinds of providers, those that are there without configuration, and the tables of a configuration.

Above it is the registry. Above this package no provider is mentioned by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from jumpseat.config import Config, ProviderConfig

KINDS: Mapping[str, str] = {
    "anthropic": "jumpseat.adapters.anthropic.adapter:AnthropicAdapter",
    "copilot": "jumpseat.adapters.github.copilot.adapter:CopilotAdapter",
    "copilot-language-server": "jumpseat.adapters.github.language_server.adapter:LanguageServerAdapter",
    "local": "jumpseat.adapters.local.adapter:LocalAdapter",
    "ollama": "jumpseat.adapters.ollama.adapter:OllamaAdapter",
    "openai": "jumpseat.adapters.openai.adapter:OpenAIAdapter",
    "openai-responses": "jumpseat.adapters.openai.responses:OpenAIResponsesAdapter",
}
"""Where each kind's adapter lives: `module:class`, made with `(provider id, its config, http)`."""

BUILT_IN: Mapping[str, ProviderConfig] = {
    "copilot": ProviderConfig(kind="copilot", name="GitHub Copilot"),
    "local": ProviderConfig(kind="local", name="Local model"),
}
"""Providers that are present without any configuration, the one first that is the default if it can be."""

SIGN_IN_PROVIDER = "copilot"
"""Whom a client means that asks to sign in and names nobody."""


def tables_of(config: Config) -> dict[str, ProviderConfig]:
    """Every provider's table by its id, built-in ones first.

    One whose table is wrong has one of its kind alone: it is a provider, which its adapter's error explains.
    """
    broken = {name: ProviderConfig(kind=config.kinds_of_faulty.get(name, "")) for name in config.faults}
    return {
        name: _with_kind(name, table) for name, table in {**BUILT_IN, **config.providers, **broken}.items()
    }


def _with_kind(name: str, table: ProviderConfig) -> ProviderConfig:
    built_in = BUILT_IN.get(name)
    if not table.kind and built_in is not None:
        return table.model_copy(update={"kind": built_in.kind, "name": table.name or built_in.name})
    return table
