"""Values that several users hold at the same time, by key: connection pools, tokens, processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Entry:
    value: Any
    close: Callable[[Any], Awaitable[None]]
    holders: int = 0
    ending: asyncio.Task[None] | None = None
    """Waits for the end of `linger`."""


@dataclass(slots=True, eq=False)
class Held(Generic[T]):
    """One user's hold on a shared value."""

    value: T
    _release: Callable[[], Awaitable[None]]
    _released: bool = False

    async def release(self) -> None:
        """Give the value back; a second call has no effect. The last holder's release may close the value."""
        if not self._released:
            self._released = True
            await self._release()


class Shared:
    """Holds each value from its first use until some time after its last. Belongs to one event loop.

    A key contains everything that went into the value, credentials included, so that two users share a value
    only if each of them would have made an equal one.
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}
        self._closed = False

    def hold(
        self,
        key: Hashable,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        *,
        linger: float = 0.0,
    ) -> Held[T]:
        """The value of this key, made now if there is none.

        Args:
            key: begins with a text that names the type of the value, as in `("pool", proxy, tls)`.
            make: makes the value; cheap, and without waiting.
            close: closes the value.
            linger: seconds for which the value is kept after its last holder has released it.
        """
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(make(), close)
        entry.holders += 1
        if entry.ending is not None:
            entry.ending.cancel()
            entry.ending = None

        async def release() -> None:
            entry.holders -= 1
            if entry.holders or self._entries.get(key) is not entry:
                return
            if linger <= 0 or self._closed:
                await self._end(key, entry)
            else:
                entry.ending = asyncio.create_task(self._end_later(key, entry, linger))

        return Held(cast(T, entry.value), release)

    async def aclose(self) -> None:
        """Close all values that no one holds any more, and from now on each one with its last holder."""
        self._closed = True
        for key, entry in list(self._entries.items()):
            if not entry.holders:
                if entry.ending is not None:
                    entry.ending.cancel()
                await self._end(key, entry)

    async def _end_later(self, key: Hashable, entry: _Entry, seconds: float) -> None:
        await asyncio.sleep(seconds)
        entry.ending = None
        await self._end(key, entry)

    async def _end(self, key: Hashable, entry: _Entry) -> None:
        # First, so that the next user makes a new value and does not get one that is being closed.
        del self._entries[key]
        try:
            await entry.close(entry.value)
        except Exception:
            logger.exception("a shared value failed to close")
