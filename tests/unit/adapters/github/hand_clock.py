"""A clock that a test sets, for code that measures time or waits."""

from __future__ import annotations

import asyncio


class HandClock:
    """The wall clock and the monotonic clock, set by a test. A sleep advances both and is recorded."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.wall = now
        self.steady = 5000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_time(seconds)
        await asyncio.sleep(0)

    def pass_time(self, seconds: float) -> None:
        """Advance both clocks."""
        self.wall += seconds
        self.steady += seconds

    def suspend(self, seconds: float) -> None:
        """Advance only the wall clock, as when a Linux machine is suspended."""
        self.wall += seconds

    def adjust_wall(self, seconds: float) -> None:
        """Set the wall clock forward, or back if `seconds` is negative, as a user does."""
        self.wall += seconds
