"""A cache for the values of slow sources, shared by all readers of a table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from jumpseat.system.secrets import Secret
from jumpseat.system.single_flight import SingleFlight


@dataclass(slots=True)
class _CachedValue:
    value: Secret
    first_read: int
    """The number of the read that first returned this value. The reads of all sources are numbered from 1."""

    last_read: int
    """The number of the last read of this source."""


class SourceCache:
    """The cached values by source. The cache may outlive an event loop. Failures are not cached."""

    def __init__(self) -> None:
        self.read_count = 0
        """The number of successful reads."""

        self._values: dict[str, _CachedValue] = {}
        self._flights: dict[tuple[asyncio.AbstractEventLoop, str], SingleFlight[Secret]] = {}

    def find(self, source: str) -> Secret | None:
        """Return the cached value of a source; None if it has not been read."""
        remembered = self._values.get(source)
        return None if remembered is None else remembered.value

    def list_older_than(self, since: int) -> list[str]:
        """Return the sources that have not been read since `read_count` was equal to `since`."""
        return [source for source, each in self._values.items() if each.last_read <= since]

    def has_changed(self, since: int) -> bool:
        """Whether any value is new or different since `read_count` was equal to `since`."""
        return any(each.first_read > since for each in self._values.values())

    def forget(self) -> None:
        """Clear the cache, so that each source is read again when next needed."""
        self._values.clear()

    async def read(self, source: str, read: Callable[[], Coroutine[Any, Any, Secret]]) -> Secret:
        """Read a source now, even if its value is cached. Concurrent callers share one read.

        Raises:
            SourceError: `read` failed. The cached value stays in the cache.
        """
        key = (asyncio.get_running_loop(), source)
        flight = self._flights.setdefault(key, SingleFlight(ends_with_its_callers=True))
        try:
            return await flight.run(lambda: self._read_and_store(source, read))
        finally:
            if not flight.is_running and self._flights.get(key) is flight:
                del self._flights[key]

    async def _read_and_store(self, source: str, read: Callable[[], Coroutine[Any, Any, Secret]]) -> Secret:
        value = await read()
        before = self._values.get(source)
        self.read_count += 1
        is_same = before is not None and before.value.reveal() == value.reveal()
        first_read = before.first_read if before is not None and is_same else self.read_count
        self._values[source] = _CachedValue(value, first_read, self.read_count)
        return value
