"""What one attempt of a turn leaves to the next: nothing but what the provider's adapter has learned."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    ChatError,
    RequestError,
    Response,
    ResponseEvent,
    ServerError,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.engine import run_turn
from jumpseat.engine.retry import MAX_REPLANS
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, said

REFUSED = RequestError("No.")
DROPPED = WarningEvent("parameter_dropped", "The parameter 'x' was left out.")


async def run(*attempts: list[Step]) -> tuple[Response | ChatError, RecordingSink, ScriptedAdapter]:
    sink, adapter = RecordingSink(), ScriptedAdapter(*attempts)
    try:
        async with asyncio.timeout(10):
            return await run_turn(registry_of(adapter), ask(), sink), sink, adapter
    except ChatError as error:
        return error, sink, adapter


@pytest.mark.parametrize(
    "failure", [ServerError("Overloaded.", retry_after=0), Replan("token", REFUSED)], ids=["retry", "replan"]
)
async def test_the_answer_holds_nothing_of_an_attempt_that_failed(failure: Exception) -> None:
    first = [ResponseEvent("m-2025", "r-1", "q-1"), UsageEvent(Usage(9, 9)), failure]
    outcome, _, _ = await run(first, [*said("Hi"), DONE])

    assert isinstance(outcome, Response)
    assert (outcome.response_id, outcome.provider_request_id, outcome.model) == (None, None, "m")
    assert (outcome.text, outcome.usage) == ("Hi", DONE.usage)


async def test_neither_does_the_error_of_the_next_attempt() -> None:
    first = [ResponseEvent("m-2025", "r-1", "q-1"), Replan("token", REFUSED)]
    outcome, _, _ = await run(first, [RequestError("Still no.")])

    assert isinstance(outcome, RequestError)
    assert outcome.partial is not None
    assert outcome.partial.response_id is None


async def test_a_provider_that_always_wants_something_else_is_not_asked_for_ever() -> None:
    attempts: list[list[Step]] = [[Replan(f"refused_parameter:p{n}", REFUSED)] for n in range(100)]
    outcome, sink, adapter = await run(*attempts)

    assert outcome is REFUSED
    assert len(adapter.requests) == MAX_REPLANS + 1
    assert sink.types == ["start", "done"]


async def test_a_warning_that_every_attempt_repeats_is_told_once() -> None:
    other = WarningEvent("parameter_dropped", "The parameter 'y' was left out.")
    _, sink, _ = await run(
        [DROPPED, Replan("refused_parameter:y", REFUSED)],
        [DROPPED, other, ServerError("Overloaded.", retry_after=0)],
        [DROPPED, other, *said("Hi"), DONE],
    )

    assert [event for event in sink.events if isinstance(event, WarningEvent)] == [DROPPED, other]
