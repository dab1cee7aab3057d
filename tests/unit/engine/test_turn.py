"""A turn from its start to its end, with scripted providers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.adapters.base import Adapter, Capabilities
from jumpseat.chat import (
    ChatCancelled,
    ChatError,
    ConnectionError,
    DoneEvent,
    InvalidRequestError,
    Message,
    Origin,
    ProgressEvent,
    ProtocolError,
    RateLimitError,
    RequestError,
    Response,
    ResponseEvent,
    RetryEvent,
    ServerError,
    StartEvent,
    TextBlock,
    TextDeltaEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingStartEvent,
    ToolDefinition,
    ToolUseBlock,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.engine import TurnRequest, run_turn
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text

OVERLOADED = ServerError("Overloaded.", retry_after=0)


async def run(
    adapter: ScriptedAdapter, asked: TurnRequest | None = None, **table: Any
) -> tuple[Response | ChatError, RecordingSink]:
    """Return the turn's response or error, and the sink with its events."""
    sink = RecordingSink()
    registry = registry_of(adapter, tables={"fake": table})
    try:
        async with asyncio.timeout(10):
            return await run_turn(registry, asked or ask(), sink), sink
    except ChatError as error:
        return error, sink


def last(sink: RecordingSink) -> DoneEvent:
    """Return the last event, which must be the only `done`."""
    event = sink.events[-1]
    assert isinstance(event, DoneEvent)
    assert sink.types.count("done") == 1
    assert sink.types[0] == "start"
    assert sink.types.count("start") == 1
    return event


@pytest.mark.requirement("2:start-first", "2:done-last")
async def test_start_is_first_and_done_is_last() -> None:
    adapter = ScriptedAdapter([ResponseEvent("m2", "r1"), *script_text("Hel", "lo"), DONE])
    response, sink = await run(adapter)

    assert sink.events[0] == StartEvent("fake", "m")
    assert sink.types == [
        "start",
        "response",
        "text_start",
        "text_delta",
        "text_delta",
        "text_done",
        "done",
    ]
    assert last(sink) == DONE
    assert response == Response(
        provider="fake",
        model="m2",
        content=[TextBlock("Hello")],
        stop_reason="end_turn",
        raw_stop_reason="stop",
        response_id="r1",
        usage=Usage(3, 2),
    )
    assert adapter.closed == 1


@pytest.mark.requirement("2:start-first")
async def test_start_is_sent_before_the_adapter_is_called() -> None:
    sink = RecordingSink()

    class Watcher(ScriptedAdapter):
        def stream(self, request):
            assert sink.types == ["start"]
            return super().stream(request)

    async with asyncio.timeout(10):
        await run_turn(registry_of(Watcher([DONE])), ask(), sink)
    assert sink.types == ["start", "done"]


@pytest.mark.requirement("2:no-delta-when-invalid")
async def test_an_invalid_request_is_not_sent() -> None:
    adapter = ScriptedAdapter([DONE])
    outcome, sink = await run(adapter, ask(settings={"nonsense": 1}))

    assert isinstance(outcome, InvalidRequestError)
    assert (sink.events, adapter.requests, outcome.partial) == ([], [], None)


async def test_a_warning_about_the_request_follows_the_start() -> None:
    call = Message("assistant", (ToolUseBlock("c1", "grep", {}, "{}"),))
    _, sink = await run(ScriptedAdapter([DONE]), ask(Message.user("a"), call, Message.user("b")))

    assert sink.types == ["start", "warning", "done"]


async def test_events_after_done_are_not_read() -> None:
    adapter = ScriptedAdapter([DONE, *script_text("more")])
    _, sink = await run(adapter)

    assert sink.types == ["start", "done"]
    assert (adapter.played, adapter.closed) == (1, 1)


@pytest.mark.requirement("2:error-in-mid-stream")
async def test_an_error_in_mid_stream_keeps_the_partial() -> None:
    error = ServerError("It broke.")
    script: list[Step] = [
        ThinkingStartEvent(0),
        ThinkingDeltaEvent(0, "hm"),
        TextStartEvent(1),
        TextDeltaEvent(1, "Hi"),
        UsageEvent(Usage(3, 1)),
        error,
    ]
    outcome, sink = await run(ScriptedAdapter(script))

    assert outcome is error
    assert error.provider == "fake"
    assert error.partial is not None
    assert (error.partial.content, error.partial.stop_reason) == (
        [TextBlock("Hi", origin=Origin("fake", "m"))],
        None,
    )
    done = last(sink)
    assert (done.stop_reason, done.error, done.content) == ("error", error, error.partial.content)
    assert done.usage == Usage(3, 1)


