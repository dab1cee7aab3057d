"""The providers' lists of models, as one connection knows them.

Owns what was listed and when, with the facts added to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from jumpseat.adapters.base import Adapter, KnowsModels
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import ChatError, ModelInfo
from jumpseat.config import ProviderConfig
from jumpseat.providers import facts
from jumpseat.providers.facts import KnownModel

logger = logging.getLogger(__name__)

Rows = dict[str, KnownModel]


class ModelLists:
    """Lists that were had, by provider. Used on the event loop only."""

    def __init__(
        self,
        adapter: Callable[[str], Adapter],
        table: Callable[[str], ProviderConfig],
        prepare: Callable[[str], Awaitable[None]],
        on_change: Callable[[str], None],
    ) -> None:
        """
        Args:
            adapter: a provider's adapter.
            table: a provider's configuration.
            prepare: makes a provider ready to be asked.
            on_change: called with a provider whose list changed.
        """
        self._adapter = adapter
        self._table = table
        self._prepare = prepare
        self._on_change = on_change
        self._listed: dict[str, Rows] = {}
        self._listed_at: dict[str, float] = {}
        self._heard: dict[str, tuple[Sequence[ModelInfo], Rows]] = {}
        self._listing: dict[str, asyncio.Lock] = {}
        self._forgotten: set[str] = set()
        """Providers whose next list comes from requests of its own."""

        self._outdated: set[str] = set()
        """Providers of which another session has received another list."""

        self._updates: dict[str, asyncio.Task[None]] = {}

    def rows(self, provider: str, made: Adapter | None) -> Rows | None:
        """The list that was fetched, else the one that the adapter heard for a chat; None for neither.

        Args:
            provider: the configured provider's id.
            made: its adapter, if it was used before.
        """
        rows = self._listed.get(provider)
        if rows is not None or made is None or not isinstance(made, KnowsModels):
            return rows
        heard = made.heard_models()
        if not heard:
            return None
        before = self._heard.get(provider)
        if before is None or before[0] is not heard:
            before = self._heard[provider] = (heard, facts.known_rows(heard, self._table(provider)))
        return before[1]

    @property
    def listed(self) -> list[str]:
        """The providers whose lists were fetched."""
        return list(self._listed)

    def forget(self, provider: str) -> None:
        """Drop a list; that is a change."""
        self._listed.pop(provider, None)
        self._heard.pop(provider, None)
        self._forgotten.add(provider)
        self._on_change(provider)

    def outdate(self, provider: str) -> None:
        """Take over, in the background, the list that another session has received."""
        if provider not in self._listed:
            return
        self._outdated.add(provider)
        if provider not in self._updates:
            task = self._updates[provider] = asyncio.get_running_loop().create_task(self._update(provider))
            task.add_done_callback(lambda _: self._updates.pop(provider, None))

    async def aclose(self) -> None:
        """Cancel what runs in the background."""
        updates = list(self._updates.values())
        for task in updates:
            task.cancel()
        await asyncio.gather(*updates, return_exceptions=True)

    async def _update(self, provider: str) -> None:
        while provider in self._outdated:
            try:
                await self.list(provider, refresh=False)
            except ChatError as error:
                logger.info("the models of %s cannot be listed now: %s", provider, error.message)

    async def list(self, provider: str, *, refresh: bool) -> Rows:
        """The list, fetched once and then cached, unless `refresh` or it has expired.

        Raises:
            ChatError: the provider did not say.
        """
        lock = self._listing.setdefault(provider, asyncio.Lock())
        async with lock:
            known = self._listed.get(provider)
            now = asyncio.get_running_loop().time
            age = now() - self._listed_at.get(provider, 0.0)
            lifetime = self._adapter(provider).traits.models_expire_seconds
            is_current = age <= lifetime and provider not in self._outdated
            if known is not None and not refresh and is_current:
                return known
            await self._prepare(provider)
            adapter = self._adapter(provider)
            takes_recent = not refresh and provider not in self._forgotten
            # First: what becomes outdated from now on may be missing in the answer.
            self._outdated.discard(provider)
            if takes_recent and isinstance(adapter, SharesModels):
                listed = await adapter.recent_models()
            else:
                listed = await adapter.list_models()
            self._forgotten.discard(provider)
            self._listed_at[provider] = now()
            await facts.prepare(self._table(provider))
            # On a thread: the facts of a long list take seconds.
            rows = await asyncio.to_thread(facts.known_rows, listed, self._table(provider))
            self._listed[provider] = rows
            if known is not None and rows != known:
                self._on_change(provider)
            return rows
