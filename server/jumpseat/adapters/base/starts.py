"""Limits how often a provider's program is started, in case it crashes at each use."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from jumpseat.chat import ConnectionError

MAX_STARTS = 5
STARTS_WITHIN_SECONDS = 180.0


class StartBudget:
    """The recent starts of one program."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: returns monotonic seconds.
        """
        self._clock = clock
        self._starts: deque[float] = deque(maxlen=MAX_STARTS)

    def count(self, provider: str | None, what: str, end: str | None) -> None:
        """Count a start.

        Args:
            provider: the configured provider's id, for the error; None if several providers use the program.
            what: the program, as the subject of a sentence.
            end: how its last run ended, as a clause: "it was killed by signal 9."

        Raises:
            ConnectionError: the program was started too often.
        """
        # The deque contains the last `MAX_STARTS` starts, so its first one is the oldest that counts.
        now = self._clock()
        if len(self._starts) == MAX_STARTS and now - self._starts[0] < STARTS_WITHIN_SECONDS:
            wait = STARTS_WITHIN_SECONDS - (now - self._starts[0])
            last = f" The last time {end}" if end is not None else ""
            raise ConnectionError(
                f"{what} has ended {MAX_STARTS} times within {STARTS_WITHIN_SECONDS / 60:g} minutes and is "
                "not started again for now.",
                provider=provider,
                retry_after=wait,
                hint=f"Wait {wait:.0f} s, or restart jumpseat. The daemon's log has details, more "
                f"at the level debug.{last}",
                retryable=False,
            )
        self._starts.append(now)

    def give_back(self) -> None:
        """Uncount the last start, which failed because of its configuration."""
        self._starts.pop()
