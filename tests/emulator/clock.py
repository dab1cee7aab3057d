"""The emulator's clock, which a test can advance.

Everything that expires asks here: device codes, Copilot tokens, sessions, quotas.
"""

from __future__ import annotations

import datetime
import time


class Clock:
    """Wall-clock time plus the seconds that a test added."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Add seconds."""
        self._ahead += seconds

    def first_of_next_month(self) -> datetime.datetime:
        """The next reset of monthly quotas."""
        today = datetime.datetime.fromtimestamp(self.now(), datetime.UTC)
        first = today.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return (first + datetime.timedelta(days=32)).replace(day=1)
