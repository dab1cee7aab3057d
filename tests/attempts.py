"""Checks time limits on a machine that may sometimes be busy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ATTEMPTS = 5
"""The number of attempts. Code that waits too long is always slow; a busy machine is slow only sometimes."""


async def assert_quick(seconds_taken: Callable[[], Awaitable[float]], within: float) -> None:
    """Make attempts until one stays within the time limit. Fail if `ATTEMPTS` attempts have exceeded it.

    Args:
        seconds_taken: makes one attempt and returns its duration in seconds.
        within: the time limit in seconds.
    """
    took: list[float] = []
    while not took or took[-1] >= within:
        assert len(took) < ATTEMPTS, took
        took.append(await seconds_taken())
