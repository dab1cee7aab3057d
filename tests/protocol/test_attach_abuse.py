"""Clients that flood, stall, send garbage or come and go by the hundred cost the other clients nothing."""

from __future__ import annotations

import asyncio
import errno
import json
import random
import socket
import struct
import time
from pathlib import Path

import pytest

from jumpseat.http.pools import MAX_CONNECTIONS
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.daemon import WAIT_SECONDS, Daemon, frame, provider, user
from tests.fakes.firehose import firehose
from tests.hub import Hub

FLOOD = 20_000
"""The number of requests of the client that floods the daemon. It does not read the responses."""

CHATS_MEANWHILE = 20
"""The number of chats that the other client runs meanwhile."""


def flood(client: Daemon) -> None:
    """Send thousands of requests in one write."""
    requests = ({"jsonrpc": "2.0", "id": number, "method": "providers/list"} for number in range(FLOOD))
    client.send_bytes(b"".join(map(frame, requests)))


def partial_or_hello(request: RecordedRequest) -> Reply:
    """Return the beginning of an answer if the message is `stall`, and otherwise a whole answer."""
    if b"stall" in request.body:
        return Reply.events([*completion_stream(["partial"])[:2], Gate()])
    return Reply.events(completion_stream(["hello"]))


async def time_chats(client: Daemon, count: int) -> list[float]:
    """Run chats and return the seconds that each of them took."""
    seconds = []
    for _ in range(count):
        begun = time.monotonic()
        exchange = await client.request("chat/start", {"messages": [user("hi")]})
        assert exchange.result["text"] == "hello"
        seconds.append(time.monotonic() - begun)
    return seconds


@pytest.mark.slow
@pytest.mark.requirement("9:one-clients-load")
async def test_floods_and_clients_that_do_not_read_do_not_slow_other_clients(
    hub: Hub, upstream: FakeUpstream
) -> None:
    long = firehose(50_000)
    short = Reply.events(completion_stream(["hello"]))
    upstream.default(lambda request: long if b"stall" in request.body else short)
    async with hub.client() as client, hub.client() as flooding, hub.client() as stalled:
        for each in (client, flooding, stalled):
            await each.initialize(provider(upstream.base_url))
        await time_chats(client, 1)
        stalled.start("chat/start", {"messages": [user("stall")]})
        await upstream.wait_for_request(2)
        flood(flooding)
        seconds = await time_chats(client, CHATS_MEANWHILE)

        assert max(seconds) < 1.0
        # The other two are still served, and the messages that they have not read yet are not lost.
        assert (await flooding.read())["id"] in range(FLOOD)
        await stalled.read_delta("text_delta")


@pytest.mark.slow
@pytest.mark.requirement("9:one-clients-load")
async def test_stalled_chats_of_one_client_do_not_block_others(hub: Hub, upstream: FakeUpstream) -> None:
    upstream.default(partial_or_hello)
    async with hub.client() as greedy, hub.client() as client:
        for each in (greedy, client):
            await each.initialize(provider(upstream.base_url))
        for _ in range(MAX_CONNECTIONS + 8):
            greedy.start("chat/start", {"messages": [user("stall")]})
        await upstream.wait_for_request(MAX_CONNECTIONS)
        await time_chats(client, 1)
        assert len(upstream.requests) == MAX_CONNECTIONS + 1


@pytest.mark.requirement("9:hostile")
async def test_garbage_on_the_streams_of_one_client_does_not_reach_another(hub: Hub) -> None:
    random_bytes = random.Random(14).randbytes(1 << 20)
    async with hub.client() as other:
        await other.initialize()
        for garbage in (
            b"Content-Length: 99999999999\r\n\r\n",
            b"Content-Length: 5\r\n\r\n{bad}" * 2000,
            random_bytes,
            b"\0" * (1 << 20),
            b"Content-Length: 1000000\r\n\r\n" + b"[" * 1_000_000,
        ):
            async with hub.client() as client:
                client.send_bytes(garbage)
                client.close_stdin()
                assert client.process.stdout is not None
                await asyncio.wait_for(client.process.stdout.read(), WAIT_SECONDS)
                assert await client.exit_code() == 1
            assert (await other.request("providers/list")).result["providers"]
        assert len((await hub.status())["clients"]) == 1
        assert len(hub.processes()) == 1


