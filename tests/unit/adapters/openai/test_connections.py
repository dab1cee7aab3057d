"""Connections to OpenAI-compatible providers: opened, closed, reset, silent, reused."""

import asyncio
import contextlib
import json
from dataclasses import replace

import pytest

from jumpseat.chat import ConnectionError, ProtocolError, TextDeltaEvent
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.fakes.refusing import refusing_address
from tests.unit.adapters.openai_chats import adapter_for, collect, request_for, text_of
from tests.unit.adapters.streams import WAIT
from tests.unit.http.echo import wait_for_tails


async def test_a_host_that_cannot_be_reached_is_named(http):
    with refusing_address() as address:
        _, error = await collect(adapter_for(f"http://{address}/v1", http))
    assert isinstance(error, ConnectionError)
    assert address in error.message
    assert "connection refused" in error.message


async def test_closing_the_iterator_closes_the_upstream_connection(upstream, http):
    upstream.script(Reply.events([chunk({"content": "a"})]).stall_after())
    events = adapter_for(upstream.base_url, http).stream(request_for())
    async with asyncio.timeout(WAIT):
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        assert not upstream.requests[0].disconnected.is_set()
        await events.aclose()
    await upstream.wait_for_disconnect()


@pytest.mark.parametrize("stalled", [True, False], ids=["in the body", "before the headers"])
async def test_cancelling_the_task_closes_the_upstream_connection(upstream, http, stalled):
    gate = Gate()
    reply = Reply.events([chunk({"content": "a"})])
    upstream.script(reply.stall_after() if stalled else replace(reply, pieces=(gate,)))
    task = asyncio.ensure_future(collect(adapter_for(upstream.base_url, http)))
    await upstream.wait_for_request()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT)
    assert task.cancelled()
    await upstream.wait_for_disconnect()


async def test_fifty_simultaneous_chats_do_not_mix(upstream, http):
    def answer(request):
        question = request.json["messages"][0]["content"]
        return Reply.events(completion_stream([f"{question}:{n} " for n in range(20)])).slice(17)

    upstream.default(answer)
    adapter = adapter_for(upstream.base_url, http)
    results = await asyncio.gather(*(collect(adapter, request_for(f"q{n}")) for n in range(50)))
    for number, (events, error) in enumerate(results):
        assert error is None
        assert text_of(events) == "".join(f"q{number}:{n} " for n in range(20))


async def test_silence_longer_than_the_limit_is_a_connection_error(upstream, http):
    upstream.script(Reply.events([chunk({"content": "a"})]).stall_after())
    # Half a second is long enough for a busy machine to deliver the word, so only the silence can exceed it.
    events, error = await collect(adapter_for(upstream.base_url, http, timeout=0.5))
    assert text_of(events) == "a"
    assert isinstance(error, ConnectionError)
    assert "sent nothing for 0.5 s" in error.message


async def test_a_reset_at_any_byte_gives_one_error_and_a_prefix_of_the_text(upstream, http):
    reply = Reply.events(completion_stream(["Hello ", "wörld", "!"]))
    # After the finish reason, the answer is complete, however its connection ends.
    finished = reply.body.index(b'"finish_reason": "stop"')
    adapter = adapter_for(upstream.base_url, http)
    for offset in range(0, finished, 7):
        upstream.script(reply.reset_after(offset))
        events, error = await collect(adapter)
        assert isinstance(error, ConnectionError), offset
        assert "Hello wörld!".startswith(text_of(events))
        assert_laws(events, ended=False)
        assert error.provider == "acme"
    upstream.script(reply.reset_after(reply.body.index(b"[DONE]")))
    events, error = await collect(adapter)
    assert error is None
    assert_laws(events)


@pytest.mark.requirement("chat:done-missing")
async def test_a_truncated_answer_is_a_protocol_error(upstream, http):
    reply = Reply.events(completion_stream(["Hello ", "world"]))
    upstream.script(reply.close_after(reply.body.index(b"world") + 2))
    events, error = await collect(adapter_for(upstream.base_url, http))
    assert isinstance(error, ProtocolError)
    assert error.message == "acme ended its answer early."
    assert text_of(events) == "Hello "


@pytest.mark.requirement("chat:done-then-open")
async def test_the_end_mark_ends_the_answer_while_the_socket_is_open(upstream, http):
    upstream.script(Reply.events(completion_stream(["x"])).stall_after())
    events, error = await collect(adapter_for(upstream.base_url, http))
    assert error is None
    assert_laws(events)
    await upstream.wait_for_disconnect()


async def test_a_finished_answer_leaves_its_connection_for_reuse(upstream, http):
    upstream.default(Reply.events(completion_stream(["x"])))
    adapter = adapter_for(upstream.base_url, http)
    for _ in range(5):
        assert (await collect(adapter))[1] is None
        await wait_for_tails(http)
    assert upstream.open_connections == 1


async def test_only_deltas_of_the_same_read_are_joined(upstream, http):
    gate = Gate()
    first = b"".join(b"data: " + json.dumps(chunk({"content": p})).encode() + b"\n\n" for p in "abc")
    upstream.script(Reply.events([first, gate, *completion_stream(["d"])]))
    deltas = []
    async with asyncio.timeout(WAIT):
        async for event in adapter_for(upstream.base_url, http).stream(request_for()):
            if isinstance(event, TextDeltaEvent):
                deltas.append(event.text)
                gate.open()
    assert deltas == ["abc", "d"]


async def test_double_cancels_release_every_connection(upstream, http):
    upstream.default(Reply.events([chunk({"content": "a"})]).stall_after())
    adapter = adapter_for(upstream.base_url, http)
    for number in range(1, 21):
        task = asyncio.ensure_future(collect(adapter))
        await upstream.wait_for_request(number)
        task.cancel()
        asyncio.get_running_loop().call_soon(task.cancel)
        await asyncio.wait({task}, timeout=WAIT)
        await upstream.wait_for_disconnect(number)
    pool = (await http.find_destination(upstream.base_url)).pool.value
    assert pool.connections.connections == []
