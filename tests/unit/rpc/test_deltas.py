"""The events of a turn as notifications: numbered, merged on request only, complete for any text."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import (
    ChatCancelled,
    DoneEvent,
    ProgressEvent,
    ResponseEvent,
    RetryEvent,
    ServerError,
    StartEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ToolUseBlock,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    Usage,
)
from jumpseat.connections.outbox import Outbox
from jumpseat.rpc.deltas import DeltaSink
from jumpseat.wire import encode_frame
from tests.unit.connections.recorder import RecordingWriter


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time a test controls."""

    def __init__(self) -> None:
        super().__init__(selectors.DefaultSelector())
        self.now = 100.0

    def time(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Advance the time and run the timers that are due."""

        async def a_few_turns() -> None:
            for _ in range(3):
                await asyncio.sleep(0)

        self.now += seconds
        self.run_until_complete(a_few_turns())


class Wire:
    """A sink, and the messages that it has sent."""

    def __init__(self, *, request_id: Any = 7, turn_id: str = "t1", **options: Any) -> None:
        self.writer = RecordingWriter()
        options = {"stream": True, **options}
        self.sink = DeltaSink(
            Outbox(self.writer, encode_frame), request_id=request_id, turn_id=turn_id, **options
        )

    def send(self, *events: StreamEvent) -> None:
        for event in events:
            self.sink.send(event)

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [each["params"]["delta"] for each in self.writer.messages if each["method"] == "chat/delta"]

    @property
    def texts(self) -> list[str]:
        return [delta["text"] for delta in self.deltas if "text" in delta]


def text(*pieces: str, block: int = 0) -> list[StreamEvent]:
    return [TextDeltaEvent(block, piece) for piece in pieces]


@pytest.mark.parametrize("request_id", [7, "seven", 'a"\\\n', -1])
def test_deltas_are_numbered_and_name_their_turn(request_id: Any) -> None:
    wire = Wire(request_id=request_id, turn_id='t"1')
    wire.send(StartEvent("p", "m"), TextStartEvent(0), *text("a", "b"), DoneEvent("end_turn"))

    assert [message["params"]["seq"] for message in wire.writer.messages] == [0, 1, 2, 3, 4]
    for message in wire.writer.messages:
        assert (message["jsonrpc"], message["method"], "id" in message) == ("2.0", "chat/delta", False)
        assert set(message["params"]) == {"requestId", "turnId", "seq", "delta"}
        assert (message["params"]["requestId"], message["params"]["turnId"]) == (request_id, 't"1')


@pytest.mark.parametrize("stream", [True, False])
def test_the_beginning_of_a_providers_answer_is_reported(stream: bool) -> None:
    answers: list[None] = []
    wire = Wire(stream=stream, on_answer=lambda: answers.append(None))
    wire.send(StartEvent("p", "m"), RetryEvent(2, 3, 500, ServerError("Down.", provider="p")))
    assert answers == []

    wire.send(ResponseEvent("m"), *text("a"))
    assert answers == [None]


def test_the_deltas_have_the_shapes_of_the_contract() -> None:
    wire = Wire()
    call = ToolUseBlock("c", "grep", None, "{", "cut off")
    wire.send(
        StartEvent("p", "m"),
        RetryEvent(2, 3, 500, ServerError("Down.", provider="p")),
        ThinkingDeltaEvent(0, "hm"),
        ToolUseDeltaEvent(1, "{"),
        ToolUseDoneEvent(1, call),
        TextDoneEvent(2, TextBlock("Hi")),
        DoneEvent("cancelled", Usage(1, 2), "raw", ChatCancelled("Stopped."), [TextBlock("Hi")]),
    )

    usage = {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 0, "cacheCreationTokens": 0}
    down = {"kind": "server", "provider": "p", "retryable": True}
    stopped = {"kind": "cancelled", "retryable": False}
    assert wire.deltas == [
        {"type": "start", "provider": "p", "model": "m"},
        {
            "type": "retry",
            "attempt": 2,
            "maxAttempts": 3,
            "delayMs": 500,
            "error": {"code": 1007, "message": "Down.", "data": down},
        },
        {"type": "thinking_delta", "block": 0, "text": "hm"},
        {"type": "tool_use_delta", "block": 1, "argumentDelta": "{"},
        {
            "type": "tool_use_done",
            "block": 1,
            "content": {
                "type": "tool_use",
                "id": "c",
                "name": "grep",
                "arguments": None,
                "raw": "{",
                "error": "cut off",
            },
        },
        {"type": "text_done", "block": 2, "content": {"type": "text", "text": "Hi"}},
        {
            "type": "done",
            "stopReason": "cancelled",
            "usage": usage,
            "error": {"code": -32800, "message": "Stopped.", "data": stopped},
            "content": [{"type": "text", "text": "Hi"}],
        },
    ]


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_arrives_and_lone_surrogates_are_replaced(piece: str) -> None:
    wire = Wire()
    wire.send(*text(piece), ThinkingDeltaEvent(1, piece), ToolUseDeltaEvent(2, piece))

    expected = piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert [delta.get("text", delta.get("argumentDelta")) for delta in wire.deltas] == [expected] * 3


@pytest.mark.parametrize("piece", ['"', "\n\r\t\\", "\U0001f600", "\u2028", "\x00\x1f", "]}}", "", "\ud83d"])
def test_a_text_cannot_break_its_frame(piece: str) -> None:
    wire = Wire()
    wire.send(*text(piece, "after"))

    assert wire.texts == [piece.replace("\ud83d", "\ufffd"), "after"]


def test_done_is_the_last_event() -> None:
    wire = Wire()
    wire.send(DoneEvent("end_turn"), *text("late"), DoneEvent("error"))

    assert [delta["type"] for delta in wire.deltas] == ["done"]


@pytest.mark.requirement("2:stream-false")
def test_a_turn_that_does_not_stream_does_not_send_deltas() -> None:
    wire = Wire(stream=False)
    wire.send(StartEvent("p", "m"), *text("a"), DoneEvent("end_turn"))

    assert wire.writer.messages == []


def test_deltas_are_not_delayed_unless_requested() -> None:
    wire = Wire()
    wire.send(*text("a", "b"))

    assert wire.texts == ["a", "b"]


@pytest.fixture
def clock() -> Any:
    loop = Clock()
    yield loop
    loop.close()


@pytest.fixture
def slow(clock: Clock) -> Any:
    """A wire on which text may be sent every 50 ms."""

    def run(action: Callable[[], None]) -> None:
        async def now() -> None:
            action()

        clock.run_until_complete(now())

    wire = Wire(coalesce_ms=50)
    send = wire.send
    wire.send = lambda *events: run(lambda: send(*events))
    return wire


@pytest.mark.requirement("1:coalesce")
def test_the_first_delta_is_sent_immediately_and_the_next_when_it_is_due(clock: Clock, slow: Wire) -> None:
    slow.send(*text("a"))
    assert slow.texts == ["a"]

    slow.send(*text("b", "c"))
    clock.advance(0.049)
    slow.send(*text("d"))
    assert slow.texts == ["a"]

    clock.advance(0.002)
    assert slow.texts == ["a", "bcd"]


@pytest.mark.requirement("1:coalesce")
def test_a_delta_after_a_pause_is_sent_immediately(clock: Clock, slow: Wire) -> None:
    slow.send(*text("a"))
    clock.advance(1)
    slow.send(*text("b"))

    assert slow.texts == ["a", "b"]


@pytest.mark.requirement("1:coalesce")
def test_a_boundary_is_sent_immediately_after_the_delayed_deltas(clock: Clock, slow: Wire) -> None:
    slow.send(
        TextStartEvent(0), *text("a", "b", "c"), TextDoneEvent(0, TextBlock("abc")), DoneEvent("end_turn")
    )

    assert [delta["type"] for delta in slow.deltas] == [
        "text_start",
        "text_delta",
        "text_delta",
        "text_done",
        "done",
    ]
    assert slow.texts == ["a", "bc"]
    clock.advance(1)
    assert len(slow.deltas) == 5


@pytest.mark.requirement("1:coalesce")
def test_deltas_of_different_blocks_stay_apart_and_in_order(clock: Clock, slow: Wire) -> None:
    slow.send(*text("a"), *text("b", "c"), *text("x", "y", block=1), *text("d"))
    clock.advance(0.051)

    assert [(delta["block"], delta["text"]) for delta in slow.deltas] == [
        (0, "a"),
        (0, "bc"),
        (1, "xy"),
        (0, "d"),
    ]
    assert [message["params"]["seq"] for message in slow.writer.messages] == [0, 1, 2, 3]


@pytest.mark.requirement("1:coalesce")
def test_each_interval_sends_once(clock: Clock, slow: Wire) -> None:
    for _ in range(100):
        slow.send(*text("."))
        clock.advance(0.01)

    assert 18 <= len(slow.texts) <= 21  # 100 steps of 10 ms are 20 intervals of 50 ms.
    clock.advance(0.051)
    assert "".join(slow.texts) == "." * 100


async def test_a_turn_waits_only_while_the_client_does_not_read() -> None:
    wire = Wire()
    wire.writer.gate.clear()
    waiting = asyncio.ensure_future(wire.sink.wait_until_ready())
    await asyncio.sleep(0)
    assert not waiting.done()

    wire.writer.gate.set()
    async with asyncio.timeout(10):
        await waiting


PROGRESS = [ProgressEvent("Loading"), ProgressEvent("Loading more", 50), *text("Hi"), ProgressEvent("Again")]


@pytest.mark.requirement("2:progress")
@pytest.mark.parametrize("token", ["p", 0])
@pytest.mark.parametrize("stream", [True, False])
def test_waits_are_reported_on_the_clients_token_and_end_with_the_next_event(
    token: Any, stream: bool
) -> None:
    wire = Wire(progress_token=token, stream=stream)
    wire.send(*PROGRESS, DoneEvent("end_turn"))

    progress = [each["params"] for each in wire.writer.messages if each["method"] == "$/progress"]
    assert {each["token"] for each in progress} == {token}
    assert [each["value"] for each in progress] == [
        {"kind": "begin", "title": "Loading"},
        {"kind": "report", "message": "Loading more", "percentage": 50},
        {"kind": "end"},
        {"kind": "begin", "title": "Again"},
        {"kind": "end"},
    ]
    assert [delta["type"] for delta in wire.deltas] == (["text_delta", "done"] if stream else [])


def test_without_a_token_waits_are_not_reported() -> None:
    wire = Wire()
    wire.send(*PROGRESS)

    assert [delta["type"] for delta in wire.deltas] == ["text_delta"]
