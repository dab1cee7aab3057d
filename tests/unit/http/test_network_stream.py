"""Connections in the pools: idle ones that have ended, waiting readers and writers, and timeouts."""

import asyncio
from contextlib import asynccontextmanager

import httpcore2
import pytest

from jumpseat.http.network_stream import MAX_UNREAD_BYTES, MAX_UNSENT_BYTES, AsyncioBackend

WAIT_SECONDS = 20.0


@asynccontextmanager
async def connect():
    """Connect to a server; yield the stream, and the server's reader and writer."""
    accepted = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *ends: accepted.set_result(ends), "127.0.0.1")
    async with asyncio.timeout(WAIT_SECONDS):
        stream = await AsyncioBackend().connect_tcp(*server.sockets[0].getsockname(), timeout=WAIT_SECONDS)
        reader, writer = await accepted
        try:
            yield stream, reader, writer
        finally:
            await stream.aclose()
            writer.transport.abort()
            server.close()
            await server.wait_closed()


async def wait_until_ended(stream):
    async with asyncio.timeout(WAIT_SECONDS):
        while not stream.get_extra_info("is_readable"):  # noqa: ASYNC110 - the pool asks in the same way
            await asyncio.sleep(0)


async def test_an_idle_connection_that_the_server_closes_has_ended():
    async with connect() as (stream, _, writer):
        assert not stream.get_extra_info("is_readable")
        writer.close()
        await wait_until_ended(stream)
        assert await stream.read(10, WAIT_SECONDS) == b""
        with pytest.raises(httpcore2.WriteError):
            await stream.write(b"x", WAIT_SECONDS)


async def test_an_idle_connection_that_receives_bytes_without_a_request_has_ended():
    async with connect() as (stream, _, writer):
        writer.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await wait_until_ended(stream)


async def test_the_headers_and_the_body_of_a_request_arrive_together():
    async with connect() as (stream, reader, writer):
        received = asyncio.ensure_future(reader.read(100))
        for part in (b"headers ", b"body"):
            await stream.write(part, WAIT_SECONDS)
            for _ in range(100):
                await asyncio.sleep(0)
            assert not received.done()
        reading = asyncio.ensure_future(stream.read(10, WAIT_SECONDS))
        assert await received == b"headers body"
        writer.write(b"answer")
        assert await reading == b"answer"


async def test_a_long_body_is_sent_before_the_answer_is_read():
    async with connect() as (stream, reader, _):
        await stream.write(bytes(MAX_UNSENT_BYTES), WAIT_SECONDS)
        assert len(await reader.readexactly(MAX_UNSENT_BYTES)) == MAX_UNSENT_BYTES


async def test_a_silent_server_causes_a_read_timeout():
    async with connect() as (stream, _, _):
        with pytest.raises(httpcore2.ReadTimeout):
            await stream.read(10, 0.01)


async def test_a_server_that_does_not_read_causes_a_write_timeout():
    async with connect() as (stream, reader, _):
        reader._transport.pause_reading()
        with pytest.raises(httpcore2.WriteTimeout):
            await stream.write(bytes(1 << 26), 0.01)


async def test_the_server_must_wait_if_its_bytes_are_not_read():
    async with connect() as (stream, _, writer):
        sent = 1 << 26
        writer.write(bytes(sent))
        for _ in range(1000):
            await asyncio.sleep(0)
        # One read of asyncio can add up to 256 KiB.
        assert MAX_UNREAD_BYTES <= len(stream._unread) < MAX_UNREAD_BYTES + (1 << 18)

        got = 0
        while got < sent:
            got += len(await stream.read(1 << 16, WAIT_SECONDS))
        assert got == sent


async def test_a_refused_connection_names_the_cause():
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1")
    address = server.sockets[0].getsockname()
    server.close()
    await server.wait_closed()
    with pytest.raises(httpcore2.ConnectError) as caught:
        await AsyncioBackend().connect_tcp(*address, timeout=WAIT_SECONDS)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)
