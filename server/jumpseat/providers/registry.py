"""The providers of one connection: built from its configuration, made on first use.

Adapters come from a table of kinds, by name, so that a provider that is never used is never imported.
Above this package no provider is mentioned by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from jumpseat.adapters.base import Adapter, Capabilities, CapabilitySource, ClientInfo
from jumpseat.auth import AuthStatus
from jumpseat.chat import ChatError, ConnectionError, ModelInfo, RequestError
from jumpseat.config import Config, ProviderConfig, SavedSettings, SettingRow
from jumpseat.config.watch import INTERVAL_SECONDS, Stamp, stamp_of
from jumpseat.http import HttpClient
from jumpseat.providers.changes import AuthChanged, Change, Changes, ModelsChanged, OnChange, ProvidersChanged
from jumpseat.providers.facts import KnownModel, known_by_name
from jumpseat.providers.lists import ModelLists
from jumpseat.providers.plugins import Plugins
from jumpseat.providers.settings import rows_of

logger = logging.getLogger(__name__)

LISTING_SECONDS = 15.0
"""How long one provider may keep the models of the others waiting."""

KINDS: Mapping[str, str] = {
    "anthropic": "jumpseat.adapters.anthropic:AnthropicAdapter",
    "copilot": "jumpseat.adapters.copilot:CopilotAdapter",
    "local": "jumpseat.adapters.local:LocalAdapter",
    "ollama": "jumpseat.adapters.ollama:OllamaAdapter",
    "openai": "jumpseat.adapters.openai:OpenAIAdapter",
    "openai-responses": "jumpseat.adapters.openai_responses:OpenAIResponsesAdapter",
}
"""Where each kind's adapter lives: `module:class`, made with `(provider id, its config, http)`."""

BUILT_IN: Mapping[str, ProviderConfig] = {
    "copilot": ProviderConfig(kind="copilot", name="GitHub Copilot"),
    "local": ProviderConfig(kind="local", name="Local model"),
}
"""Providers that are present without any configuration; the first one comes first in the choice of a default."""

