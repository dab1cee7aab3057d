"""The emulator's clock, which a test can advance.

It determines when device codes, Copilot tokens, sessions and quotas expire.
"""

from __future__ import annotations

import datetime
import time


class Clock:
    """The wall-clock time plus the seconds that a test added."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def first_of_next_month(self) -> datetime.datetime:
        """Return the time of the next reset of monthly quotas."""
        today = datetime.datetime.fromtimestamp(self.now(), datetime.UTC)
        first = today.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return (first + datetime.timedelta(days=32)).replace(day=1)
