"""A broken or hostile program at the control socket cannot harm the daemon or make it leak descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.hub import hub as module
from jumpseat.hub.control import LENGTH, MAX_BYTES, close_descriptors, encode
from jumpseat.hub.hub import Hub
from jumpseat.hub.names import daemon_files
from jumpseat.hub.ownership import Ownership
from tests.hub import directory_for_sockets

pytestmark = pytest.mark.requirement("9:hostile")

WAIT_SECONDS = 10.0


class Visitor:
    """A connection to the control socket that may send anything."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def send_with(self, data: bytes, descriptors: list[int]) -> None:
        socket.send_fds(self._socket, [data], descriptors)

    async def read_to_end(self) -> bytes:
        """Return everything that the daemon sends until it closes the connection, within a time limit."""
        data = b""
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                try:
                    part = await asyncio.get_running_loop().sock_recv(self._socket, 4096)
                except ConnectionResetError:
                    return data
                if not part:
                    return data
                data += part

    async def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        await self.send(encode(message))
        answer: dict[str, Any] = json.loads((await self.read_to_end())[LENGTH.size :])
        return answer

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
async def visit(tmp_path: Path) -> AsyncIterator[Callable[[], Visitor]]:
    """Yield a function that connects to the control socket of a hub in this process."""
    visitors = []
    with directory_for_sockets() as run:
        ownership = Ownership(daemon_files(tmp_path), run)
        hub = Hub(ownership.publish(), ownership, "here", on_disconnect=lambda: None)
        running = asyncio.create_task(hub.run())

        def connect() -> Visitor:
            visitors.append(Visitor(ownership.socket_path))
            return visitors[-1]

        yield connect
        for visitor in visitors:
            visitor.close()
        hub.stop()
        async with asyncio.timeout(WAIT_SECONDS):
            await running


def hello(**changed: Any) -> dict[str, Any]:
    return {
        "op": "attach",
        "installation": "here",
        "pid": 1,
        "variables": {},
        "directory": "/",
        "umask": 0o022,
        "places": ["/a", "/b", "/c"],
        "options": {},
        **changed,
    }


def is_open(pipe: int) -> bool:
    """Return whether the hub can still read from this pipe, whose reading end the test has closed."""
    try:
        os.write(pipe, b"x")
    except BrokenPipeError:
        return False
    return True


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        LENGTH.pack(MAX_BYTES + 1),
        LENGTH.pack(5) + b"hello",
        LENGTH.pack(2) + b"[]",
        LENGTH.pack(2) + b"{}",
        LENGTH.pack(13) + b'{"op":"what"}',
        LENGTH.pack(10_000) + b"[" * 10_000,
    ],
)
async def test_garbage_ends_only_its_own_connection(visit: Callable[[], Visitor], data: bytes) -> None:
    visitor = visit()
    await visitor.send(data)

    assert await visitor.read_to_end() == b""
    assert (await visit().ask({"op": "status"}))["clients"] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"pid": "1"},
        {"variables": {"A": 1}},
        {"variables": ["A"]},
        {"directory": "relative"},
        {"places": ["/a", "/b"]},
        {"options": {"log_level": "loud"}},
        {"options": {"config_file": 1}},
        {},  # The hello is correct, but comes without the descriptors of the three streams.
    ],
)
async def test_a_wrong_hello_is_refused_without_quoting_it(
    visit: Callable[[], Visitor], changed: dict[str, Any]
) -> None:
    message = hello(**changed)
    if isinstance(message["variables"], dict):
        message["variables"]["SECRET"] = "canary"

    answer = await visit().ask(message)

    assert "the daemon does not understand this client" in answer["refused"]
    assert "canary" not in answer["refused"]


async def test_received_descriptors_are_closed_however_the_connection_ends(
    visit: Callable[[], Visitor],
) -> None:
    ends = []
    for data in (encode(hello())[:-1], encode(hello(pid="1")), LENGTH.pack(5) + b"hello"):
        reader, writer = os.pipe()
        visitor = visit()
        visitor.send_with(data, [reader, reader, reader])
        os.close(reader)
        ends.append((visitor, writer))
    await visit().ask({"op": "status"})  # The answer shows that everything sent before has been read.
    for visitor, _ in ends:
        visitor.close()
    await visit().ask({"op": "status"})

    for _, writer in ends:
        assert not is_open(writer)
        os.close(writer)


