"""The cached lists of models for one connection, with facts from the configuration and the snapshot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from jumpseat.adapters.base import Adapter
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import ConnectionError, ModelInfo
from jumpseat.config import ProviderConfig
from jumpseat.providers import facts
from jumpseat.providers.facts import KnownModel
from jumpseat.system.clock import Moment
from jumpseat.system.threads import compute

logger = logging.getLogger(__name__)

Rows = dict[str, KnownModel]

CURRENT_SECONDS = 600.0
"""When a list older than this is returned, it is also fetched again, in the background."""

FAILURE_SECONDS = 10.0
"""The time for which a failure is cached, so that clients that ask often do not repeat a failing request."""


class StillListingError(ConnectionError):
    """The list is still being fetched; its arrival is announced as a change."""


@dataclass(slots=True)
class _Fetch:
    """A list that is being fetched."""

    task: asyncio.Task[Rows | Exception]
    start: Moment
    must_announce: bool = False
    """Whether to announce the result even if the list has not changed, because a caller stopped waiting."""


class ModelLists:
    """The cached lists by provider. Used on the event loop only."""

    def __init__(
        self,
        adapter: Callable[[str], Adapter],
        table: Callable[[str], ProviderConfig],
        prepare: Callable[[str], Awaitable[None]],
        on_change: Callable[[str], None],
    ) -> None:
        """
        Args:
            adapter: returns a provider's adapter.
            table: returns a provider's configuration.
            prepare: prepares a provider for requests.
            on_change: called with a provider whose list changed.
        """
        self._adapter = adapter
        self._table = table
        self._prepare = prepare
        self._on_change = on_change
        self._lists: dict[str, Rows] = {}
        self._list_times: dict[str, Moment] = {}
        self._received: dict[str, tuple[Sequence[ModelInfo], Rows]] = {}
        """The lists that adapters read for chats, each with its completed rows."""

        self._fetches: dict[str, _Fetch] = {}
        self._failures: dict[str, tuple[Exception, Moment]] = {}
        self._without_reuse: set[str] = set()
        """Providers whose next fetch must send a request, and must not reuse a recent response."""

        self._outdated: set[str] = set()
        """Providers whose list must be fetched again, even if a fetch is in progress."""

    def rows(self, provider: str, received: Sequence[ModelInfo]) -> Rows | None:
        """Return the fetched list, else the one that the adapter received for a chat, else None.

        Args:
            provider: the configured provider's id.
            received: the list that the provider's adapter last read for a chat; empty if there is none.
        """
        rows = self._lists.get(provider)
        if rows is not None or not received:
            return rows
        cached = self._received.get(provider)
        if cached is None or cached[0] is not received:
            cached = self._received[provider] = (
                received,
                facts.complete_rows(received, self._table(provider)),
            )
        return cached[1]

    @property
    def listed(self) -> list[str]:
        """The providers whose lists were fetched."""
        return list(self._lists)

    def forget(self, provider: str) -> None:
        """Drop a list and announce the change."""
        self._lists.pop(provider, None)
        self._received.pop(provider, None)
        self._failures.pop(provider, None)
        self._without_reuse.add(provider)
        if provider in self._fetches:
            self._outdated.add(provider)
        self._on_change(provider)

    def replace_in_background(self, provider: str) -> None:
        """If a list was fetched, replace it with the one that another session has received."""
        if provider in self._lists:
            self._outdated.add(provider)
            self._start_fetch(provider)

    async def aclose(self) -> None:
        """Cancel the fetches in progress."""
        tasks = [fetch.task for fetch in self._fetches.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def list(self, provider: str, *, refresh: bool, patience: float | None = None) -> Rows:
        """Return the list, fetched once and then cached; an old list is returned while a new one is fetched.

        Args:
            provider: the configured provider's id.
            refresh: fetch the list now.
            patience: seconds after which the caller stops waiting, while the fetch continues; None for no
                limit. They count from the start of the fetch, which an earlier call may have started.

        Raises:
            StillListingError: the list did not arrive in time.
            ChatError: the request failed, now or within the last `FAILURE_SECONDS`.
        """
        known, failure = self._lists.get(provider), self._recent_failure(provider)
        if refresh:
            self._without_reuse.add(provider)
            self._outdated.add(provider)
        elif known is not None and provider not in self._outdated:
            if self._list_times[provider].age() > CURRENT_SECONDS and failure is None:
                self._start_fetch(provider)
            return known
        elif failure is not None:
            raise failure
        fetch = self._start_fetch(provider)
        left = None if patience is None else max(0.0, patience - fetch.start.age())
        await asyncio.wait({fetch.task}, timeout=left)
        if not fetch.task.done():
            fetch.must_announce = True
            raise StillListingError(
                f"{provider} has not listed its models yet.",
                provider=provider,
                retry_after=1.0,
                hint="The models are added as soon as the list arrives.",
            )
        result = fetch.task.result()
        if isinstance(result, Exception):
            raise result
        return result

    def _recent_failure(self, provider: str) -> Exception | None:
        failure, at = self._failures.get(provider, (None, None))
        return failure if at is not None and at.age() < FAILURE_SECONDS else None

    def _start_fetch(self, provider: str) -> _Fetch:
        """Start to fetch a list, or return the fetch in progress."""
        fetch = self._fetches.get(provider)
        if fetch is None:
            task = asyncio.get_running_loop().create_task(self._fetch_and_store(provider))
            fetch = self._fetches[provider] = _Fetch(task, Moment.now())
        return fetch

    async def _fetch_and_store(self, provider: str) -> Rows | Exception:
        """Fetch a list, then store and announce the result."""
        result: Rows | Exception
        try:
            result = await self._fetch_current(provider)
        except Exception as error:
            logger.info("the models of %s cannot be listed now: %s", provider, error)
            self._failures[provider] = error, Moment.now()
            result, has_changed = error, False
        else:
            known = self._lists.get(provider)
            has_failed = self._failures.pop(provider, None) is not None
            # A first list is not a change, unless clients saw a failure before.
            has_changed = has_failed if known is None else result != known
            self._lists[provider], self._list_times[provider] = result, Moment.now()
        # From here on, a new caller starts a request of its own.
        if self._fetches.pop(provider).must_announce or has_changed:
            self._on_change(provider)
        return result

    async def _fetch_current(self, provider: str) -> Rows:
        """Fetch a list, repeatedly if it is out of date when it arrives."""
        while True:
            # Clear the mark before the request, not after it: a change that is reported during the request
            # sets the mark again, because the response may lack the change.
            self._outdated.discard(provider)
            try:
                rows = await self._request(provider)
            except Exception:
                if provider in self._outdated:  # The request may have used the previous configuration.
                    continue
                raise
            if provider not in self._outdated:
                return rows

    async def _request(self, provider: str) -> Rows:
        await self._prepare(provider)
        adapter = self._adapter(provider)
        may_reuse = provider not in self._without_reuse
        self._without_reuse.discard(provider)
        try:
            if isinstance(adapter, SharesModels) and may_reuse:
                listed = await adapter.recent_models()
            else:
                listed = await adapter.list_models()
        except BaseException:
            if not may_reuse:
                self._without_reuse.add(provider)
            raise
        await facts.preload_snapshot(self._table(provider))
        # Use a thread, because collecting the facts for a long list takes seconds.
        return await compute(True, facts.complete_rows, listed, self._table(provider))
