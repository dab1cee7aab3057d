"""Turns with tools that end early: limits, loops, cancels and failures."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.chat import (
    BlockDoneEvent,
    ChatCancelled,
    DoneEvent,
    Message,
    Origin,
    RequestError,
    Response,
    ServerError,
    ToolApprovalEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    Usage,
)
from jumpseat.engine.rounds import CANCELLED_CALL, TOO_MANY_CALLS
from jumpseat.engine.tool_calls import UNANSWERED_CALL
from tests.unit.engine.rounds import ANSWER, refold, run, script_calls, shapes
from tests.unit.scripted import RecordingSink, ScriptedAdapter, ask
from tests.unit.tools.scripted_server import ScriptedServer, make_call

pytestmark = pytest.mark.requirement("12:rounds")


@pytest.mark.requirement("12:max-rounds")
async def test_the_calls_of_the_last_allowed_round_are_run() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")), script_calls(make_call("shed__dig", "2")))
    response, sink = await run(adapter, ScriptedServer(), max_rounds=2)

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", "result 1: ok", "call 2", "result 2: ok"]
    assert (response.stop_reason, response.rounds) == ("max_rounds", 2)
    assert isinstance(sink.events[-1], DoneEvent)
    assert sink.events[-1].stop_reason == "max_rounds"


@pytest.mark.requirement("12:max-calls")
async def test_a_call_above_the_limit_is_an_error_and_ends_the_turn() -> None:
    calls = [make_call("shed__dig", str(number)) for number in range(3)]
    response, _ = await run(ScriptedAdapter(script_calls(*calls)), ScriptedServer(), max_calls=2)

    assert isinstance(response, Response)
    assert shapes(response.content)[3:] == ["result 0: ok", "result 1: ok", f"error 2: {TOO_MANY_CALLS}"]
    assert {block.origin for block in response.content[3:]} == {Origin("daemon", "shed/dig")}
    assert response.stop_reason == "max_rounds"


@pytest.mark.requirement("12:loop")
async def test_the_third_identical_call_with_the_same_result_ends_the_turn() -> None:
    rounds = [
        script_calls(make_call("shed__dig", "1", a=1, b=[2])),
        script_calls(make_call("shed__dig", "2", b=[2], a=1)),
        script_calls(make_call("shed__dig", "3", a=1, b=[2])),
    ]
    server = ScriptedServer()
    response, _ = await run(ScriptedAdapter(*rounds, ANSWER), server)

    assert isinstance(response, Response)
    assert (response.stop_reason, len(server.calls)) == ("max_rounds", 3)
    assert [warning.code for warning in response.warnings] == ["tool_loop"]


async def test_an_identical_call_with_another_result_is_not_a_loop() -> None:
    server = ScriptedServer()
    server.script["dig"] = ["one", "two", "three"]
    rounds = [script_calls(make_call("shed__dig", str(number))) for number in range(3)]
    response, _ = await run(ScriptedAdapter(*rounds, ANSWER), server)

    assert isinstance(response, Response)
    assert response.stop_reason == "end_turn"


@pytest.mark.requirement("12:partial")
async def test_a_failed_round_keeps_the_finished_results() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")), [RequestError("No.")])
    error, sink = await run(adapter, ScriptedServer())

    assert isinstance(error, RequestError)
    assert error.partial is not None
    assert shapes(error.partial.content) == ["call 1", "result 1: ok"]
    assert error.partial.rounds == 2
    assert isinstance(sink.events[-1], DoneEvent)
    assert list(sink.events[-1].content or ()) == list(error.partial.content)


@pytest.mark.requirement("12:partial")
async def test_a_call_before_a_failure_of_its_own_round_gets_an_error_result() -> None:
    steps = [*script_calls(make_call("shed__dig"))[:-1], ServerError("Broke off.")]
    error, sink = await run(ScriptedAdapter(steps), ScriptedServer())

    assert isinstance(error, ServerError)
    assert error.partial is not None
    assert shapes(error.partial.content) == ["call 1", f"error 1: {UNANSWERED_CALL}"]
    assert refold(sink) == error.partial.content


@pytest.mark.requirement("12:cancel")
async def test_a_cancel_during_calls_keeps_the_finished_results() -> None:
    server = ScriptedServer()
    server.script["dig"] = [asyncio.Event()]
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig"), make_call("shed__rake", "2")))
    sink = RecordingSink()
    turn = asyncio.create_task(run(adapter, server, sink=sink))
    async with asyncio.timeout(10):
        await server.started.acquire()
        await server.started.acquire()
    turn.cancel()
    error, _ = await turn

    assert isinstance(error, ChatCancelled)
    assert error.partial is not None
    assert shapes(error.partial.content) == [
        "call 1",
        "call 2",
        f"error 1: {CANCELLED_CALL}",
        "result 2: ok",
    ]
    assert server.cancelled == ["dig"]
    assert server.turns[-1] == "end"


@pytest.mark.requirement("12:cancel")
async def test_a_cancel_while_the_user_is_asked_ends_the_call() -> None:
    sink = RecordingSink()
    server = ScriptedServer()
    turn = asyncio.create_task(
        run(ScriptedAdapter(script_calls(make_call("shed__dig"))), server, sink=sink, allow=[])
    )
    await sink.wait_for(ToolApprovalEvent)
    turn.cancel()
    error, _ = await turn

    assert isinstance(error, ChatCancelled)
    assert error.partial is not None
    assert shapes(error.partial.content) == ["call 1", f"error 1: {CANCELLED_CALL}"]
    assert error.partial.content[1].origin == Origin("daemon", "shed/dig")
    assert server.calls == []


@pytest.mark.requirement("12:cancel")
async def test_a_cancel_while_the_model_answers_keeps_its_complete_calls() -> None:
    never = asyncio.Event()
    sink = RecordingSink()
    half = [*script_calls(make_call("shed__dig"))[:-1], ToolUseStartEvent(1, "2", "shed__rake"), never]
    turn = asyncio.create_task(run(ScriptedAdapter(half), ScriptedServer(), sink=sink))
    await sink.wait_for(ToolUseDoneEvent)
    turn.cancel()
    error, _ = await turn

    assert isinstance(error, ChatCancelled)
    assert error.partial is not None
    assert shapes(error.partial.content) == ["call 1", f"error 1: {CANCELLED_CALL}"]
    added = [event for event in sink.events if isinstance(event, BlockDoneEvent)]
    assert [event.block for event in added] == [2]


@pytest.mark.requirement("12:continuation")
async def test_a_turn_continues_after_a_result_and_returns_only_new_blocks() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")))
    stopped, _ = await run(adapter, ScriptedServer(), max_rounds=1)
    assert isinstance(stopped, Response)
    assert stopped.stop_reason == "max_rounds"
    adapter = ScriptedAdapter(ANSWER)
    response, _ = await run(adapter, ScriptedServer(), ask(Message.user("Why?"), stopped.as_message()))

    assert isinstance(response, Response)
    assert shapes(response.content) == ["Done."]
    assert [message.role for message in adapter.requests[0].messages] == ["user", "assistant", "user"]
    assert adapter.requests[0].effective_initiator() == "agent"


async def test_the_calls_of_a_cut_off_answer_are_not_run() -> None:
    steps = [*script_calls(make_call("shed__dig"))[:-1], DoneEvent("max_tokens", Usage(1, 1))]
    server = ScriptedServer()
    response, _ = await run(ScriptedAdapter(steps), server)

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", f"error 1: {UNANSWERED_CALL}"]
    assert (response.stop_reason, server.calls) == ("max_tokens", [])
