"""The providers of one connection: built from its configuration, made on first use.

Adapters come from a table of kinds, by name, so that a provider that is never used is never imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any

from jumpseat.adapters.base import (
    Account,
    Adapter,
    AuthStatus,
    Capabilities,
    CapabilitySource,
    ChangesCapabilities,
    ClientInfo,
    IdentifiesClient,
)
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import ChatError, ConnectionError, ModelInfo, RequestError
from jumpseat.chat.errors import daemon_failure
from jumpseat.config import Config, ProviderConfig, SavedSettings, SettingRow, error_of
from jumpseat.config.suggestions import alternatives
from jumpseat.http import HttpClient
from jumpseat.providers.changes import AuthChanged, Change, Changes, ModelsChanged, OnChange, ProvidersChanged
from jumpseat.providers.facts import KnownModel, known_by_name
from jumpseat.providers.kinds import BUILT_IN, KINDS, tables_of
from jumpseat.providers.lists import ModelLists
from jumpseat.providers.plugins import Plugins
from jumpseat.system.watch import INTERVAL_SECONDS, Stamp, stamp_of

logger = logging.getLogger(__name__)

LISTING_SECONDS = 15.0
"""How long one provider may keep the models of the others waiting."""


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
        """The attached client; passed to adapters that are constructed later."""

        self._missing_default: str | None = None
        self._tables = tables_of(config)
        self._http = HttpClient(shared=config.environment.shared)
        self._plugins = Plugins(KINDS)
        self._adapters: dict[str, Adapter] = {}
        self._retired: list[Adapter] = []
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
        """Replace the configuration; what is equal in both is kept, adapters included.

        Changes are announced. The adapters of tables that changed or are gone are returned: requests under
        way may use them to their end, then they go to `close`.
        """
        tables, faults, default = self._tables, self.config.faults, _default_of(self.config)
        self.config = config
        self._tables = tables_of(config)
        changed = [
            provider
            for provider in {**tables, **self._tables}
            if tables.get(provider) != self._tables.get(provider)
            or faults.get(provider) != config.faults.get(provider)
        ]
        retired = [self._adapters.pop(provider) for provider in changed if provider in self._adapters]
        self._retired += retired
        for provider in changed:
            self._probed.pop(provider, None)
            self._accounts.pop(provider, None)
            self._lists.forget(provider)
        if default != _default_of(config):
            for provider in self._lists.listed:  # Each list says which model is the default.
                self.announce(ModelsChanged(provider))
        if changed or default != _default_of(config):
            self.announce(ProvidersChanged())
        return retired

    def subscribe(self, listener: OnChange) -> Callable[[], None]:
        """Hear of changes to models, providers and credentials; the returned function ends that."""
        return self._changes.subscribe(listener)

    def announce(self, change: Change) -> None:
        """Call the listeners with a change. Called on the event loop."""
        self._changes.announce(change)

    @property
    def ids(self) -> Sequence[str]:
        """Every provider's id, built-in ones first."""
        return list(self._tables)

    def is_sound(self, provider: str) -> bool:
        """Whether there is such a provider, with a table that can be used."""
        return provider in self._tables and provider not in self.config.faults

    @property
    def user_defined(self) -> Sequence[str]:
        """The ids that have a table in the user's configuration, or are a client's own."""
        touched = self.config.from_client.intersection(BUILT_IN)  # A few settings of it define no provider.
        tables = [*self.config.providers, *self.config.faults]
        return [provider for provider in tables if provider not in touched]

    @property
    def from_client(self) -> Set[str]:
        """The ids of providers that exist for this client alone."""
        return self.config.from_client.difference(BUILT_IN)

    def table(self, provider: str) -> ProviderConfig:
        """The provider's configuration.

        Raises:
            RequestError: there is no such provider.
        """
        table = self._tables.get(provider)
        if table is None:
            raise RequestError(
                f"There is no provider named {provider!r}{alternatives(provider, self.ids)}.",
                provider=provider,
                hint=f"Add a [providers.NAME] table to {self.config.file}.",
            )
        return table

    def adapter(self, provider: str) -> Adapter:
        """The provider's adapter, made now if this is its first use.

        Raises:
            RequestError: there is no such provider.
            ConfigError: its table is wrong, its kind is unknown, or its plug-in cannot be used.
        """
        made = self._adapters.get(provider)
        if made is None:
            table = self.table(provider)
            if provider in self.config.faults:
                raise error_of(self.config.faults[provider], provider)
            http = self._http.for_provider(provider, table)
            spec = KINDS.get(table.kind)
            if spec is None:
                made = self._plugins.make(provider, table, http)
            else:
                made = spec.create(provider, table, http)
            if isinstance(made, IdentifiesClient):
                made.client_info = self.client_info
            if isinstance(made, ChangesCapabilities):
                made.on_capabilities_change = lambda: self.announce(ProvidersChanged())
            if isinstance(made, SharesModels):
                made.on_models_change = lambda: self._lists.outdate(provider)
            if made.account is not None:
                made.account.on_auth_change = self._auth_changed
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
                account = adapter.account
                files = account.watched_files() if account is not None else []
                if account is None or not files:
                    continue
                stamps = await asyncio.to_thread(list, map(stamp_of, files))
                # At the first look too: the file may have changed since the adapter has read it.
                if known.get(provider) != stamps:
                    try:
                        await account.files_changed()
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

    def capabilities(
        self, provider: str, *, probed: bool = True
    ) -> tuple[Capabilities, dict[str, CapabilitySource]]:
        """What the provider can do, and where each fact comes from.

        The adapter's own facts come first, then the configuration's, then what a probe found.

        Args:
            provider: the provider's id.
            probed: whether to use the result of a probe. It describes the models of that moment; a chat's
                model may be newer.
        """
        static = self.adapter(provider).capabilities
        found = self._probed.get(provider, {}) if probed else {}
        configured = self.table(provider).capabilities.model_dump(exclude_none=True)
        values: dict[str, bool] = {}
        sources: dict[str, CapabilitySource] = {}
        for name in (field.name for field in fields(static)):
            if name in found:
                values[name], sources[name] = found[name], "probe"
            elif name in configured:
                values[name], sources[name] = configured[name], "config"
            else:
                values[name], sources[name] = getattr(static, name), "static"
        return Capabilities(**values), sources

    def settings_rows(self, provider: str) -> dict[str, SettingRow]:
        """The provider's settings schema, in the order of a form; configured rows take precedence."""
        table = self.table(provider)
        rows: Mapping[str, SettingRow] = {}
        if (spec := KINDS.get(table.kind)) is not None:
            rows = spec.settings_rows
        else:
            # A plug-in that cannot be used has no rows; a chat with it is answered with the reason.
            with contextlib.suppress(ChatError):
                rows = self.adapter(provider).settings_rows
        return dict(sorted({**rows, **table.settings}.items(), key=lambda item: item[1].order))

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
        return await self.account(provider).auth_status(refresh=refresh)

    def account(self, provider: str) -> Account:
        """The user's credential at the provider; one that needs nothing where the adapter has none.

        Raises:
            ChatError: as `adapter` raises it.
        """
        adapter = self.adapter(provider)
        return adapter.account or Account(adapter.provider_name)

    def known_models(self, provider: str) -> list[ModelInfo] | None:
        """The provider's list if it was had before; None before the first list."""
        rows = self._lists.rows(provider, self._adapters.get(provider))
        return None if rows is None else [row.info for row in rows.values()]

    def known_model(self, provider: str, model: str) -> KnownModel | None:
        """What is known of a model without a request: its row, or else facts from other sources."""
        row = (self._lists.rows(provider, self._adapters.get(provider)) or {}).get(model)
        if row is not None:
            return row
        context = self.adapter(provider).max_context_tokens(model)
        return known_by_name(provider, model, self.table(provider), context)

    def forget_models(self, provider: str) -> None:
        """Fetch the provider's models again when they are next needed: another credential sees others."""
        self._lists.forget(provider)

    async def list_models(self, provider: str, *, refresh: bool = False) -> list[ModelInfo]:
        """The provider's models, fetched once and then cached, unless `refresh` or they have expired.

        A list that differs from the remembered one is announced.

        Raises:
            ChatError: the provider did not say.
        """
        return [row.info for row in (await self._lists.list(provider, refresh=refresh)).values()]

    async def list_all_models(
        self, providers: Sequence[str], *, refresh: bool = False
    ) -> tuple[list[ModelInfo], list[ProviderFailure]]:
        """The models of several providers, fetched concurrently: one that fails hides no other."""

        async def of(provider: str) -> list[ModelInfo] | ProviderFailure:
            try:
                async with asyncio.timeout(LISTING_SECONDS):
                    return await self.list_models(provider, refresh=refresh)
            except ChatError as error:
                return ProviderFailure(provider, error)
            except TimeoutError:
                message = f"{provider} did not list its models within {LISTING_SECONDS:g} s."
                return ProviderFailure(provider, ConnectionError(message, provider=provider))
            except NotImplementedError:
                return ProviderFailure(
                    provider, RequestError(f"{provider} does not list its models.", provider=provider)
                )
            except Exception:
                logger.exception("listing the models of %s failed", provider)
                return ProviderFailure(provider, daemon_failure("listed these models", provider=provider))

        models: list[ModelInfo] = []
        failures: list[ProviderFailure] = []
        for answer in await asyncio.gather(*map(of, providers)):
            if isinstance(answer, ProviderFailure):
                failures.append(answer)
            else:
                models += answer
        return models, failures

    async def probe(self, provider: str) -> bool:
        """Ask the provider what it can do; whether it had anything to ask. What it finds new is announced.

        Raises:
            ChatError: it did not answer, or refused.
        """
        await self.prepare(provider)
        found = await self.adapter(provider).probe()
        if found is None or not self.is_sound(provider):
            return False
        if isinstance(found, Capabilities):
            found = {field.name: getattr(found, field.name) for field in fields(found)}
        before = self.capabilities(provider)
        self._probed[provider] = found
        if self.capabilities(provider) != before:
            self.announce(ProvidersChanged())
        return True

    async def close(self, adapters: Sequence[Adapter]) -> None:
        """Close adapters that `reconfigure` has returned, once nothing uses them any more."""
        for adapter in adapters:
            if adapter in self._retired:
                self._retired.remove(adapter)
        await _close(adapters)

    async def aclose(self) -> None:
        """Close every adapter that was made, then the HTTP client they share."""
        await self._lists.aclose()
        await _close([*self._adapters.values(), *self._retired])
        await self._http.aclose()


def _default_of(config: Config) -> tuple[str | None, str | None]:
    return config.default_provider, config.default_model


async def _close(adapters: Sequence[Adapter]) -> None:
    closing = (adapter.aclose() for adapter in adapters)
    for failure in await asyncio.gather(*closing, return_exceptions=True):
        if isinstance(failure, Exception):  # One that fails to close keeps no other from it.
            logger.error("a provider failed to close", exc_info=failure)
