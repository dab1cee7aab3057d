"""Checks time limits on a machine that may sometimes be busy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ATTEMPTS = 5
"""The number of attempts. Code that waits is slow every time, but a busy machine is slow only sometimes."""


async def is_quick(seconds_taken: Callable[[], Awaitable[float]], within: float) -> None:
    """Fail if none of a few attempts is quick enough.

    Args:
        seconds_taken: makes one attempt and returns its duration in seconds.
        within: the time limit in seconds.
    """
    took: list[float] = []
    while not took or took[-1] >= within:
        assert len(took) < ATTEMPTS, took
        took.append(await seconds_taken())
