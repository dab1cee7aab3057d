"""A clock that a test moves, for code that measures time or waits."""

from __future__ import annotations

import asyncio


class HandClock:
    """Both clocks of a machine, set by hand. Sleeping moves them at once and is noted."""

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
        """Let time pass for a machine that is awake."""
        self.wall += seconds
        self.steady += seconds

    def suspend(self, seconds: float) -> None:
        """Let time pass for a machine that sleeps: the monotonic clock stops, as on Linux."""
        self.wall += seconds

    def set_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self.wall += seconds
