"""Size limits of answers, compressed or not. Reading a large answer does not block other tasks."""

import asyncio
import contextlib
import gzip
import json

import pytest

from jumpseat.chat import ChatError, ProtocolError, TextDeltaEvent
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http import HttpCall, HttpClient, answer, exchange, fetch, get_json, stream_events
from jumpseat.http.packing import STEP_BYTES
from jumpseat.testing.upstream import FakeUpstream, Reply
from jumpseat.wire import LONG_JSON_BYTES
from tests.unit.http.echo import EchoDecoder

pytestmark = pytest.mark.slow

WAIT_SECONDS = 30
MIB = 1 << 20


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        yield server


@pytest.fixture
async def turn_count():
    """Count how often another task runs."""
    counted = [0]

    async def count():
        while True:
            await asyncio.sleep(0)
            counted[0] += 1

    task = asyncio.ensure_future(count())
    yield counted
    task.cancel()


def make_packed_reply(body, content_type="text/event-stream"):
    return Reply.raw(gzip.compress(body), content_type=content_type, content_encoding="gzip")


async def read(http, upstream, reply, decoder=None):
    """Return the text of an answer, and the error that ended it, if any."""
    upstream.script(reply)
    call = HttpCall("POST", upstream.origin, body={})
    text, error = "", None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            async for event in stream_events(http, call, decoder or EchoDecoder(), provider="acme"):
                text += event.text if isinstance(event, TextDeltaEvent) else ""
    except ChatError as failure:
        error = failure
    return text, error


@pytest.mark.requirement("6:bounds", "6:bounds-packed")
async def test_a_small_answer_that_decompresses_to_a_huge_one_ends_at_the_bound(http, upstream, turn_count):
    text, error = await read(http, upstream, make_packed_reply(b"data: a\n\n" + b": ping\n\n" * (4 * MIB)))
    assert text == "message=a;"
    assert isinstance(error, ProtocolError)
    assert "no output in 16777216 bytes" in error.message
    assert turn_count[0] >= answer.MAX_SILENT_BYTES // STEP_BYTES


async def test_a_cancel_ends_a_huge_answer_in_the_middle(http, upstream, turn_count):
    upstream.script(make_packed_reply(b"data: a\n\n" + b": ping\n\n" * (4 * MIB)))
    events = stream_events(http, HttpCall("POST", upstream.origin, body={}), EchoDecoder(), provider="acme")
    async with asyncio.timeout(WAIT_SECONDS), contextlib.aclosing(events):
        while not isinstance(await anext(events), TextDeltaEvent):
            pass
        before = turn_count[0]
        rest = asyncio.ensure_future(anext(events))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not rest.done()
        rest.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rest
    assert turn_count[0] < before + answer.MAX_SILENT_BYTES // STEP_BYTES


@pytest.mark.requirement("6:bounds")
@pytest.mark.parametrize(
    "pack", [make_packed_reply, lambda body: Reply.raw(body, content_type="text/event-stream")]
)
async def test_a_stream_of_text_ends_at_the_bound_with_its_partial(http, upstream, monkeypatch, pack):
    monkeypatch.setattr(answer, "MAX_BODY_BYTES", MIB)
    text, error = await read(http, upstream, pack(b"data: word\n\n" * 100_000))
    assert isinstance(error, ProtocolError)
    assert 0 < len(text) <= 2 * MIB  # Each event of 12 bytes becomes a text of 13 characters.


@pytest.mark.requirement("6:bounds-packed")
@pytest.mark.parametrize("pack", [make_packed_reply, Reply.raw])
@pytest.mark.parametrize("over", [False, True])
async def test_bodies_that_are_not_streamed_have_the_same_bound(http, upstream, monkeypatch, pack, over):
    monkeypatch.setattr(exchange, "MAX_BODY_BYTES", 100_000)
    body = json.dumps("x" * (100_000 - 2 + over)).encode()  # The quotes are two bytes.
    call = HttpCall("GET", upstream.origin)
    upstream.script(pack(body), pack(body))
    asked = (get_json(http, call, provider="acme"), fetch(http, call, provider="acme"))
    for each in asked:
        if over:
            with pytest.raises(ProtocolError, match="acme sent an answer of more than"):
                await each
        else:
            assert await each


@pytest.mark.parametrize(("before", "is_read"), [(1000, True), (4 * exchange.MAX_ERROR_BODY_BYTES, False)])
async def test_the_text_of_a_refusal_is_bounded_when_decompressed(http, upstream, before, is_read):
    body = json.dumps({"more": "x" * before, "error": {"message": "No such thing"}}).encode()
    _, error = await read(http, upstream, Reply.raw(gzip.compress(body), 404, content_encoding="gzip"))
    assert error.status_code == 404
    assert ("No such thing" in error.message) is is_read


@pytest.mark.parametrize("coding", ["br", "gzip"])
async def test_a_refusal_that_cannot_be_decompressed_keeps_its_status(http, upstream, coding):
    _, error = await read(http, upstream, Reply.raw(b"odd", 503, content_encoding=coding))
    assert error.status_code == 503


async def test_an_answer_in_another_encoding_is_a_protocol_error(http, upstream):
    reply = Reply.raw(b"odd", content_type="text/event-stream", content_encoding="br")
    _, error = await read(http, upstream, reply)
    assert isinstance(error, ProtocolError)
    assert error.provider == "acme"


def _body(text):
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return Reply.json({"choices": [choice], "more": [[]] * 150_000})


def _event(text):
    chunk = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}], "more": [[]] * 150_000}
    return Reply.events([chunk, "[DONE]"])


def _arguments(text):
    arguments = json.dumps({"text": text, "more": [[]] * 150_000})
    half = len(arguments) // 2
    calls = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments[:half]}},
        {"index": 0, "function": {"arguments": arguments[half:]}},
    ]
    chunks = [{"choices": [{"delta": {"content": text}}]}]
    chunks += [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    return Reply.events([*chunks, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]"])


@pytest.mark.requirement("6:bounds-packed")
@pytest.mark.parametrize(
    "make", [_event, *(pytest.param(make, marks=pytest.mark.slow) for make in (_body, _arguments))]
)
async def test_other_tasks_run_while_many_small_values_are_read(http, upstream, turn_count, make):
    reply = make("Hello")
    assert len(reply.body) > LONG_JSON_BYTES
    upstream.script(reply)
    seen = []
    text, error = await read(http, upstream, reply, _Watched(turn_count, seen))
    assert (text, error) == ("Hello", None)
    # If the decoder ran on the event loop, no other task could run during one of its steps.
    assert max(seen) > 10


class _Watched(ChatCompletionsDecoder):
    """A decoder that records how often another task ran during each step."""

    def __init__(self, turn_count, seen):
        super().__init__("acme", "m")
        self._turns, self._seen = turn_count, seen

    def feed_event(self, name, data):
        before = self._turns[0]
        try:
            return super().feed_event(name, data)
        finally:
            self._seen.append(self._turns[0] - before)

    def feed_body(self, body):
        before = self._turns[0]
        try:
            return super().feed_body(body)
        finally:
            self._seen.append(self._turns[0] - before)


async def test_other_tasks_run_while_a_long_list_is_read(http, upstream, turn_count):
    rows = [{"id": f"m{number}", "object": "model"} for number in range(60_000)]
    upstream.script(Reply.json({"data": rows}))
    call = HttpCall("GET", upstream.origin)
    assert await get_json(http, call, provider="acme") == {"data": rows}
    assert turn_count[0] > len(json.dumps(rows)) // STEP_BYTES