async def test_descriptors_beyond_those_of_the_three_streams_are_closed(visit: Callable[[], Visitor]) -> None:
    reader, writer = os.pipe()
    visitor = visit()
    visitor.send_with(b"\0\0", [reader] * 20)
    await visit().ask({"op": "status"})
    visitor.send_with(b"\0\0", [reader] * 3)
    os.close(reader)

    assert await visitor.read_to_end() == b""
    assert not is_open(writer)
    os.close(writer)


async def test_a_silent_connection_is_closed_after_a_while(
    visit: Callable[[], Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELLO_SECONDS", 0.05)
    assert await visit().read_to_end() == b""


async def test_a_flood_of_silent_connections_does_not_block_clients(
    visit: Callable[[], Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 8)
    flood = [visit() for _ in range(58)]  # 50 more than the limit.

    assert (await visit().ask({"op": "status"}))["running"] is True
    # The oldest connections were closed, so that no more than the limit are open.
    for visitor in flood[:50]:
        assert await visitor.read_to_end() == b""


async def test_a_client_that_gives_up_before_the_session_begins_keeps_its_input(
    visit: Callable[[], Visitor],
) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"for the client itself")
    visitor = visit()
    visitor.send_with(encode(hello()), [reader, writer, writer])
    data = LENGTH.pack(len(b'{"ready": true}')) + b'{"ready": true}'
    async with asyncio.timeout(WAIT_SECONDS):
        assert await asyncio.get_running_loop().sock_recv(visitor._socket, 100) == data
    visitor.close()
    await visit().ask({"op": "status"})

    assert os.read(reader, 100) == b"for the client itself"
    os.close(reader)
    assert not is_open(writer)
    os.close(writer)


async def test_threads_that_block_for_one_client_leave_threads_for_others(
    visit: Callable[[], Visitor],
) -> None:
    assert await visit().ask({"op": "status"})  # The hub runs.
    released = threading.Event()
    # These are more threads than asyncio's own executor has, which are at most 32.
    blocked = [asyncio.ensure_future(asyncio.to_thread(released.wait, WAIT_SECONDS)) for _ in range(60)]
    await asyncio.sleep(0)  # Let the blocking calls begin.
    try:
        async with asyncio.timeout(WAIT_SECONDS / 2):
            assert await asyncio.to_thread(lambda: True)
    finally:
        released.set()
        await asyncio.gather(*blocked)


@contextlib.contextmanager
def limit_free_descriptors(count: int) -> Iterator[None]:
    """Use up the descriptors of this process except for this many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    filling: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                filling.append(os.dup(2))
        close_descriptors([filling.pop() for _ in range(count)])
        yield
    finally:
        close_descriptors(filling)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.requirement("9:no-descriptors")
@pytest.mark.parametrize("free", [0, 1, 3, module.FREE_DESCRIPTORS])
async def test_a_daemon_without_free_descriptors_refuses_clients_until_it_has_some(
    visit: Callable[[], Visitor], free: int
) -> None:
    assert await visit().ask({"op": "status"})  # The hub runs.
    visitors = [visit() for _ in range(3)]
    with limit_free_descriptors(free):
        for visitor in visitors:
            visitor.send_with(encode(hello()), [0, 1, 2])
            answer = json.loads((await visitor.read_to_end())[LENGTH.size :])
            assert answer == {"refused": "the daemon has too many open files"}

    visitor = visit()
    visitor.send_with(encode(hello()), [0, 1, 2])
    async with asyncio.timeout(WAIT_SECONDS):
        assert b"ready" in await asyncio.get_running_loop().sock_recv(visitor._socket, 100)


@pytest.mark.requirement("9:upgrade", "9:others")
async def test_a_daemon_whose_installation_has_changed_refuses_clients_and_ends(
    visit: Callable[[], Visitor], tmp_path: Path
) -> None:
    early, visitor, asking = visit(), visit(), visit()
    assert (await visit().ask({"op": "status", "installation": "here"}))["current"] is True
    assert (await visit().ask({"op": "status", "installation": "upgraded"}))["current"] is False
    await visitor.send(encode(hello(installation="upgraded")))
    # The daemon closes the connection without a refusal, so that the client starts another daemon.
    assert await visitor.read_to_end() == b""
    assert not daemon_files(tmp_path).pointer.exists()
    await early.send(encode(hello()))
    assert await early.read_to_end() == b""
    assert (await asking.ask({"op": "status", "installation": "here"}))["current"] is False

    async with asyncio.timeout(WAIT_SECONDS):
        while list((tmp_path / "daemon").glob("*.retired")):  # noqa: ASYNC110 - the hub removes it
            await asyncio.sleep(0.01)
