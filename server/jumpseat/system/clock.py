"""The machine's clocks, which tests can replace, and points in time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """A wall clock and a monotonic clock, with a function to sleep."""

    def now(self) -> float:
        """Return the seconds since 1970 by the wall clock."""
        ...

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment, by a clock that never goes backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def now(self) -> float:
        """Return the seconds since 1970 by the wall clock."""
        return time.time()

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment, by a clock that never goes backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time on both clocks, because neither is reliable alone.

    The wall clock may be changed, and the monotonic clock may stop while the machine sleeps.
    """

    monotonic: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """Return the current time."""
        return cls(time.monotonic(), time.time())

    def age(self) -> float:
        """Return the seconds since this moment, by the clock that has advanced further."""
        return max(time.monotonic() - self.monotonic, time.time() - self.wall)
