"""The only retry budget: which errors are retried, how often, and after which delay."""

from __future__ import annotations

import pytest

from jumpseat.chat import ChatError, QuotaExceededError, RateLimitError, RequestError, ServerError
from jumpseat.engine.retry import (
    DEFAULT_MAX_RETRIES,
    FIRST_DELAY_SECONDS,
    JITTER,
    MAX_BACKOFF_SECONDS,
    MAX_REPLANS,
    RetryBudget,
)


def test_two_retries_are_the_default() -> None:
    assert (RetryBudget().max_attempts, DEFAULT_MAX_RETRIES) == (3, 2)


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (ServerError("Down."), True),
        (ServerError("Down for good.", retryable=False), False),
        (RateLimitError("Slow down."), True),
        (RequestError("Wrong."), False),
        (RequestError("Wrong for now.", retryable=True), True),
    ],
)
def test_the_error_determines_whether_the_turn_is_retried(error: ChatError, retried: bool) -> None:
    assert (RetryBudget().delay_before_retry(error) is not None) is retried


def test_an_error_that_the_providers_own_program_retried_is_final() -> None:
    error = RateLimitError("Slow down.", retry_after=1)
    error.forbids_retry = True

    assert RetryBudget().delay_before_retry(error) is None
    assert error.retryable


@pytest.mark.requirement("6:quota")
def test_a_quota_that_is_used_up_is_never_retried() -> None:
    assert RetryBudget().delay_before_retry(QuotaExceededError("Used up.", retry_after=1)) is None


@pytest.mark.parametrize("max_retries", [0, 1, 5])
def test_the_last_attempt_is_not_retried(max_retries: int) -> None:
    budget = RetryBudget(max_retries)
    for attempt in range(1, max_retries + 1):
        budget.attempt = attempt
        assert budget.delay_before_retry(ServerError("Down.")) is not None

    budget.attempt = max_retries + 1
    assert budget.delay_before_retry(ServerError("Down.")) is None


@pytest.mark.requirement("chat:retry-after-long")
@pytest.mark.requirement("6:rate-limit")
@pytest.mark.parametrize(("asked", "waits"), [(0, 0), (0.5, 0.5), (60, 60), (60.1, None), (3600, None)])
def test_a_requested_wait_of_up_to_a_minute_is_respected_exactly(asked: float, waits: float | None) -> None:
    assert RetryBudget().delay_before_retry(RateLimitError("Slow down.", retry_after=asked)) == waits


@pytest.mark.parametrize("attempt", range(1, 9))
def test_default_waits_double_up_to_a_limit_minus_a_random_share(attempt: int) -> None:
    budget = RetryBudget(max_retries=10, attempt=attempt)
    longest = min(FIRST_DELAY_SECONDS * 2 ** (attempt - 1), MAX_BACKOFF_SECONDS)

    delays = [budget.delay_before_retry(ServerError("Down.")) for _ in range(50)]

    assert all(delay is not None and longest * (1 - JITTER) <= delay <= longest for delay in delays)
    assert len(set(delays)) > 1


def test_the_number_of_replans_of_a_turn_is_bounded() -> None:
    budget = RetryBudget()

    allowed = [budget.try_replan(f"refused_parameter:p{number}") for number in range(MAX_REPLANS + 5)]

    assert allowed == [True] * MAX_REPLANS + [False] * 5


def test_each_reason_replans_once() -> None:
    budget = RetryBudget()

    assert [budget.try_replan(reason) for reason in ("a", "b", "a", "b")] == [True, True, False, False]
