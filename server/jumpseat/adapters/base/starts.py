"""Limits how often a provider's program is started, in case it crashes at each use."""

from __future__ import annotations

import time
from collections.abc import Callable

from jumpseat.chat import ConnectionError
from jumpseat.system.start_limit import StartLimit

MAX_STARTS = 5
STARTS_WITHIN_SECONDS = 180.0


class StartBudget(StartLimit):
    """The recent starts of one program."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: returns monotonic seconds.
        """
        super().__init__(MAX_STARTS, STARTS_WITHIN_SECONDS, clock)

    def take(self, provider: str | None, what: str, end: str | None) -> None:
        """Count a start.

        Args:
            provider: the configured provider's id, for the error; None if several providers use the program.
            what: the program, as the subject of a sentence.
            end: how its last run ended, as a clause: "it was killed by signal 9."

        Raises:
            ConnectionError: the program was started too often.
        """
        wait = self.count()
        if wait is not None:
            last = f" The last time {end}" if end is not None else ""
            raise ConnectionError(
                f"{what} has ended {MAX_STARTS} times within {STARTS_WITHIN_SECONDS / 60:g} minutes and is "
                "not started again for now.",
                provider=provider,
                retry_after=wait,
                hint=f"Wait {wait:.0f} s, or restart jumpseat. The daemon's log has details, and the level "
                f"debug adds more.{last}",
                retryable=False,
            )
