"""Time as the identity layer needs it, in one object, so that a test can bring its own."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks, because each misses something: the wall's is set, the monotonic one may stop in sleep."""

    def now(self) -> float:
        """Seconds since 1970, as the machine's wall clock has them."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever go up."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only ever go up."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let the event loop do other things for so long."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