def visit(path: Path, data: bytes, descriptors: list[int]) -> None:
    """Send bytes to the control socket, the first one with the descriptors, and leave."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(WAIT_SECONDS)
        deadline = time.monotonic() + WAIT_SECONDS
        while connection.connect_ex(str(path)) == errno.EAGAIN:  # The backlog is full.
            assert time.monotonic() < deadline
            time.sleep(0.005)
        try:
            if descriptors:
                socket.send_fds(connection, [data[:1]], descriptors)
                data = data[1:]
            connection.sendall(data)
        except OSError:
            pass  # The daemon has already closed the connection.


@pytest.mark.requirement("9:hostile")
@pytest.mark.parametrize("visits", [100, pytest.param(3000, marks=pytest.mark.slow)])
async def test_hostile_bytes_on_the_control_socket_leave_the_daemon_as_it_was(
    hub: Hub, upstream: FakeUpstream, visits: int
) -> None:
    chance = random.Random(visits)
    upstream.default(Reply.events(completion_stream(["hello"])))
    async with hub.client() as client:
        await client.initialize(provider(upstream.base_url))
        await time_chats(client, 1)
        before = count_of("fd", hub.pid)
        path = hub.socket
        for _ in range(visits):
            body = chance.choice(
                (
                    chance.randbytes(chance.randrange(200)),
                    json.dumps({"op": chance.choice(("attach", "go", "", None, 7, "exit"))}).encode(),
                    json.dumps({"op": "attach", "pid": 1, "variables": {"A": 1}, "options": []}).encode(),
                    b"[" * 100_000,
                    b'{"op":"status"}',
                )
            )
            length = chance.choice((len(body), len(body) + 5, 0, 0xFFFFFFFF, 4 * 1024 * 1024))
            await asyncio.to_thread(
                visit, path, struct.pack("!I", length) + body, [1] * chance.choice((0, 0, 1, 3, 4, 100))
            )
        await time_chats(client, 1)
        assert len((await hub.status())["clients"]) == 1
        await wait_for_descriptors(hub.pid, before)
    assert "Traceback" not in hub.log


def count_of(kind: str, pid: int) -> int:
    """Return the number of descriptors (`fd`) or threads (`task`) of a process."""
    return len(list(Path(f"/proc/{pid}/{kind}").iterdir()))


async def wait_for_descriptors(pid: int, descriptors: int) -> None:
    """Wait until the daemon has at most this many descriptors."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (now := count_of("fd", pid)) > descriptors:
            assert now < 1000
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("9:soak")
async def test_hundreds_of_clients_leave_descriptors_threads_and_memory_as_they_were(
    hub: Hub, upstream: FakeUpstream
) -> None:
    upstream.default(partial_or_hello)

    async def come_and_go(number: int) -> None:
        async with hub.client() as client:
            match number % 6:
                case 0:  # The client ends with `shutdown` and `exit`.
                    await client.initialize(provider(upstream.base_url))
                    await time_chats(client, 1)
                    await client.request("shutdown")
                    client.notify("exit")
                    assert await client.exit_code() == 0
                case 1:  # The client is killed during an answer.
                    await client.initialize(provider(upstream.base_url))
                    client.start("chat/start", {"messages": [user("stall")]})
                    await client.read_delta("text_delta")
                    client.process.kill()
                case 2:  # The client leaves before its first message.
                    client.close_stdin()
                    assert await client.exit_code() == 1
                case 3:  # The client is killed at a random time.
                    await asyncio.sleep(number % 50 / 1000)
                    client.process.kill()
                case 4:  # The client is terminated.
                    await client.initialize(provider(upstream.base_url))
                    client.process.terminate()
                    assert await client.exit_code() == 1
                case 5:  # The client sends garbage.
                    client.send_bytes(b"garbage\r\n\r\n" * 100)
                    client.close_stdin()
                    await client.exit_code()

    async def run_clients(first: int, count: int) -> tuple[int, int, int]:
        """Run these clients. Return the descriptors, the threads and the memory of the daemon afterwards."""
        for at in range(first, first + count, 4):
            await asyncio.gather(*map(come_and_go, range(at, at + 4)))
        async with asyncio.timeout(WAIT_SECONDS):
            # Poll, because the daemon does not report that a client has ended.
            while (status := await hub.status())["clients"]:  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.05)
        return count_of("fd", hub.pid), count_of("task", hub.pid), status["memoryBytes"]

    async with hub.client() as first:
        await first.initialize()
        first.close_stdin()
        await first.exit_code()
    pid = hub.pid
    descriptors, threads, memory = await run_clients(0, 100)
    descriptors_after, threads_after, memory_after = await run_clients(100, 500)

    assert hub.processes() == {pid}
    assert descriptors_after <= descriptors + 2
    # The pool for blocking work may have started a few threads. If one of the six cases left a thread behind,
    # there would be 80 more.
    assert threads_after <= threads + 10
    assert memory_after < memory + (3 << 20)
    assert "Traceback" not in hub.log
