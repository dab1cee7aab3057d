"""The clocks in one object, which tests replace, and points in time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """A wall clock, a monotonic clock, and a sleep."""

    def now(self) -> float:
        """Seconds since 1970, from the wall clock."""
        ...

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after this many seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after this many seconds."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time by both clocks: one may be set, the other may stop while the machine sleeps."""

    monotonic: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """The current time."""
        return cls(time.monotonic(), time.time())

    def age(self) -> float:
        """Seconds since then, by the clock that shows more."""
        return max(time.monotonic() - self.monotonic, time.time() - self.wall)
