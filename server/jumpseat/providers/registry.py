"""The providers of one connection: built from its configuration, made on first use.

Adapters come from a table of kinds, by name, so that a provider that is never used is never imported.
Above this package no provider is mentioned by name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from jumpseat.adapters.base import Adapter, Capabilities, CapabilitySource
from jumpseat.auth import AuthStatus
from jumpseat.chat import ChatError, ConfigError, ConnectionError, ModelInfo, RequestError
from jumpseat.config import Config, ProviderConfig, SettingRow
from jumpseat.http import HttpClient
from jumpseat.providers.settings import rows_of

logger = logging.getLogger(__name__)

LISTING_SECONDS = 15.0
"""How long one provider may keep the models of the others waiting."""

KINDS: Mapping[str, str] = {
    "anthropic": "jumpseat.adapters.anthropic:AnthropicAdapter",
    "local": "jumpseat.adapters.local:LocalAdapter",
    "ollama": "jumpseat.adapters.ollama:OllamaAdapter",
    "openai": "jumpseat.adapters.openai:OpenAIAdapter",
    "openai-responses": "jumpseat.adapters.openai_responses:OpenAIResponsesAdapter",
}
"""Where each kind's adapter lives: `module:class`, made with `(provider id, its config, http)`."""

BUILT_IN: Mapping[str, ProviderConfig] = {"local": ProviderConfig(kind="local", name="Local model")}
"""Providers that are present without any configuration."""


