"""Reference-counted values by key, for several users: connection pools, tokens, processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")

MAX_LINGERING = 64
"""The default number of values of one kind, including values in use, above which lingering values are closed.

Without this limit, a client whose keys change constantly could leave any number of values behind.
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Entry:
    kind: Hashable
    value: Any = field(repr=False)
    close: Callable[[Any], Awaitable[None]]
    holders: int = 0
    timer: asyncio.TimerHandle | None = None
    """Closes the value when it has lingered long enough; None if the value is not lingering."""


@dataclass(slots=True, eq=False)
class Reference(Generic[T]):
    """One user's reference to a shared value."""

    value: T
    _release: Callable[[], Awaitable[None]] = field(repr=False)
    is_released: bool = False

    async def release(self) -> None:
        """Release the value. The last holder's release may close it. A second call has no effect."""
        if not self.is_released:
            self.is_released = True
            await self._release()


class Shared:
    """Shared values, for one event loop. Each lives from its first use until some time after its last use.

    A key contains everything that the value depends on, so two users share a value only if each of them would
    create an equal one. A key may include credentials, so never log it.
    """

    def __init__(self, *, lingering: bool = False) -> None:
        """
        Args:
            lingering: whether values stay open after their last release, for the next client of a daemon. If
                False, as in a process with a single client, the last release closes the value.
        """
        self._lingering = lingering
        self._entries: dict[Hashable, _Entry] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def acquire(
        self,
        key: Hashable,
        make: Callable[[], T],
        close: Callable[[T], Awaitable[None]],
        *,
        linger: float = 0.0,
        most: int = MAX_LINGERING,
    ) -> Reference[T]:
        """Return a reference to the value for this key, and create the value if there is none.

        Args:
            key: the key, which begins with the kind of the value, as in `("pool", network)`.
            make: creates the value without blocking.
            linger: seconds that the value stays open after its last release, if `lingering` is set.
            most: the maximum number of values of this kind. If there are more, values without a holder are
                closed, starting with those whose `linger` ends first.
        """
        entry = self._entries.get(key)
        if entry is None:
            kind = key[0] if isinstance(key, tuple) else key
            entry = self._entries[key] = _Entry(kind, make(), close)
            self._close_surplus(kind, most)
        entry.holders += 1
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None

        async def release() -> None:
            entry.holders -= 1
            if entry.holders:
                return
            if linger <= 0 or not self._lingering:
                # Shield the closing, so that a cancelled holder does not leave the value half closed.
                await asyncio.shield(self._start_closing(key, entry))
            else:
                entry.timer = asyncio.get_running_loop().call_later(linger, self._start_closing, key, entry)
                await asyncio.shield(asyncio.gather(*self._close_surplus(entry.kind, most)))

        return Reference(cast(T, entry.value), release)

    async def aclose(self) -> None:
        """Close all values without a holder. From now on, the last release of a value closes it."""
        self._lingering = False
        for key, entry in list(self._entries.items()):
            if not entry.holders:
                self._start_closing(key, entry)
        await asyncio.gather(*self._closing)

    def _close_surplus(self, kind: Hashable, most: int) -> list[asyncio.Task[None]]:
        same_kind = [(key, entry) for key, entry in self._entries.items() if entry.kind == kind]
        lingering = [(entry.timer.when(), key, entry) for key, entry in same_kind if entry.timer is not None]
        lingering.sort(key=lambda each: each[0])
        surplus = lingering[: max(0, len(same_kind) - most)]
        return [self._start_closing(key, entry) for _, key, entry in surplus]

    def _start_closing(self, key: Hashable, entry: _Entry) -> asyncio.Task[None]:
        if entry.timer is not None:
            entry.timer.cancel()
        # Delete the entry first, so that the next user creates a new value instead of using a closing one.
        del self._entries[key]
        task = asyncio.get_running_loop().create_task(_close(entry))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task


async def _close(entry: _Entry) -> None:
    try:
        await entry.close(entry.value)
    except Exception:
        logger.exception("a shared value failed to close")
