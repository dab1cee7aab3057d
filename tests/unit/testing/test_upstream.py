"""A client of another project reads the fake upstream, so that fake and adapters cannot share a mistake."""

import asyncio
import contextlib
import socket
import urllib.request
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_body, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.fakes.firehose import firehose

QUESTION = [{"role": "user", "content": "Hi"}]


@pytest.fixture
async def client(upstream, openai):
    async with openai.AsyncOpenAI(base_url=upstream.base_url, api_key="fake-key", max_retries=0) as made:
        yield made


async def collect(client):
    stream = await client.chat.completions.create(model="fake-model", messages=QUESTION, stream=True)
    return [event async for event in stream]


async def raw_exchange(upstream, request=b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"):
    parts = urlsplit(upstream.origin)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request)
    return reader, writer


async def test_the_official_client_reads_a_streamed_answer(upstream, client):
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])))
    events = await collect(client)
    assert "".join(e.choices[0].delta.content or "" for e in events if e.choices) == "Hello"
    assert events[-1].usage.total_tokens == 15
    request = await upstream.wait_for_request()
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer fake-key"
    assert request.json["messages"] == QUESTION


async def test_a_held_answer_does_not_even_send_its_head_before_the_gate_opens():
    gate = Gate()
    async with FakeUpstream() as upstream:
        upstream.script(replace(Reply.json({"object": "list"}), held=gate))
        reader, writer = await raw_exchange(upstream)
        await upstream.wait_for_request()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                pytest.fail(f"it sent {await reader.read(1)!r}")
        gate.open()
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_leaving_a_held_answer_is_recorded_as_a_disconnect():
    async with FakeUpstream() as upstream:
        upstream.script(replace(Reply.json({}), held=Gate()))
        _, writer = await raw_exchange(upstream)
        await upstream.wait_for_request()
        writer.close()
        await upstream.wait_for_disconnect()


async def test_the_official_client_reads_tool_calls_and_whole_answers(upstream, client):
    call = FakeCall("call_1", "weather", ['{"city":', '"Rome"}'])
    upstream.script(Reply.json(completion_body(None, tool_calls=[call])))
    whole = await client.chat.completions.create(model="m", messages=QUESTION)
    assert whole.choices[0].message.tool_calls[0].function.arguments == '{"city":"Rome"}'
    upstream.script(Reply.events(completion_stream(tool_calls=[call])))
    deltas = [e.choices[0].delta for e in await collect(client) if e.choices]
    calls = [part for delta in deltas for part in delta.tool_calls or []]
    assert "".join(part.function.arguments for part in calls) == '{"city":"Rome"}'


async def test_slicing_changes_only_the_writes(upstream, client):
    upstream.script(Reply.events(completion_stream(["Hello"])).slice(1))
    events = await collect(client)
    assert "".join(e.choices[0].delta.content or "" for e in events if e.choices) == "Hello"


async def test_an_answer_waits_at_a_gate_until_the_test_opens_it(upstream, client):
    gate = Gate()
    upstream.script(Reply.events([chunk({"content": "a"}), gate, chunk({"content": "b"}), "[DONE]"]))
    stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    events = aiter(stream)
    assert (await anext(events)).choices[0].delta.content == "a"
    waiting = asyncio.ensure_future(anext(events))
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert not done
    gate.open()
    assert (await asyncio.wait_for(waiting, 20)).choices[0].delta.content == "b"
    await stream.close()


async def test_a_client_that_closes_during_an_answer_is_recorded(upstream, client):
    upstream.script(Reply.events([chunk({"content": "a"})]).stall_after())
    stream = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    await anext(aiter(stream))
    assert not upstream.requests[0].disconnected.is_set()
    await stream.close()
    await upstream.wait_for_disconnect()


async def test_a_reset_comes_after_exactly_the_scripted_bytes():
    async with FakeUpstream() as upstream:
        upstream.script(Reply.raw(b"0123456789").reset_after(4))
        reader, writer = await raw_exchange(upstream)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while data := await asyncio.wait_for(reader.read(100), 20):
                received += data
            pytest.fail("the connection ended without a reset")
        assert received.partition(b"\r\n\r\n")[2] == b"0123"
        writer.close()


async def test_an_early_close_leaves_the_answer_short():
    async with FakeUpstream() as upstream:
        upstream.script(Reply.raw(b"0123456789").close_after(4))
        reader, writer = await raw_exchange(upstream)
        assert (await asyncio.wait_for(reader.read(), 20)).endswith(b"\r\n\r\n0123")
        writer.close()


async def test_replies_are_chosen_by_path_then_by_queue_then_by_default():
    async with FakeUpstream() as upstream:
        upstream.script(Reply.raw(b"queued"))
        upstream.script(Reply.raw(b"for models"), path="/v1/models")
        upstream.default(lambda request: Reply.raw(request.path.encode()))
        request = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
        reader, writer = await raw_exchange(upstream, request)
        for expected in (b"for models", b"queued", b"/v1/models"):
            assert (await asyncio.wait_for(reader.readuntil(expected), 20)).startswith(b"HTTP/1.1 200")
            writer.write(request)
        assert len(upstream.requests) >= 3
        writer.close()


def test_the_threaded_server_serves_a_blocking_client():
    gate = Gate()
    with ThreadedUpstream() as upstream:
        upstream.script(Reply((gate, b"late"), headers={"x-fake": "yes"}))
        upstream.open(gate)
        with urllib.request.urlopen(f"{upstream.base_url}/models", timeout=20) as response:
            assert (response.read(), response.headers["x-fake"]) == (b"late", "yes")
        upstream.script(Reply.raw(b"x").stall_after(0))
        parts = urlsplit(upstream.origin)
        with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert upstream.wait_for_request(2).path == "/"
        upstream.wait_for_disconnect(2)
        assert len(upstream.requests) == 2


async def test_the_firehose_puts_many_events_into_one_write(upstream, client):
    reply = firehose(100, events_per_write=10)
    assert len(reply.pieces) < 15
    upstream.script(reply)
    events = await collect(client)
    assert sum(bool(e.choices and e.choices[0].delta.content) for e in events) == 100


async def test_a_chunked_body_is_joined():
    async with FakeUpstream() as upstream:
        upstream.default(Reply.raw(b"taken"))
        reader, writer = await asyncio.open_connection(*_address(upstream))
        head = b"POST /v1/x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"taken"), 20)
        assert upstream.requests[0].body == b"abcde"
        # The body was read to its end, so another request can follow.
        writer.write(b"GET /v1/y HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"taken"), 20)
        assert upstream.requests[1].path == "/v1/y"
        writer.close()


async def test_a_port_can_be_requested():
    for _ in range(20):
        async with FakeUpstream() as first:
            _, port = _address(first)
        # Another process may take the free port first.
        with contextlib.suppress(OSError):
            async with FakeUpstream(port) as second:
                assert second.origin == f"http://127.0.0.1:{port}"
                return
    pytest.fail("each of twenty ports that were free a moment ago is taken")


def _address(upstream):
    parts = urlsplit(upstream.origin)
    return parts.hostname, parts.port