SIGN_IN_PROVIDER = "copilot"
"""Whom a client means that asks to sign in and names nobody."""


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

    def __init__(self, config: Config, saved: SavedSettings | None = None) -> None:
        """
        Args:
            config: the user's configuration, with the client's overlay on it.
            saved: what clients had saved; None for settings that end with the registry.
        """
        self.config = config
        self.saved = saved or SavedSettings()
        self.client_info: ClientInfo | None = None
        """Who is attached; adapters made from here on are told."""

        self._missing_default: str | None = None
        self._tables: dict[str, ProviderConfig] = {
            name: self._with_kind(name, table) for name, table in {**BUILT_IN, **config.providers}.items()
        }
        self._http = HttpClient()
        self._plugins = Plugins(KINDS)
        self._adapters: dict[str, Adapter] = {}
        self._probed: dict[str, Capabilities] = {}
        self._lists = ModelLists(
            self.adapter,
            self.table,
            self.prepare,
            lambda provider: self.announce(ModelsChanged(provider)),
        )
        self._accounts: dict[str, tuple[str, str | None]] = {}
        self._changes = Changes()

    @staticmethod
    def _with_kind(name: str, table: ProviderConfig) -> ProviderConfig:
        built_in = BUILT_IN.get(name)
        if not table.kind and built_in is not None:
            return table.model_copy(update={"kind": built_in.kind, "name": table.name or built_in.name})
        return table

    def subscribe(self, listener: OnChange) -> Callable[[], None]:
        """Hear of changes to models, providers and credentials; the returned function ends that."""
        return self._changes.subscribe(listener)

    def announce(self, change: Change) -> None:
        """Tell those who subscribed of a change. Called on the event loop."""
        self._changes.announce(change)

    @property
    def ids(self) -> Sequence[str]:
        """Every provider's id, built-in ones first."""
        return list(self._tables)

    @property
    def user_defined(self) -> Sequence[str]:
        """The ids that have a table in the user's configuration, or are a client's own."""
        touched = self.config.from_client & BUILT_IN.keys()  # A few settings of it define no provider.
        return [provider for provider in self.config.providers if provider not in touched]

    @property
    def from_client(self) -> Set[str]:
        """The ids of providers that exist for this client alone."""
        return self.config.from_client - BUILT_IN.keys()

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
            ConfigError: its kind is unknown, or its plug-in cannot be used.
        """
        made = self._adapters.get(provider)
        if made is None:
            table = self.table(provider)
            where = KINDS.get(table.kind)
            if where is None:
                made = self._plugins.make(provider, table, self._http)
            else:
                module, _, name = where.partition(":")
                make: Callable[[str, ProviderConfig, HttpClient], Adapter] = getattr(
                    import_module(module), name
                )
                made = make(provider, table, self._http)
            made.client_info = self.client_info
            made.on_auth_change = self._auth_changed
            self._adapters[provider] = made
        return made

    def _auth_changed(self, status: AuthStatus) -> None:
        """Tell of a credential; the models of another account are others."""
        account = (status.state, status.login)
        if self._accounts.get(status.provider, account) != account:
            self.forget_models(status.provider)
        self._accounts[status.provider] = account
        self.announce(AuthChanged(status))

    async def watch_files(self, interval: float = INTERVAL_SECONDS) -> None:
        """Tell adapters of changes that other processes make to their files, until cancelled.

        Args:
            interval: seconds between two looks.
        """
        known: dict[str, list[Stamp | None]] = {}
        while True:
            for provider, adapter in list(self._adapters.items()):
                files = adapter.watched_files()
                if not files:
                    continue
                stamps = await asyncio.to_thread(_stamps, files)
                # At the first look too: the file may have changed since the adapter has read it.
                if known.get(provider) != stamps:
                    try:
                        await adapter.files_changed()
                    except Exception:
                        logger.exception("%s could not look at its changed files", provider)
                known[provider] = stamps
            await asyncio.sleep(interval)

    async def prepare(self, *providers: str) -> None:
        """Import the plug-ins of these providers in a thread, so that `adapter` does not block for them.

        What is wrong with one is said by `adapter`.
        """
        kinds = {self._tables[provider].kind for provider in providers if provider in self._tables}
        for kind in kinds - KINDS.keys():
            if not self._plugins.is_loaded(kind):
                await asyncio.to_thread(self._plugins.load, kind)

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
        table = self.table(provider)
        own: Mapping[str, SettingRow] = {}
        if table.kind not in KINDS:
            # A plug-in that cannot be used has no rows; whoever asks it for a chat is told why.
            with contextlib.suppress(ChatError):
                own = self.adapter(provider).settings_rows
        return rows_of(table, own)

    async def settings_schemas(self, *named: str) -> dict[str, dict[str, SettingRow]]:
        """Every provider's id, with the settings schema of those that are named."""
        await self.prepare(*named)
        return {provider: self.settings_rows(provider) if provider in named else {} for provider in self.ids}

    def note_missing_default(self, provider: str) -> None:
        """Say once in the log that the saved default provider does not exist here."""
        if provider != self._missing_default:
            self._missing_default = provider
            logger.warning("the saved default provider %s does not exist here; another is chosen", provider)

    def default_settings(self, provider: str) -> Mapping[str, Any]:
        """Values for settings that a chat does not name: the configuration's over the saved ones."""
        by_provider = self.config.settings.get("providers", {})
        found = by_provider.get(provider, {}) if isinstance(by_provider, Mapping) else {}
        return {**self.saved.of_provider(provider), **(found if isinstance(found, Mapping) else {})}

    @property
    def default_max_tokens(self) -> int | None:
        """Output tokens for chats that name none: the configuration's, else the saved ones."""
        found = self.config.settings.get("max_tokens")
        return found if type(found) is int and found > 0 else self.saved.max_tokens

    async def auth_status(self, provider: str, *, refresh: bool = False) -> AuthStatus:
        """The provider's own word on its credential."""
        await self.prepare(provider)
        return await self.adapter(provider).auth_status(refresh=refresh)

    def known_models(self, provider: str) -> list[ModelInfo] | None:
        """The provider's list if it was had before; None where nobody has asked yet."""
        rows = self._lists.rows(provider, self._adapters.get(provider))
        return None if rows is None else [row.info for row in rows.values()]

    def known_model(self, provider: str, model: str) -> KnownModel | None:
        """What is known of a model without asking anybody: its row, or else what is told of it elsewhere."""
        row = (self._lists.rows(provider, self._adapters.get(provider)) or {}).get(model)
        if row is not None:
            return row
        context = self.adapter(provider).max_context_tokens(model)
        return known_by_name(provider, model, self.table(provider), context)

    def forget_models(self, provider: str) -> None:
        """Ask for the provider's models anew when they are wanted: another credential sees other ones."""
        self._lists.forget(provider)

    async def list_models(self, provider: str, *, refresh: bool = False) -> list[ModelInfo]:
        """The provider's models, asked for once and then remembered, unless `refresh` or they have expired.

        A list that differs from the remembered one is announced.

        Raises:
            ChatError: the provider did not say.
        """
        return [row.info for row in (await self._lists.list(provider, refresh=refresh)).values()]

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
            before = self.capabilities(provider)
            self._probed[provider] = found
            if self.capabilities(provider) != before:
                self.announce(ProvidersChanged())

    async def describe(self, default: str | None, *, probe: bool = False) -> list[ProviderDescription]:
        """Every provider, whether or not it can be used.

        Args:
            default: the default provider's id.
            probe: ask every provider what it can do, over the network.
        """
        await self.prepare(*self.ids)
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
        closing = (adapter.aclose() for adapter in self._adapters.values())
        for failure in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(failure, Exception):  # One that fails to close keeps no other from it.
                logger.error("a provider failed to close", exc_info=failure)
        await self._http.aclose()


def _stamps(files: Sequence[Path]) -> list[Stamp | None]:
    return [stamp_of(path) for path in files]
