"""The one retry budget of the house: no adapter and no HTTP layer retries by itself."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from jumpseat.chat import ChatError

DEFAULT_MAX_RETRIES = 2
FIRST_DELAY_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 8.0

LONGEST_HONOURED_DELAY_SECONDS = 60.0
"""A provider that asks for a longer wait is reported instead: nobody watches a spinner for minutes."""

MAX_REPLANS = 8
"""Replans of one turn: as many as a request has parameters that a strict endpoint refuses one by one."""

JITTER = 0.25
"""The share by which a delay of our own is shortened at random, so that clients do not return together."""


@dataclass(slots=True)
class RetryBudget:
    """How often one turn may try, and how long it waits in between."""

    max_retries: int = DEFAULT_MAX_RETRIES
    attempt: int = 1
    """The attempt under way, from 1."""

    reasons: set[str] = field(default_factory=set)
    """The reasons for which the turn was already replanned."""

    @property
    def max_attempts(self) -> int:
        """The first try and the retries."""
        return self.max_retries + 1

    def delay_before_retry(self, error: ChatError) -> float | None:
        """Seconds to wait before the next attempt; None where the error is final."""
        if not error.retryable or error.was_retried or self.attempt >= self.max_attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_HONOURED_DELAY_SECONDS else None
        backoff = min(FIRST_DELAY_SECONDS * 2.0 ** (self.attempt - 1), LONGEST_BACKOFF_SECONDS)
        return backoff * (1 - JITTER * random.random())  # noqa: S311 - jitter needs no secrecy

    def may_replan(self, reason: str) -> bool:
        """Whether this reason is new and the turn may be replanned once more; each counts once in a turn."""
        if reason in self.reasons or len(self.reasons) >= MAX_REPLANS:
            return False
        self.reasons.add(reason)
        return True
