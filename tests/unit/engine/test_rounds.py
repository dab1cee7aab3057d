"""Turns with tools that the daemon runs: rounds, their calls and results."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jumpseat.chat import (
    BlockDoneEvent,
    ChatError,
    DoneEvent,
    Message,
    Origin,
    RateLimitError,
    RequestError,
    Response,
    ResponseEvent,
    StartEvent,
    TextBlock,
    ToolDefinition,
    ToolStatusEvent,
    ToolUseBlock,
    ToolUseDoneEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.opaque import CALL_ID, read_opaque
from jumpseat.engine import TokenMemory, run_turn
from tests.unit.engine.rounds import ANSWER, END, GREP, refold, run, script_calls, shapes
from tests.unit.scripted import RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text
from tests.unit.tools.scripted_server import ScriptedServer, begin_turn, make_call, make_host

pytestmark = pytest.mark.requirement("12:rounds")


@pytest.mark.requirement("12:one-message", "12:result-blocks", "12:usage-sum", "12:initiator")
async def test_a_call_is_run_and_the_model_goes_on_in_the_same_answer() -> None:
    # `[1:]` leaves out the event that begins an answer. After the text, it would start the answer again.
    adapter = ScriptedAdapter(
        [*script_text("Let me see."), *script_calls(make_call("shed__dig", depth=2), first=1)[1:]], ANSWER
    )
    server = ScriptedServer()
    server.script["dig"] = ["a bone"]
    response, sink = await run(adapter, server)

    assert isinstance(response, Response)
    assert shapes(response.content) == ["Let me see.", "call 1", "result 1: a bone", "Done."]
    assert server.calls == [("dig", {"depth": 2})]
    assert server.turns == ["begin c", "end"]
    assert response.content[2].origin == Origin("daemon", "shed/dig")
    assert (response.stop_reason, response.rounds, response.tool_calls) == ("end_turn", 2, [])
    assert response.usage == Usage(13, 7)
    assert refold(sink) == response.content
    assert [type(event) for event in sink.events if isinstance(event, StartEvent | DoneEvent)] == [
        StartEvent,
        DoneEvent,
    ]
    first, second = adapter.requests
    assert [tool.name for tool in first.tools] == ["shed__dig", "shed__rake"]
    assert (first.effective_initiator(), second.effective_initiator()) == ("user", "agent")
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert shapes(second.messages[2].content) == ["result 1: a bone"]


async def test_blocks_are_numbered_through_all_rounds() -> None:
    adapter = ScriptedAdapter(
        script_calls(make_call("shed__dig")), script_calls(make_call("shed__rake", "2")), ANSWER
    )
    response, sink = await run(adapter, ScriptedServer())

    assert isinstance(response, Response)
    done = [
        (event.block, event.content)
        for event in sink.events
        if isinstance(event, ToolUseDoneEvent | BlockDoneEvent)
    ]
    assert [number for number, _ in done] == [0, 1, 2, 3]
    assert [content for _, content in done] == list(response.content[:4])
    assert sink.types.count("response") == 1


async def test_the_calls_of_a_round_run_at_the_same_time_and_keep_their_order() -> None:
    server = ScriptedServer()
    slow = asyncio.Event()
    server.script["dig"] = [slow]
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig"), make_call("shed__rake", "2")), ANSWER)
    running = asyncio.create_task(run(adapter, server))
    async with asyncio.timeout(10):
        await server.started.acquire()
        await server.started.acquire()
    slow.set()
    response, _ = await running

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", "call 2", "result 1: done", "result 2: ok", "Done."]


@pytest.mark.requirement("12:client-tools")
async def test_a_round_with_a_call_of_the_client_ends_the_turn_after_the_daemons_calls() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("grep"), make_call("shed__dig", "2")))
    response, sink = await run(adapter, ScriptedServer(), ask(tools=(GREP,)))

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", "call 2", "result 2: ok"]
    assert [call.id for call in response.tool_calls] == ["1"]
    assert (response.stop_reason, response.rounds) == ("tool_use", 1)
    assert refold(sink) == response.content


@pytest.mark.requirement("12:tool-names")
async def test_a_client_tool_with_the_name_of_a_daemon_tool_is_refused() -> None:
    error, sink = await run(
        ScriptedAdapter(ANSWER), ScriptedServer(), ask(tools=(ToolDefinition("shed__dig"),))
    )

    assert isinstance(error, ChatError)
    assert "tools.0.name" in error.message
    assert sink.types == ["start", "done"]


@pytest.mark.requirement("12:unreadable-call")
@pytest.mark.parametrize(
    ("call", "result"),
    [
        (make_call("shed__burn"), "There is no tool named shed__burn."),
        (ToolUseBlock("1", "shed__dig", None, "{", "The call is cut off."), "The call is cut off."),
        (ToolUseBlock("1", "grep", None, "{", "cut off"), "There is no tool named grep."),
    ],
)
async def test_a_call_that_cannot_be_run_is_an_error_result(call: ToolUseBlock, result: str) -> None:
    server = ScriptedServer()
    response, sink = await run(ScriptedAdapter(script_calls(call), ANSWER), server, ask(tools=(GREP,)))

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", f"error 1: {result}", "Done."]
    assert server.calls == []
    assert [event.status for event in sink.events if isinstance(event, ToolStatusEvent)] == ["failed"]


@pytest.mark.requirement("12:tool-choice")
async def test_a_forced_tool_choice_applies_only_to_the_first_round() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")), ANSWER)
    await run(adapter, ScriptedServer(), ask(tool_choice="required"))

    assert [request.tool_choice for request in adapter.requests] == ["required", "auto"]


async def test_a_later_round_is_retried_before_its_first_output() -> None:
    adapter = ScriptedAdapter(
        script_calls(make_call("shed__dig")),
        [ResponseEvent("m"), RateLimitError("Busy.", retry_after=0)],
        ANSWER,
    )
    response, sink = await run(adapter, ScriptedServer())

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", "result 1: ok", "Done."]
    assert (sink.types.count("retry"), sink.types.count("response")) == (1, 1)


async def test_an_answer_that_starts_again_in_a_later_round_repeats_the_earlier_blocks() -> None:
    again: list[Step] = [
        ResponseEvent("m"),
        *script_text("Do"),
        ResponseEvent("m"),
        *script_text("Done."),
        END,
    ]
    response, sink = await run(ScriptedAdapter(script_calls(make_call("shed__dig")), again), ScriptedServer())

    assert isinstance(response, Response)
    assert shapes(response.content) == ["call 1", "result 1: ok", "Done."]
    assert sink.types.count("response") == 2
    assert refold(sink) == response.content


@pytest.mark.requirement("12:usage-sum")
async def test_usage_events_count_the_earlier_rounds_too() -> None:
    second: list[Step] = [
        ResponseEvent("m"),
        UsageEvent(Usage(3, 0)),
        *script_text("Done."),
        DoneEvent("end_turn"),
    ]
    response, sink = await run(
        ScriptedAdapter(script_calls(make_call("shed__dig")), second), ScriptedServer()
    )

    assert isinstance(response, Response)
    assert [event.usage for event in sink.events if isinstance(event, UsageEvent)] == [Usage(13, 5)]
    assert response.usage == Usage(13, 5)


async def test_the_length_of_a_prompt_is_known_from_the_usage_of_its_own_round_alone() -> None:
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")), ANSWER)
    tokens = TokenMemory()
    await run_turn(
        registry_of(adapter),
        ask(),
        RecordingSink(),
        tokens=tokens,
        tools=begin_turn(make_host(ScriptedServer(), allow=["shed/*"])),
    )

    assert tokens.measure("fake", adapter.requests[1]).tokens == 3  # `END` reports this usage.


@pytest.mark.requirement("2:call-ids-unique")
async def test_a_call_with_the_id_of_an_earlier_round_gets_a_new_id() -> None:
    adapter = ScriptedAdapter(
        script_calls(make_call("shed__dig")), script_calls(make_call("shed__rake")), ANSWER
    )
    response, _ = await run(adapter, ScriptedServer())

    assert isinstance(response, Response)
    calls = [block for block in response.content if isinstance(block, ToolUseBlock)]
    assert [call.id for call in calls] == ["1", "1_r2"]
    assert read_opaque(calls[1].opaque)[CALL_ID] == "1"


@pytest.mark.requirement("12:server-unavailable")
async def test_a_server_that_cannot_start_is_a_warning() -> None:
    server = ScriptedServer()
    server.unavailable = ValueError("a defect")
    response, _ = await run(ScriptedAdapter(ANSWER), server)

    assert isinstance(response, Response)
    assert [warning.code for warning in response.warnings] == ["tool_server_unavailable"]


async def test_a_warning_that_every_round_repeats_is_sent_once() -> None:
    foreign = Message("assistant", (replace(TextBlock("Hi", opaque="x"), origin=Origin("other", "m")),))
    adapter = ScriptedAdapter(script_calls(make_call("shed__dig")), ANSWER)
    response, sink = await run(adapter, ScriptedServer(), ask(Message.user("1"), foreign, Message.user("2")))

    assert isinstance(response, Response)
    codes = [event.code for event in sink.events if isinstance(event, WarningEvent)]
    assert codes == ["foreign_data_dropped"]


async def test_a_model_that_does_not_accept_tools_is_refused() -> None:
    adapter = ScriptedAdapter(ANSWER)
    adapter.capabilities = replace(adapter.capabilities, tool_calls=False)
    error, _ = await run(adapter, ScriptedServer())

    assert isinstance(error, RequestError)
    assert "does not accept tools" in error.message
