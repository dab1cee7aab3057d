"""The attempts of a turn: when another one follows, and how much of the previous one remains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ChatRequest,
    DoneEvent,
    RequestError,
    Response,
    ResponseEvent,
    ServerError,
    StreamEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.chat.warning import WAITING_FOR_ROOM
from jumpseat.engine import TurnRequest, run_turn
from jumpseat.engine.retry import MAX_REPLANS
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text

REFUSED = RequestError("No.")
DROPPED = WarningEvent("parameter_dropped", "The parameter 'x' was left out.")
EXPIRED = AuthenticationError("Expired.")
OVERLOADED = ServerError("Overloaded.", retry_after=0)


async def run(*attempts: list[Step]) -> tuple[Response | ChatError, RecordingSink, ScriptedAdapter]:
    adapter = ScriptedAdapter(*attempts)
    return *await run_on(adapter, ask()), adapter


async def run_on(adapter: ScriptedAdapter, asked: TurnRequest) -> tuple[Response | ChatError, RecordingSink]:
    sink = RecordingSink()
    try:
        async with asyncio.timeout(10):
            return await run_turn(registry_of(adapter), asked, sink), sink
    except ChatError as error:
        return error, sink


class Changing(ScriptedAdapter):
    """Rejects every thinking level, and asks for another attempt without it."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        if request.thinking is not None:
            self.requests.append(request)
            changed = replace(request, thinking=None)
            raise Replan("refused_parameter:thinking", RequestError("No thinking."), changed)
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event


async def test_a_replan_sends_the_changed_request_without_an_event_to_the_client() -> None:
    adapter = Changing([*script_text("Hi"), DONE])
    outcome, sink = await run_on(adapter, ask(thinking="low"))

    assert isinstance(outcome, Response)
    assert [request.thinking for request in adapter.requests] == ["low", None]
    assert "retry" not in sink.types


async def test_a_refused_attempt_does_not_warn() -> None:
    first, second = WarningEvent("dropped", "Left out A."), WarningEvent("dropped", "Left out B.")
    outcome, sink, _ = await run([first, Replan("token", EXPIRED)], [second, *script_text("Hi"), DONE])

    assert isinstance(outcome, Response)
    assert outcome.warnings == (second,)
    assert [event for event in sink.events if isinstance(event, WarningEvent)] == [second]
    assert sink.types[:3] == ["start", "warning", "text_start"]


async def test_a_chat_that_waits_for_room_warns_before_its_answer() -> None:
    begin = asyncio.Event()
    waiting = WarningEvent(WAITING_FOR_ROOM, "It waits.")
    adapter, sink = ScriptedAdapter([waiting, begin, DONE]), RecordingSink()
    turn = asyncio.create_task(run_turn(registry_of(adapter), ask(), sink))
    async with asyncio.timeout(10):
        await sink.wait_for(WarningEvent)
        assert sink.types == ["start", "warning"]
        begin.set()
        response = await turn

    assert response.warnings == (waiting,)


async def test_each_reason_replans_once_and_then_its_error_is_final() -> None:
    again = AuthenticationError("Expired again.")
    outcome, sink, adapter = await run(
        [Replan("token", EXPIRED)], [Replan("other", EXPIRED)], [Replan("token", again)], [DONE]
    )

    assert outcome is again
    assert len(adapter.requests) == 3
    assert isinstance(end := sink.events[-1], DoneEvent)
    assert end.error is again
    assert again.partial is not None


async def test_a_replan_after_output_is_an_error() -> None:
    error = AuthenticationError("Expired.")
    outcome, sink, _ = await run([*script_text("Hi"), Replan("token", error)], [DONE])

    assert outcome is error
    assert error.partial is not None
    assert error.partial.text == "Hi"
    assert isinstance(end := sink.events[-1], DoneEvent)
    assert end.stop_reason == "error"


async def test_replans_and_retries_do_not_use_up_each_other() -> None:
    outcome, _, _ = await run([OVERLOADED], [Replan("token", EXPIRED)], [OVERLOADED], [DONE])

    assert isinstance(outcome, Response)


@pytest.mark.parametrize(
    "failure", [ServerError("Overloaded.", retry_after=0), Replan("token", REFUSED)], ids=["retry", "replan"]
)
async def test_ids_and_usage_of_a_failed_attempt_are_not_in_the_answer(failure: Exception) -> None:
    first = [ResponseEvent("m-2025", "r-1", "q-1"), UsageEvent(Usage(9, 9)), failure]
    outcome, _, _ = await run(first, [*script_text("Hi"), DONE])

    assert isinstance(outcome, Response)
    assert (outcome.response_id, outcome.provider_request_id, outcome.model) == (None, None, "m")
    assert (outcome.text, outcome.usage) == ("Hi", DONE.usage)


async def test_the_partial_excludes_ids_of_earlier_attempts() -> None:
    first = [ResponseEvent("m-2025", "r-1", "q-1"), Replan("token", REFUSED)]
    outcome, _, _ = await run(first, [RequestError("Still no.")])

    assert isinstance(outcome, RequestError)
    assert outcome.partial is not None
    assert outcome.partial.response_id is None


async def test_the_replans_of_a_turn_are_bounded() -> None:
    attempts: list[list[Step]] = [[Replan(f"refused_parameter:p{n}", REFUSED)] for n in range(100)]
    outcome, sink, adapter = await run(*attempts)

    assert outcome is REFUSED
    assert len(adapter.requests) == MAX_REPLANS + 1
    assert sink.types == ["start", "done"]


async def test_a_warning_that_every_attempt_repeats_is_sent_once() -> None:
    other = WarningEvent("parameter_dropped", "The parameter 'y' was left out.")
    _, sink, _ = await run(
        [DROPPED, Replan("refused_parameter:y", REFUSED)],
        [DROPPED, other, ServerError("Overloaded.", retry_after=0)],
        [DROPPED, other, *script_text("Hi"), DONE],
    )

    assert [event for event in sink.events if isinstance(event, WarningEvent)] == [DROPPED, other]


async def test_the_warning_of_a_replan_is_sent_only_if_there_is_another_attempt() -> None:
    replan = Replan("foreign_data", REFUSED, warning=DROPPED)
    for warnings in ([], [DROPPED]):  # The next attempt may repeat the warning.
        _, sink, _ = await run([replan], [*warnings, *script_text("Hi"), DONE])
        assert [event for event in sink.events if isinstance(event, WarningEvent)] == [DROPPED]

    outcome, sink, _ = await run([*script_text("Hi"), replan])
    assert outcome is REFUSED
    assert not any(isinstance(event, WarningEvent) for event in sink.events)
