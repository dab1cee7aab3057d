"""The state of a connection whose answer was read, was abandoned, or goes on after its end mark."""

import asyncio
from contextlib import aclosing

import pytest

from jumpseat.chat import DoneEvent, TextDeltaEvent
from jumpseat.http import HttpCall, HttpClient, body, stream_events
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.unit.http.echo import EchoDecoder, wait_for_tails

WAIT_SECONDS = 60
"""This exceeds the wait in `wait_for_tails`."""

ANSWER = b"data: a\n\ndata: end\n\n"


@pytest.fixture
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
async def upstream():
    async with FakeUpstream() as server:
        yield server


async def take(http, upstream, until=DoneEvent):
    """Read events up to the first of this class, then stop, like a turn."""
    call = HttpCall("POST", upstream.origin, body={})
    async with (
        asyncio.timeout(WAIT_SECONDS),
        aclosing(stream_events(http, call, EchoDecoder(), provider="acme")) as events,
    ):
        async for event in events:
            if isinstance(event, until):
                return


async def test_a_connection_is_reused_by_the_next_request_after_the_end_mark(http, upstream):
    upstream.default(Reply.events([ANSWER, b": the end of the chunks is a write of its own\n\n"]))
    for _ in range(10):
        await take(http, upstream)
        await wait_for_tails(http)
    assert (len(upstream.requests), upstream.accepted) == (10, 1)


async def test_events_do_not_wait_for_the_end_of_the_body(http, upstream):
    gate = Gate()
    upstream.script(Reply.events([ANSWER, gate]), Reply.events([ANSWER]))
    await take(http, upstream)  # The body cannot end before the gate is open.
    assert not upstream.requests[0].disconnected.is_set()
    gate.open()
    await wait_for_tails(http)
    await take(http, upstream)
    assert upstream.accepted == 1


async def test_a_reader_that_leaves_early_closes_the_connection_immediately(http, upstream):
    upstream.script(Reply.events([ANSWER]).stall_after())
    await take(http, upstream, until=TextDeltaEvent)
    assert not http._connections.background_tasks
    await upstream.wait_for_disconnect()


async def test_an_endless_tail_is_abandoned_in_time(http, upstream, monkeypatch):
    monkeypatch.setattr(body, "DRAIN_SECONDS", 0.01)
    upstream.script(Reply.events([ANSWER]).stall_after())
    await take(http, upstream)
    await upstream.wait_for_disconnect()


async def test_a_tail_that_is_too_long_is_not_read_to_its_end(http, upstream, monkeypatch):
    monkeypatch.setattr(body, "DRAIN_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(body, "DRAIN_BYTES", 1000)
    upstream.script(Reply.events([ANSWER, *[b": on and on\n\n"] * 1000]).stall_after())
    await take(http, upstream)
    await wait_for_tails(http)
    await upstream.wait_for_disconnect()


async def test_closing_the_client_does_not_wait_for_a_tail(http, upstream):
    upstream.script(Reply.events([ANSWER]).stall_after())
    await take(http, upstream)
    await http.aclose()
    assert not http._connections.background_tasks
    await upstream.wait_for_disconnect()