@pytest.mark.requirement("6:protocol")
@pytest.mark.parametrize("script", [[], script_text("Hi")], ids=["nothing", "text"])
async def test_an_answer_that_ends_early_is_a_protocol_error(script: Sequence[Step]) -> None:
    outcome, sink = await run(ScriptedAdapter(script))

    assert isinstance(outcome, ProtocolError)
    assert outcome.partial is not None
    assert outcome.partial.text == ("Hi" if script else "")
    assert last(sink).error is outcome


@pytest.mark.requirement("6:internal")
@pytest.mark.parametrize(
    "script", [[ZeroDivisionError("sk-secret")], [*script_text("Hi"), ZeroDivisionError("sk-secret")]]
)
async def test_a_defect_ends_the_turn_and_only_the_log_has_its_message(
    script: Sequence[Step], caplog: pytest.LogCaptureFixture
) -> None:
    sink = RecordingSink()
    adapter = ScriptedAdapter(script)
    with pytest.raises(ChatError) as caught:
        await run_turn(registry_of(adapter), ask(), sink)

    done = last(sink)
    assert (done.stop_reason, done.error, caught.value.kind) == ("error", caught.value, "internal")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "sk-secret" not in caught.value.message
    assert "sk-secret" in caplog.text
    assert caught.value.partial is not None
    assert caught.value.partial.text == ("Hi" if len(script) > 1 else "")
    assert adapter.closed == 1


async def test_an_adapter_that_cannot_stream_is_a_defect_that_ends_the_turn() -> None:
    class Mute(ScriptedAdapter):
        stream = Adapter.stream

    sink = RecordingSink()
    with pytest.raises(ChatError):
        await run_turn(registry_of(Mute()), ask(), sink)
    assert last(sink).stop_reason == "error"


async def cancel_turn(task: asyncio.Task[Response]) -> ChatCancelled:
    """Cancel the turn and return its error."""
    task.cancel()
    with pytest.raises(ChatCancelled) as caught:
        async with asyncio.timeout(10):
            await task
    return caught.value


@pytest.mark.requirement("2:cancel-request")
async def test_a_cancel_closes_the_adapter_and_keeps_the_partial() -> None:
    adapter = ScriptedAdapter([TextStartEvent(0), TextDeltaEvent(0, "Hi"), asyncio.Event()])
    sink = RecordingSink()
    task = asyncio.ensure_future(run_turn(registry_of(adapter), ask(), sink))
    await sink.wait_for(TextDeltaEvent)

    error = await cancel_turn(task)

    assert error.partial is not None
    assert error.partial.text == "Hi"
    done = last(sink)
    assert (done.stop_reason, done.error, done.content) == (
        "cancelled",
        error,
        [TextBlock("Hi", origin=Origin("fake", "m"))],
    )
    assert adapter.closed == 1


async def test_a_cancel_ends_the_wait_before_a_retry() -> None:
    adapter = ScriptedAdapter([RateLimitError("Slow down.", retry_after=60)])
    sink = RecordingSink()
    task = asyncio.ensure_future(run_turn(registry_of(adapter), ask(), sink))
    await sink.wait_for(RetryEvent)

    await cancel_turn(task)
    assert sink.types == ["start", "retry", "done"]


async def test_a_cancel_ends_the_wait_for_a_slow_client() -> None:
    adapter = ScriptedAdapter([*script_text("Hi"), DONE])
    sink = RecordingSink()
    sink.gate.clear()
    task = asyncio.ensure_future(run_turn(registry_of(adapter), ask(), sink))
    await sink.wait_for(TextStartEvent)

    await cancel_turn(task)
    assert (sink.types, adapter.closed) == (["start", "text_start", "done"], 1)


@pytest.mark.requirement("2:cancel-before-start")
async def test_a_cancel_before_the_start_has_no_partial() -> None:
    sink = RecordingSink()
    task = asyncio.ensure_future(run_turn(registry_of(ScriptedAdapter()), ask(), sink))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.events == []


@pytest.mark.requirement("1:slow-reader")
async def test_a_sink_that_is_not_ready_stops_the_reading_of_the_adapter() -> None:
    adapter = ScriptedAdapter([*script_text("a", "b", "c"), DONE])
    sink = RecordingSink()
    sink.gate.clear()
    async with asyncio.timeout(10):
        task = asyncio.ensure_future(run_turn(registry_of(adapter), ask(), sink))
        await sink.wait_for(TextStartEvent)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (adapter.played, sink.types) == (1, ["start", "text_start"])

        sink.gate.set()
        assert (await task).text == "abc"
    assert adapter.played == 6


