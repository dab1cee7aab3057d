"""The providers of one connection. Adapters are imported and created when first used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

from jumpseat.adapters.base import (
    Account,
    Adapter,
    AuthStatus,
    CachesModels,
    Capabilities,
    CapabilitySource,
    ChangesCapabilities,
    ClientInfo,
    IdentifiesClient,
)
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import ChatError, ModelInfo, RequestError
from jumpseat.config import Config, FaultyConfigError, ProviderConfig, SavedSettings, SettingRow, Values
from jumpseat.config.suggestions import alternatives
from jumpseat.http import HttpClient
from jumpseat.providers.changes import AuthChanged, Change, Changes, ModelsChanged, OnChange, ProvidersChanged
from jumpseat.providers.facts import KnownModel, find_facts_by_name
from jumpseat.providers.kinds import BUILT_IN, KINDS, merge_tables
from jumpseat.providers.lists import ModelLists
from jumpseat.providers.plugins import Plugins
from jumpseat.providers.services import explain_how_to_add
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import INTERVAL_SECONDS, Stamp, stamp_of

logger = logging.getLogger(__name__)

_CAPABILITY_NAMES = tuple(field.name for field in fields(Capabilities))


class Registry:
    """The providers and their adapters, models and capabilities.

    Each connection has its own registry, because overlays differ.
    """

    def __init__(self, config: Config, saved: SavedSettings | None = None) -> None:
        """
        Args:
            config: the user's configuration with the client's overlay.
            saved: the saved settings; None for settings that are discarded with the registry.
        """
        self.config = config
        self.saved = saved or SavedSettings()
        self.client_info: ClientInfo | None = None
        """The client, which is passed to adapters when they are created."""

        self._missing_default: str | None = None
        self._tables = merge_tables(config)
        self._http = HttpClient(shared=config.environment.shared)
        self._plugins = Plugins(KINDS)
        self._adapters: dict[str, Adapter] = {}
        self._caching: dict[str, CachesModels] = {}
        """The adapters that read a list of models for their chats."""

        self._retired: list[Adapter] = []
        """The adapters that `reconfigure` returned and that are not closed yet."""

        self._probed: dict[str, Mapping[str, bool]] = {}
        self._lists = ModelLists(
            self.adapter,
            self.table,
            self.prepare,
            lambda provider: self.announce(ModelsChanged(provider)),
        )
        self._accounts: dict[str, tuple[str, str | None]] = {}
        self._changes = Changes()

    def reconfigure(self, config: Config) -> list[Adapter]:
        """Replace the configuration and announce the changes. Adapters of unchanged tables are reused.

        Returns:
            The adapters of changed and removed tables. Running requests may still use them. After the last of
            these requests, the caller must pass the adapters to `close`.
        """
        tables, faults, default = self._tables, self.config.faults, _read_default(self.config)
        self.config = config
        # Keep the object of an unchanged table: its adapter uses this object, which caches source values.
        self._tables = {
            provider: tables[provider] if tables.get(provider) == table else table
            for provider, table in merge_tables(config).items()
        }
        changed = [
            provider
            for provider in {**tables, **self._tables}
            if tables.get(provider) != self._tables.get(provider)
            or faults.get(provider) != config.faults.get(provider)
        ]
        retired = [self._adapters.pop(provider) for provider in changed if provider in self._adapters]
        self._retired += retired
        for provider in changed:
            self._caching.pop(provider, None)
            self._probed.pop(provider, None)
            self._accounts.pop(provider, None)
            self._lists.forget(provider)
        if default != _read_default(config):
            for provider in self._lists.listed:  # Each list marks the default model.
                self.announce(ModelsChanged(provider))
        if changed or default != _read_default(config):
            self.announce(ProvidersChanged())
        return retired

    def subscribe(self, listener: OnChange) -> Callable[[], None]:
        """Call the listener for every change; return a function that unsubscribes it."""
        return self._changes.subscribe(listener)

    def announce(self, change: Change) -> None:
        """Call the listeners for a change. Must be called on the event loop."""
        self._changes.announce(change)

    @property
    def ids(self) -> Sequence[str]:
        """The ids of all providers, built-in ones first."""
        return list(self._tables)

    def is_sound(self, provider: str) -> bool:
        """Whether the provider exists and its table has no faults."""
        return provider in self._tables and provider not in self.config.faults

    @property
    def user_defined(self) -> Sequence[str]:
        """The ids of the providers in the user's configuration, and of those that the client added."""
        # A client's table for a built-in provider changes this provider, but does not add one.
        changed_only = self.config.from_client.intersection(BUILT_IN)
        tables = [*self.config.providers, *self.config.faults]
        return [provider for provider in tables if provider not in changed_only]

    @property
    def from_client(self) -> Set[str]:
        """The ids of providers that the client added."""
        return self.config.from_client.difference(BUILT_IN)

    def table(self, provider: str) -> ProviderConfig:
        """Return the provider's configuration.

        Raises:
            RequestError: there is no such provider.
        """
        table = self._tables.get(provider)
        if table is None:
            raise RequestError(
                f"There is no provider named {provider!r}{alternatives(provider, self.ids)}.",
                provider=provider,
                hint=explain_how_to_add(provider, self.config.file)
                or f"Add a [providers.NAME] table to {self.config.file}.",
            )
        return table

    async def read_credentials(self, provider: str | None = None, model: str = "") -> None:
        """Read the credentials of the configuration, so that they are redacted in kept conversations.

        Args:
            provider: the provider whose costly sources (such as commands and the keyring) are read too.
            model: the model of the request to this provider.
        """

        async def read(each: str, table: ProviderConfig) -> None:
            await Values(each, table, may_be_costly=each == provider).read_credentials(model)

        tables = [*self._tables.items(), ("fetch", self.config.fetch_network)]
        await asyncio.gather(*(read(each, table) for each, table in tables))

    def adapter(self, provider: str) -> Adapter:
        """Return the provider's adapter, which is created when first used.

        Raises:
            RequestError: there is no such provider.
            ConfigError: its table has a fault, its kind is unknown, or its plug-in cannot be used.
        """
        adapter = self._adapters.get(provider)
        if adapter is None:
            table = self.table(provider)
            if provider in self.config.faults:
                raise FaultyConfigError(self.config.faults[provider], provider)
            http = self._http.for_provider(provider, table)
            spec = KINDS.get(table.kind)
            if spec is None:
                adapter = self._plugins.make(provider, table, http)
            else:
                adapter = spec.create(provider, table, http)
            if isinstance(adapter, IdentifiesClient):
                adapter.client_info = self.client_info
            if isinstance(adapter, ChangesCapabilities):
                adapter.on_capabilities_change = lambda: self.announce(ProvidersChanged())
            if isinstance(adapter, SharesModels):
                adapter.on_models_change = lambda: self._lists.replace_in_background(provider)
            if isinstance(adapter, CachesModels):
                self._caching[provider] = adapter
            if adapter.account is not None:
                adapter.account.on_auth_change = self._handle_auth_change
            self._adapters[provider] = adapter
        return adapter

    def _handle_auth_change(self, status: AuthStatus) -> None:
        """Announce a change of a provider's sign-in."""
        # A different account may have access to different models.
        account = (status.state, status.login)
        if self._accounts.get(status.provider, account) != account:
            self.forget_models(status.provider)
        self._accounts[status.provider] = account
        self.announce(AuthChanged(status))

    async def watch_files(self, interval: float = INTERVAL_SECONDS) -> None:
        """Notify the adapters' accounts when another process changes the accounts' files, until cancelled.

        Args:
            interval: seconds between polls.
        """
        known: dict[str, list[Stamp | None]] = {}
        while True:
            for provider, adapter in list(self._adapters.items()):
                account = adapter.account
                files = account.watched_files() if account is not None else []
                if account is None or not files:
                    continue
                stamps = await run_blocking(list, map(stamp_of, files))
                # Notify at the first poll too, because a file may have changed since the adapter read it.
                if known.get(provider) != stamps:
                    try:
                        await account.handle_file_change()
                    except Exception:
                        logger.exception("%s could not read its changed files", provider)
                known[provider] = stamps
            await asyncio.sleep(interval)

    async def prepare(self, *providers: str) -> None:
        """Import the plug-ins of these providers in a thread, so that `adapter` does not block.

        If an import fails, `adapter` raises the error later.
        """
        for provider in providers:
            table = None if provider in self._adapters else self._tables.get(provider)
            if table is not None and table.kind not in KINDS and not self._plugins.is_loaded(table.kind):
                await run_blocking(self._plugins.load, table.kind)

    def capabilities(
        self, provider: str, *, probed: bool = True
    ) -> tuple[Capabilities, dict[str, CapabilitySource]]:
        """Return each capability and its source: the probe, else the configuration, else the adapter.

        Args:
            provider: the provider's id.
            probed: whether to use the last probe. False for a chat, whose model may be newer than the probe.
        """
        static = self.adapter(provider).capabilities
        probe = self._probed.get(provider, {}) if probed else {}
        configured = self.table(provider).capabilities.model_dump(exclude_none=True)
        values: dict[str, bool] = {}
        sources: dict[str, CapabilitySource] = {}
        for name in _CAPABILITY_NAMES:
            if name in probe:
                values[name], sources[name] = probe[name], "probe"
            elif name in configured:
                values[name], sources[name] = configured[name], "config"
            else:
                values[name], sources[name] = getattr(static, name), "static"
        return Capabilities(**values), sources

    def settings_rows(self, provider: str) -> dict[str, SettingRow]:
        """Return the provider's settings schema in display order. Configured rows take precedence."""
        table = self.table(provider)
        rows: Mapping[str, SettingRow] = {}
        if (spec := KINDS.get(table.kind)) is not None:
            rows = spec.settings_rows
        else:
            # A plug-in that cannot be used has no rows. A chat with it fails with the reason.
            with contextlib.suppress(ChatError):
                rows = self.adapter(provider).settings_rows
        return dict(sorted({**rows, **table.settings}.items(), key=lambda item: item[1].order))

    async def settings_schemas(self, *named: str) -> dict[str, dict[str, SettingRow]]:
        """Return the settings schemas of the named providers, and an empty one for every other provider."""
        await self.prepare(*named)
        return {provider: self.settings_rows(provider) if provider in named else {} for provider in self.ids}

    def note_missing_default(self, provider: str) -> None:
        """Log once that the saved default provider does not exist."""
        if provider != self._missing_default:
            self._missing_default = provider
            logger.warning("the saved default provider %s does not exist here; another is chosen", provider)

    def default_settings(self, provider: str) -> Mapping[str, Any]:
        """Return the default settings of chats with the provider; configured ones override saved ones."""
        by_provider = self.config.settings.get("providers", {})
        configured = by_provider.get(provider, {}) if isinstance(by_provider, Mapping) else {}
        return {
            **self.saved.values["providers"].get(provider, {}),
            **(configured if isinstance(configured, Mapping) else {}),
        }

    @property
    def default_max_tokens(self) -> int | None:
        """The default limit of output tokens: the configured one, else the saved one."""
        configured = self.config.settings.get("max_tokens")
        saved: int | None = self.saved.values.get("max_tokens")
        return configured if type(configured) is int and configured > 0 else saved

    async def auth_status(self, provider: str, *, refresh: bool = False) -> AuthStatus:
        """Return the state of the provider's sign-in or key."""
        await self.prepare(provider)
        return await self.account(provider).auth_status(refresh=refresh)

    def account(self, provider: str) -> Account:
        """Return the adapter's account; if the adapter has none, an account that needs no credential.

        Raises:
            ChatError: see `adapter`.
        """
        adapter = self.adapter(provider)
        return adapter.account or Account(adapter.provider_name)

    def received_models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the list that the provider's adapter last read for a chat; empty if there is none."""
        caching = self._caching.get(provider)
        return () if caching is None else caching.cached_models()

    def known_models(self, provider: str) -> Mapping[str, KnownModel] | None:
        """Return the models last fetched, or else last read for a chat, by name; None if there are none."""
        return self._lists.rows(provider, self.received_models(provider))

    def known_model(self, provider: str, model: str) -> KnownModel | None:
        """Return the facts about a model without a request: from the last list, else from other sources."""
        row = (self.known_models(provider) or {}).get(model)
        if row is not None:
            return row
        context = self.adapter(provider).max_context_tokens(model)
        return find_facts_by_name(provider, model, self.table(provider), context)

    def forget_models(self, provider: str) -> None:
        """Drop the provider's list of models, so that it is fetched again when needed."""
        self._lists.forget(provider)

    async def list_models(
        self, provider: str, *, refresh: bool = False, patience: float | None = None
    ) -> list[ModelInfo]:
        """Return the provider's models; see `ModelLists.list`.

        A list that differs from the cached one is announced.

        Raises:
            ChatError: the request failed.
        """
        rows = await self._lists.list(provider, refresh=refresh, patience=patience)
        return [row.info for row in rows.values()]

    async def probe(self, provider: str) -> bool:
        """Request the provider's capabilities and announce a change; return False if there is no result.

        Raises:
            ChatError: the request failed.
        """
        await self.prepare(provider)
        result = await self.adapter(provider).probe()
        # The configuration may have changed meanwhile.
        if result is None or not self.is_sound(provider):
            return False
        if isinstance(result, Capabilities):
            result = {name: getattr(result, name) for name in _CAPABILITY_NAMES}
        before = self.capabilities(provider)
        self._probed[provider] = result
        if self.capabilities(provider) != before:
            self.announce(ProvidersChanged())
        return True

    async def close(self, adapters: Sequence[Adapter]) -> None:
        """Close adapters that `reconfigure` returned. Call this after the last request that used them."""
        for adapter in adapters:
            if adapter in self._retired:
                self._retired.remove(adapter)
        await _close(adapters)

    async def aclose(self) -> None:
        """Close all adapters, then the HTTP client that they share."""
        await self._lists.aclose()
        await _close([*self._adapters.values(), *self._retired])
        await self._http.aclose()


def _read_default(config: Config) -> tuple[str | None, str | None]:
    return config.default_provider, config.default_model


async def _close(adapters: Sequence[Adapter]) -> None:
    closing = (adapter.aclose() for adapter in adapters)
    for failure in await asyncio.gather(*closing, return_exceptions=True):
        if isinstance(failure, Exception):
            logger.error("a provider failed to close", exc_info=failure)
