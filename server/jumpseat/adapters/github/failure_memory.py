"""Remembers for a while that asking has failed, so that many callers do not become many requests."""

from __future__ import annotations

from jumpseat.chat import ChatError
from jumpseat.system.clock import Clock

FIRST_BACKOFF_SECONDS = 0.25
"""Below the engine's first delay, so that its retries do reach GitHub."""

LONGEST_BACKOFF_SECONDS = 60.0
FINAL_SECONDS = 30.0
"""How long a refusal counts that waiting does not cure: its cause may have been mended by then."""


class FailureMemory:
    """The last failure of one kind of request. Its times are monotonic: setting a clock stretches none."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: Exception | None = None
        self._in_a_row = 0
        self._until = 0.0

    def current(self) -> Exception | None:
        """The failure that still counts; None where it is time to ask again."""
        return self._last if self._clock.monotonic() < self._until else None

    def note(self, failure: Exception) -> None:
        """It has failed: pauses double with each failure in a row, or are what the provider asked for."""
        pause = FINAL_SECONDS
        if isinstance(failure, ChatError) and failure.retryable:
            backoff = min(FIRST_BACKOFF_SECONDS * 2.0**self._in_a_row, LONGEST_BACKOFF_SECONDS)
            pause = backoff if failure.retry_after is None else failure.retry_after
        self._in_a_row = min(self._in_a_row + 1, 16)
        self._last = failure
        self._until = self._clock.monotonic() + pause

    def clear(self) -> None:
        """It has worked."""
        self._last, self._in_a_row, self._until = None, 0, 0.0
