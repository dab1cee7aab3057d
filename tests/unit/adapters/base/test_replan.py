"""Requests other than chats are repeated once, as the engine repeats a chat."""

from __future__ import annotations

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.base.replan import repeat_once
from jumpseat.chat import AuthenticationError


@pytest.mark.parametrize(("failures", "attempts"), [(0, 1), (1, 2), (2, 2)])
async def test_a_request_is_repeated_once_and_then_its_error_is_raised(failures: int, attempts: int) -> None:
    errors = [AuthenticationError(f"Refused {number}.", provider="p") for number in range(failures)]
    made = 0

    async def attempt() -> str:
        nonlocal made
        made += 1
        if made <= failures:
            raise Replan("expired_token", errors[made - 1])
        return "answer"

    if failures < 2:
        assert await repeat_once(attempt) == "answer"
    else:
        with pytest.raises(AuthenticationError, match=r"Refused 1\."):
            await repeat_once(attempt)
    assert made == attempts
