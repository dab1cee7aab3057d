"""Limits how often a program is started, in case it ends again each time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable


class StartLimit:
    """The recent starts of one program."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            most: the most starts within the time.
            seconds: the time.
            clock: returns monotonic seconds.
        """
        self._clock = clock
        self._seconds = seconds
        self._starts: deque[float] = deque(maxlen=most)

    def count(self) -> float | None:
        """Count a start, or return the seconds after which the next one is allowed."""
        # The deque contains the last starts, so its first one is the oldest that counts.
        now = self._clock()
        if len(self._starts) == self._starts.maxlen and now - self._starts[0] < self._seconds:
            return self._seconds - (now - self._starts[0])
        self._starts.append(now)
        return None

    def give_back(self) -> None:
        """Uncount the last start."""
        self._starts.pop()

    def clear(self) -> None:
        """Uncount all starts."""
        self._starts.clear()
