"""Limits how often a program is started again if it keeps ending."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable


class StartLimit:
    """A limit for the number of starts of one program within a period."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            most: the maximum number of starts within `seconds`.
            seconds: the length of the period.
            clock: returns monotonic seconds.
        """
        self._clock = clock
        self._seconds = seconds
        self._starts: deque[float] = deque(maxlen=most)

    def count(self) -> float | None:
        """If a start is allowed now, count it and return None. Otherwise, return the seconds to wait."""
        # The deque contains the last `most` starts, the oldest first.
        now = self._clock()
        if len(self._starts) == self._starts.maxlen and now - self._starts[0] < self._seconds:
            return self._seconds - (now - self._starts[0])
        self._starts.append(now)
        return None

    def give_back(self) -> None:
        """Remove the last start from the count."""
        self._starts.pop()

    def clear(self) -> None:
        """Forget all starts."""
        self._starts.clear()
