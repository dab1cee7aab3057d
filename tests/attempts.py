"""What happens fast every time, on a machine that may have something else to do now and then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

ATTEMPTS = 4
"""What waits for something does so every time; a machine that is busy is so now and then."""


async def is_quick(seconds_taken: Callable[[], Awaitable[float]], within: float) -> None:
    """Fail where none of a few attempts was quick enough.

    Args:
        seconds_taken: makes one attempt and returns how long it took.
        within: the time that is allowed, in seconds.
    """
    took: list[float] = []
    while not took or took[-1] >= within:
        assert len(took) < ATTEMPTS, took
        took.append(await seconds_taken())
