"""The clocks in one object, which tests replace."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: the wall clock may be set, and the monotonic one may stop while the machine sleeps."""

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