@pytest.mark.requirement("2:retry")
async def test_a_retry_is_reported_before_it_is_made() -> None:
    adapter = ScriptedAdapter([OVERLOADED], [ResponseEvent("m"), OVERLOADED], [*script_text("Hi"), DONE])
    outcome, sink = await run(adapter)

    assert isinstance(outcome, Response)
    assert outcome.text == "Hi"
    assert [event for event in sink.events if isinstance(event, RetryEvent)] == [
        RetryEvent(2, 3, 0, OVERLOADED),
        RetryEvent(3, 3, 0, OVERLOADED),
    ]
    assert last(sink).stop_reason == "end_turn"
    assert (len(adapter.requests), adapter.closed) == (3, 3)
    first, second, third = adapter.requests
    assert first == second == replace(third, initiator=first.initiator)


@pytest.mark.requirement("copilot:billing")
@pytest.mark.parametrize(
    ("script", "initiators"),
    [
        ([ResponseEvent("m"), ConnectionError("Gone.")], ["user", "agent"]),
        ([ServerError("Broken.", status_code=500, retry_after=0)], ["user", "agent"]),
        ([ServerError("Overloaded.", status_code=503, retry_after=0)], ["user", "agent"]),
        # As far as we know, providers do not bill requests that fail in these ways.
        ([ConnectionError("Refused.")], ["user", "user"]),
        ([RateLimitError("Slow down.", status_code=429, retry_after=0)], ["user", "user"]),
    ],
)
async def test_a_request_that_may_be_billed_is_repeated_with_the_initiator_agent(
    script: Sequence[Step], initiators: list[str]
) -> None:
    adapter = ScriptedAdapter(script, [DONE])
    await run(adapter)

    assert [request.effective_initiator() for request in adapter.requests] == initiators


@pytest.mark.requirement("2:retry")
@pytest.mark.parametrize(("table", "attempts"), [({}, 3), ({"max_retries": 0}, 1), ({"max_retries": 4}, 5)])
async def test_the_retries_of_a_turn_are_bounded(table: dict[str, Any], attempts: int) -> None:
    adapter = ScriptedAdapter(*[[OVERLOADED]] * 9)
    outcome, sink = await run(adapter, **table)

    assert outcome is OVERLOADED
    assert len(adapter.requests) == attempts
    assert sink.types == ["start", *["retry"] * (attempts - 1), "done"]


@pytest.mark.requirement("chat:retry-before-output")
@pytest.mark.requirement("2:retry")
async def test_a_turn_is_not_retried_after_its_first_output() -> None:
    outcome, sink = await run(ScriptedAdapter([TextStartEvent(0), OVERLOADED], [DONE]))

    assert outcome is OVERLOADED
    assert sink.types == ["start", "text_start", "done"]


@pytest.mark.parametrize(
    "event", [ProgressEvent("Loading."), WarningEvent("a", "b"), UsageEvent(Usage(1, 0))]
)
async def test_events_without_output_do_not_prevent_a_retry(event: Step) -> None:
    outcome, _ = await run(ScriptedAdapter([event, OVERLOADED], [DONE]))

    assert isinstance(outcome, Response)


@pytest.mark.requirement("6:rate-limit")
@pytest.mark.parametrize("error", [RequestError("Wrong."), RateLimitError("Slow down.", retry_after=61)])
async def test_a_final_error_and_one_with_a_long_wait_are_not_retried(error: ChatError) -> None:
    outcome, sink = await run(ScriptedAdapter([error]))

    assert outcome is error
    assert sink.types == ["start", "done"]


async def test_an_error_keeps_the_provider_that_it_names() -> None:
    outcome, _ = await run(ScriptedAdapter([RequestError("No.", provider="upstream")]))

    assert isinstance(outcome, RequestError)
    assert outcome.provider == "upstream"


async def test_turns_of_one_registry_are_independent() -> None:
    registry = registry_of(
        ScriptedAdapter([*script_text("one"), DONE], name="a"),
        ScriptedAdapter([ServerError("No.", retryable=False)], name="b"),
    )
    sinks = RecordingSink(), RecordingSink()
    async with asyncio.timeout(10):
        good, bad = await asyncio.gather(
            run_turn(registry, ask(model="a:m"), sinks[0]),
            run_turn(registry, ask(model="b:m"), sinks[1]),
            return_exceptions=True,
        )

    assert isinstance(good, Response)
    assert isinstance(bad, ServerError)
    assert [last(sink).stop_reason for sink in sinks] == ["end_turn", "error"]


async def test_a_missing_capability_is_reported_before_the_start() -> None:
    adapter = ScriptedAdapter(capabilities=Capabilities(tool_calls=False))
    outcome, sink = await run(adapter, ask(tools=(ToolDefinition("grep"),)))

    assert isinstance(outcome, RequestError)
    assert (sink.events, adapter.requests) == ([], [])
