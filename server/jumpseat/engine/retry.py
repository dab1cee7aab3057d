"""The retry budget of a turn, a round or a completion. Adapters and the HTTP layer do not retry."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from jumpseat.chat import ChatError

DEFAULT_MAX_RETRIES = 2
FIRST_DELAY_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 8.0

MAX_PROVIDER_DELAY_SECONDS = 60.0
"""The longest delay that a provider may request. If it requests a longer one, its error is reported."""

MAX_REPLANS = 8
"""The maximum number of replans within a budget; a strict endpoint may refuse its parameters one by one."""

JITTER = 0.25
"""The largest share by which backoff is shortened at random, so that clients do not retry simultaneously."""


@dataclass(slots=True)
class RetryBudget:
    """The attempts that are allowed, and the delays between them. Each round of a turn has its own budget."""

    max_retries: int = DEFAULT_MAX_RETRIES
    attempt: int = 1
    """The number of the current attempt, starting at 1."""

    reasons: set[str] = field(default_factory=set)
    """The reasons of the replans so far."""

    @property
    def max_attempts(self) -> int:
        """The number of attempts, including the first one."""
        return self.max_retries + 1

    def delay_before_retry(self, error: ChatError) -> float | None:
        """Return the seconds to wait before the next attempt; None if the error must be reported instead."""
        if not error.retryable or error.forbids_retry or self.attempt >= self.max_attempts:
            return None
        # A provider's own delay is exact, so it needs no jitter.
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= MAX_PROVIDER_DELAY_SECONDS else None
        backoff = min(FIRST_DELAY_SECONDS * 2.0 ** (self.attempt - 1), MAX_BACKOFF_SECONDS)
        return backoff * (1 - JITTER * random.random())  # noqa: S311 - jitter needs no secrecy

    def try_replan(self, reason: str) -> bool:
        """Return whether a replan for this reason is allowed, and record it; each reason is allowed once."""
        if reason in self.reasons or len(self.reasons) >= MAX_REPLANS:
            return False
        self.reasons.add(reason)
        return True
