"""Time limits on a machine that may sometimes be busy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ATTEMPTS = 5
"""Code that waits is slow every time; a busy machine only sometimes."""


async def is_quick(seconds_taken: Callable[[], Awaitable[float]], within: float) -> None:
    """Fail if none of a few attempts was quick enough.

    Args:
        seconds_taken: makes one attempt and returns how long it took.
        within: the time that is allowed, in seconds.
    """
    took: list[float] = []
    while not took or took[-1] >= within:
        assert len(took) < ATTEMPTS, took
        took.append(await seconds_taken())
