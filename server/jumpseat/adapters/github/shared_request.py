"""A request to GitHub that concurrent callers share.

Its failure is kept for a while, so that many failing chats do not cause many requests.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from jumpseat.chat import ChatError
from jumpseat.system.clock import Clock
from jumpseat.system.single_flight import SingleFlight

T = TypeVar("T")

FIRST_BACKOFF_SECONDS = 0.25
"""Shorter than the engine's first delay, so that its retries reach GitHub."""

LONGEST_BACKOFF_SECONDS = 60.0
FINAL_SECONDS = 30.0
"""How long a failure is kept that is not retryable; the user may fix its cause meanwhile."""

_MOST_DOUBLINGS = 16


class SharedRequest(Generic[T]):
    """A request that runs once at a time for any number of callers."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]], clock: Clock) -> None:
        """
        Args:
            work: makes the request once.
            clock: measures pauses, by its monotonic time.
        """
        self._work = work
        self._clock = clock
        self._flight: SingleFlight[T] = SingleFlight()
        self._failure: ChatError | None = None
        self._failures_in_a_row = 0
        self._failure_counts_until = 0.0

    @property
    def failure(self) -> ChatError | None:
        """The last failure while it is kept; None if the request may be made."""
        return self._failure if self._clock.monotonic() < self._failure_counts_until else None

    async def run(self, *, insist: bool = False) -> T:
        """The result of the request under way, started now if there is none.

        Args:
            insist: make the request even if it has just failed.

        Raises:
            ChatError: it fails, or an earlier failure is still kept.
        """
        failure = None if insist else self.failure
        if failure is not None:
            raise _copied(failure)
        try:
            return await self._flight.run(self._attempt)
        except ChatError as error:
            raise _copied(error) from None

    def start(self) -> None:
        """Start the request in the background, unless it is under way."""
        self._flight.start(self._attempt)

    def supersede(self, error: ChatError) -> None:
        """Replace the kept failure, if there is one, by a later finding of another request."""
        if self.failure is not None:
            self._keep(error)

    async def aclose(self) -> None:
        """Cancel the request under way."""
        await self._flight.aclose()

    async def _attempt(self) -> T:
        try:
            result = await self._work()
        except ChatError as error:
            self._keep(error)
            self._failures_in_a_row = min(self._failures_in_a_row + 1, _MOST_DOUBLINGS)
            raise
        self._failure, self._failures_in_a_row = None, 0
        return result

    def _keep(self, error: ChatError) -> None:
        self._failure_counts_until = self._clock.monotonic() + self._pause_after(error)
        self._failure = error

    def _pause_after(self, error: ChatError) -> float:
        if not error.retryable:
            return FINAL_SECONDS
        backoff = min(FIRST_BACKOFF_SECONDS * 2.0**self._failures_in_a_row, LONGEST_BACKOFF_SECONDS)
        return backoff if error.retry_after is None else error.retry_after


def _copied(error: ChatError) -> ChatError:
    # A new object for each caller: a shared one would collect the tracebacks of all.
    fresh = copy.copy(error)
    fresh.__traceback__ = None
    return fresh