@dataclass(frozen=True, slots=True)
class ProviderDescription:
    """What a client is told of one provider."""

    id: str
    name: str
    kind: str
    is_default: bool
    configured: bool
    auth: AuthStatus
    capabilities: Capabilities
    capability_sources: Mapping[str, CapabilitySource]
    settings_schema: Mapping[str, SettingRow]


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider whose models could not be listed, and why."""

    provider: str
    error: ChatError


class Registry:
    """Which providers exist and what is known of them. One for each connection: overlays differ."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._tables: dict[str, ProviderConfig] = {
            name: self._with_kind(name, table) for name, table in {**BUILT_IN, **config.providers}.items()
        }
        self._http = HttpClient()
        self._adapters: dict[str, Adapter] = {}
        self._probed: dict[str, Capabilities] = {}
        self._known_models: dict[str, list[ModelInfo]] = {}
        self._listing: dict[str, asyncio.Lock] = {}

    @staticmethod
    def _with_kind(name: str, table: ProviderConfig) -> ProviderConfig:
        built_in = BUILT_IN.get(name)
        if not table.kind and built_in is not None:
            return table.model_copy(update={"kind": built_in.kind, "name": table.name or built_in.name})
        return table

    @property
    def ids(self) -> Sequence[str]:
        """Every provider's id, built-in ones first."""
        return list(self._tables)

    @property
    def user_defined(self) -> Sequence[str]:
        """The ids that have a table in the user's configuration, or in a client's overlay."""
        return list(self.config.providers)

    def table(self, provider: str) -> ProviderConfig:
        """The provider's configuration.

        Raises:
            RequestError: there is no such provider.
        """
        table = self._tables.get(provider)
        if table is None:
            raise RequestError(
                f"There is no provider named {provider!r}; there are: {', '.join(self.ids)}.",
                provider=provider,
                hint="Add a [providers.NAME] table to the configuration file.",
            )
        return table

    def adapter(self, provider: str) -> Adapter:
        """The provider's adapter, made now if this is its first use.

        Raises:
            RequestError: there is no such provider.
            ConfigError: its kind is unknown.
        """
        made = self._adapters.get(provider)
        if made is None:
            table = self.table(provider)
            where = KINDS.get(table.kind)
            if where is None:
                raise ConfigError(
                    f"providers.{provider}.kind is {table.kind!r}; known kinds are {', '.join(KINDS)}.",
                    provider=provider,
                )
            module, _, name = where.partition(":")
            make: Callable[[str, ProviderConfig, HttpClient], Adapter] = getattr(import_module(module), name)
            made = self._adapters[provider] = make(provider, table, self._http)
        return made

    def capabilities(self, provider: str) -> tuple[Capabilities, dict[str, CapabilitySource]]:
        """What the provider can do, and where each fact comes from.

        The adapter's own facts come first, then the configuration's, then what a probe found.
        """
        static = self.adapter(provider).capabilities
        probed = self._probed.get(provider)
        configured = self.table(provider).capabilities.model_dump(exclude_none=True)
        values: dict[str, bool] = {}
        sources: dict[str, CapabilitySource] = {}
        for name in (field.name for field in fields(static)):
            if probed is not None and getattr(probed, name) is not None:
                values[name], sources[name] = getattr(probed, name), "probe"
            elif name in configured:
                values[name], sources[name] = configured[name], "config"
            else:
                values[name], sources[name] = getattr(static, name), "static"
        return Capabilities(**values), sources

    def settings_rows(self, provider: str) -> dict[str, SettingRow]:
        """The provider's settings schema: its kind's rows, changed and added to by the configuration."""
        return rows_of(self.table(provider))

    def default_settings(self, provider: str) -> Mapping[str, Any]:
        """Values for settings that a chat does not name."""
        by_provider = self.config.settings.get("providers", {})
        found = by_provider.get(provider, {}) if isinstance(by_provider, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    @property
    def default_max_tokens(self) -> int | None:
        """Output tokens for chats that name none, if the user or the client has set them."""
        found = self.config.settings.get("max_tokens")
        return found if type(found) is int and found > 0 else None

    async def auth_status(self, provider: str, *, refresh: bool = False) -> AuthStatus:
        """The provider's own word on its credential."""
        return await self.adapter(provider).auth_status(refresh=refresh)

    def known_models(self, provider: str) -> list[ModelInfo] | None:
        """The provider's list if it was had before; None where nobody has asked yet."""
        return self._known_models.get(provider)

    async def list_models(self, provider: str, *, refresh: bool = False) -> list[ModelInfo]:
        """The provider's models, asked for once and then remembered, unless `refresh`.

        Raises:
            ChatError: the provider did not say.
        """
        lock = self._listing.setdefault(provider, asyncio.Lock())
        async with lock:
            if refresh or provider not in self._known_models:
                self._known_models[provider] = await self.adapter(provider).list_models()
            return self._known_models[provider]

    async def list_all_models(
        self, providers: Sequence[str], *, refresh: bool = False
    ) -> tuple[list[ModelInfo], list[ProviderFailure]]:
        """The models of several providers, asked side by side: one that fails hides no other."""

        async def of(provider: str) -> list[ModelInfo] | ProviderFailure:
            try:
                async with asyncio.timeout(LISTING_SECONDS):
                    return await self.list_models(provider, refresh=refresh)
            except ChatError as error:
                return ProviderFailure(provider, error)
            except TimeoutError:
                told = f"{provider} did not list its models within {LISTING_SECONDS:g} s."
                return ProviderFailure(provider, ConnectionError(told, provider=provider))
            except NotImplementedError:
                return ProviderFailure(
                    provider, RequestError(f"{provider} does not list its models.", provider=provider)
                )
            except Exception:
                logger.exception("listing the models of %s failed", provider)
                told = "The daemon failed while it listed these models; its log says how."
                return ProviderFailure(provider, ChatError(told, provider=provider))

        models: list[ModelInfo] = []
        failures: list[ProviderFailure] = []
        for answer in await asyncio.gather(*map(of, providers)):
            if isinstance(answer, ProviderFailure):
                failures.append(answer)
            else:
                models += answer
        return models, failures

    async def _probe(self, provider: str) -> None:
        """Ask the provider what it can do; what it does not answer stays as it was."""
        try:
            found = await self.adapter(provider).probe()
        except ChatError as error:
            logger.info("probing %s failed: %s", provider, error.message)
            return
        if found is not None:
            self._probed[provider] = found

    async def describe(self, default: str | None, *, probe: bool = False) -> list[ProviderDescription]:
        """Every provider, whether or not it can be used.

        Args:
            default: the default provider's id.
            probe: ask every provider what it can do, over the network.
        """
        if probe:
            await asyncio.gather(*map(self._probe, self.ids))
        rows = []
        for provider in self.ids:
            table = self.table(provider)
            try:
                capabilities, sources = self.capabilities(provider)
                auth = await self.auth_status(provider)
            except ChatError as error:  # One that is set up wrongly hides no other either.
                capabilities = Capabilities()
                sources = {field.name: "static" for field in fields(capabilities)}
                auth = AuthStatus(provider=provider, state="signed_out", message=error.message)
            rows.append(
                ProviderDescription(
                    id=provider,
                    name=table.name or provider,
                    kind=table.kind,
                    is_default=provider == default,
                    configured=auth.state not in ("signed_out", "expired"),
                    auth=auth,
                    capabilities=capabilities,
                    capability_sources=sources,
                    settings_schema=self.settings_rows(provider),
                )
            )
        return rows

    async def aclose(self) -> None:
        """Close every adapter that was made, then the HTTP client they share."""
        for adapter in self._adapters.values():
            await adapter.aclose()
        await self._http.aclose()
