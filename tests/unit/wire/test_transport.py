"""Transport of bytes over real pipes, sockets, files and terminals."""

from __future__ import annotations

import asyncio
import os
import pty
import socket
import threading
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from jumpseat.system import nonblocking
from jumpseat.wire import HIGH_WATER, Transport, open_fds


class Recorder:
    """A recorder of a transport's callbacks; tests wait for them with a timeout."""

    def __init__(self) -> None:
        self.data = b""
        self.ends = 0
        self.changed = asyncio.Event()

    def on_data(self, data: bytes) -> None:
        assert data
        self.data += data
        self.changed.set()

    def on_eof(self) -> None:
        self.ends += 1
        self.changed.set()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def open(self, read_fd: int, write_fd: int) -> Transport:
        return open_fds(read_fd, write_fd, on_data=self.on_data, on_eof=self.on_eof)


class Connection:
    """The near ends of a connection, for a transport, and its far ends, which the test reads and writes."""

    def __init__(self, kind: str) -> None:
        if kind == "pipes":
            self.near_read, self.write_fd = os.pipe()
            self.read_fd, self.near_write = os.pipe()
        elif kind == "two sockets":
            near_in, far_in = socket.socketpair()
            near_out, far_out = socket.socketpair()
            self.near_read, self.write_fd = near_in.detach(), far_in.detach()
            self.near_write, self.read_fd = near_out.detach(), far_out.detach()
        elif kind == "one socket":
            near, far = socket.socketpair()
            self.near_read, self.write_fd = near.detach(), far.detach()
            self.near_write, self.read_fd = os.dup(self.near_read), os.dup(self.write_fd)
        else:
            self.write_fd, self.near_read = pty.openpty()
            tty.setraw(self.near_read)
            self.near_write, self.read_fd = os.dup(self.near_read), os.dup(self.write_fd)

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += os.read(self.read_fd, min(65_536, count - len(data)))
        return data

    def hang_up(self) -> None:
        for fd in (self.write_fd, self.read_fd):
            os.close(fd)


KINDS = ["pipes", "two sockets", "one socket", "terminal"]
POLLED = KINDS[:3]
"""The kinds that the event loop polls. A transport uses threads for all others."""


@pytest.mark.parametrize("kind", KINDS)
async def test_bytes_go_both_ways_and_the_end_is_reported_once(kind: str) -> None:
    connection, recorder = Connection(kind), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    os.write(connection.write_fd, b"ping")
    await recorder.wait_until(lambda: recorder.data == b"ping")
    transport.write(b"po")
    transport.write(b"ng")

    assert await asyncio.wait_for(asyncio.to_thread(connection.read, 4), 10) == b"pong"
    connection.hang_up()
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.write(b"into the void" * 100_000)
    assert await transport.flush(5) is False or kind == "terminal"
    transport.close()
    transport.close()
    await asyncio.sleep(0)
    assert recorder.ends == 1


@pytest.mark.parametrize("kind", POLLED)
async def test_a_write_is_sent_before_write_returns(kind: str) -> None:
    connection, recorder = Connection(kind), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    transport.write(b"now")

    assert transport.buffered == 0
    assert os.read(connection.read_fd, 10) == b"now"
    transport.close()
    connection.hang_up()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_slow_reader_delays_nothing_and_loses_nothing(kind: str) -> None:
    connection, recorder = Connection(kind), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    sent = bytearray()
    began = time.perf_counter()
    while transport.buffered < 3 * HIGH_WATER:
        piece = os.urandom(8) * 8192
        sent += piece
        transport.write(piece)
    # The reader has not started, so a write that waited for it would never return.
    assert time.perf_counter() - began < 20
    assert await transport.flush(0.05) is False
    waiting = asyncio.create_task(transport.wait_until_ready())
    await asyncio.sleep(0)
    assert not waiting.done()

    # Read only a part: `wait_until_ready` must not wait until everything is read.
    taken = len(sent) - HIGH_WATER // 2
    first = await asyncio.wait_for(asyncio.to_thread(connection.read, taken), 30)
    await asyncio.wait_for(waiting, 10)
    assert transport.buffered < HIGH_WATER
    rest = asyncio.create_task(asyncio.to_thread(connection.read, len(sent) - taken))
    assert await transport.flush(10) is True
    assert first + await asyncio.wait_for(rest, 10) == sent
    assert transport.buffered == 0
    transport.close()
    connection.hang_up()


@pytest.mark.parametrize("kind", ["pipes", "two sockets"])
async def test_a_lost_reader_ends_the_connection_though_input_stays_open(kind: str) -> None:
    connection, recorder = Connection(kind), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    os.close(connection.read_fd)
    await recorder.wait_until(lambda: recorder.ends == 1)
    os.write(connection.write_fd, b"too late")
    transport.write(b"x")
    await transport.wait_until_ready()
    assert transport.buffered == 0
    transport.close()
    assert recorder.data == b""
    os.close(connection.write_fd)


async def test_waiting_callers_are_woken_if_the_reader_is_lost() -> None:
    connection, recorder = Connection("pipes"), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    transport.write(bytes(2 * HIGH_WATER))
    waiting = asyncio.gather(transport.wait_until_ready(), transport.flush(10))
    await asyncio.sleep(0)
    os.close(connection.read_fd)
    assert (await asyncio.wait_for(waiting, 20))[1] is False
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.close()
    os.close(connection.write_fd)


async def test_close_wakes_waiting_callers_and_is_not_an_end_of_input() -> None:
    connection, recorder = Connection("pipes"), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    transport.write(bytes(2 * HIGH_WATER))
    waiting = asyncio.create_task(transport.wait_until_ready())
    await asyncio.sleep(0)
    transport.close()
    await asyncio.wait_for(waiting, 20)
    connection.hang_up()
    assert recorder.ends == 0


async def test_a_socket_whose_far_side_only_stops_sending_is_still_written_to() -> None:
    near_in, far_in = socket.socketpair()
    near_out, far_out = socket.socketpair()
    recorder = Recorder()
    transport = await recorder.open(near_in.detach(), near_out.detach())
    far_out.sendall(b"never read")
    far_out.shutdown(socket.SHUT_WR)
    far_in.sendall(b"ping")
    await recorder.wait_until(lambda: recorder.data == b"ping")
    transport.write(b"pong")
    far_out.settimeout(5)
    assert (far_out.recv(10), recorder.ends) == (b"pong", 0)
    transport.close()
    far_in.close()
    far_out.close()


async def test_output_is_still_accepted_after_the_end_of_the_input() -> None:
    connection, recorder = Connection("pipes"), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    os.close(connection.write_fd)
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.write(b"last words")
    assert await transport.flush(5) is True
    assert os.read(connection.read_fd, 100) == b"last words"
    transport.close()
    os.close(connection.read_fd)


async def test_regular_files_work_as_input_and_output(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    (tmp_path / "in").write_bytes(content)
    recorder = Recorder()
    read_fd = os.open(tmp_path / "in", os.O_RDONLY)
    write_fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    transport = await recorder.open(read_fd, write_fd)
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.write(content)
    assert transport.buffered
    assert await transport.flush(10) is True
    transport.close()

    assert recorder.data == content
    assert (tmp_path / "out").read_bytes() == content


async def test_threads_close_their_descriptors(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x")
    names = (tmp_path / "in", tmp_path / "out")
    files = [os.open(name, os.O_RDWR | os.O_CREAT) for name in names]
    identities = {(os.fstat(fd).st_dev, os.fstat(fd).st_ino) for fd in files}
    recorder = Recorder()
    transport = await recorder.open(files[0], files[1])
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.close()

    def still_open() -> bool:
        open_now = set()
        for fd in files:
            with suppress(OSError):
                open_now.add((os.fstat(fd).st_dev, os.fstat(fd).st_ino))
        return bool(open_now & identities)

    async with asyncio.timeout(10):
        # The threads end shortly afterwards, and the closing of a descriptor is not reported.
        while still_open():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)


async def test_the_null_device_is_an_input_that_has_ended() -> None:
    recorder = Recorder()
    transport = await recorder.open(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
    await recorder.wait_until(lambda: recorder.ends == 1)
    transport.write(b"x")
    assert await transport.flush(5) is True
    transport.close()


@pytest.mark.parametrize("can_open_again", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_descriptors_are_left_as_they_were_found(
    kind: str, can_open_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_open_again:
        # This has the same effect as a system without /proc.
        monkeypatch.setattr(nonblocking, "_open_again", lambda descriptor, access: None)
    connection, recorder = Connection(kind), Recorder()
    others = [os.dup(connection.near_read), os.dup(connection.near_write)]
    transport = await recorder.open(connection.near_read, connection.near_write)
    os.write(connection.write_fd, b"ping")
    await recorder.wait_until(lambda: recorder.data == b"ping")
    transport.write(b"x" * HIGH_WATER)
    # A pipe that cannot be opened again is non-blocking for all its holders while it is in use.
    if can_open_again or kind != "pipes":
        assert all(map(os.get_blocking, others))
    await asyncio.to_thread(connection.read, HIGH_WATER)
    await transport.aclose(10)
    assert all(map(os.get_blocking, others))
    for fd in others:
        os.close(fd)
    connection.hang_up()


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("jumpseat-")]


async def test_input_after_the_end_is_left_to_the_next_reader_of_the_terminal() -> None:
    connection, recorder = Connection("terminal"), Recorder()
    shell = os.dup(connection.near_read)
    transport = await recorder.open(connection.near_read, connection.near_write)
    os.write(connection.write_fd, b"for the session")
    await recorder.wait_until(lambda: recorder.data == b"for the session")
    await transport.aclose(10)
    os.write(connection.write_fd, b"for the shell")

    assert await asyncio.wait_for(asyncio.to_thread(os.read, shell, 100), 10) == b"for the shell"
    os.close(shell)
    connection.hang_up()


async def test_the_threads_of_a_terminal_end_even_if_it_is_not_read() -> None:
    connection, recorder = Connection("terminal"), Recorder()
    transport = await recorder.open(connection.near_read, connection.near_write)
    transport.write(b"x" * HIGH_WATER)
    assert not await transport.flush(0.05)
    await transport.aclose(10)

    async with asyncio.timeout(10):
        # The threads end right after they closed their descriptors.
        while _threads():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)
    connection.hang_up()


async def test_a_named_pipe_whose_writer_left_before_is_an_input_that_has_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    read_fd = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(read_fd, True)
    os.close(os.open(tmp_path / "fifo", os.O_WRONLY))
    recorder = Recorder()
    transport = await recorder.open(read_fd, os.open(os.devnull, os.O_WRONLY))
    await recorder.wait_until(lambda: recorder.ends == 1)
    await transport.aclose(10)


async def test_a_named_pipe_that_is_open_in_both_directions_has_a_reader(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "fifo")
    write_fd = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
    read_fd = os.dup(write_fd)
    near, far = os.pipe()
    recorder = Recorder()
    transport = await recorder.open(near, write_fd)
    transport.write(b"one")
    os.write(far, b"input")
    await recorder.wait_until(lambda: recorder.data == b"input")
    await asyncio.sleep(0)
    transport.write(b"two")
    assert (os.read(read_fd, 100), recorder.ends) == (b"onetwo", 0)
    await transport.aclose(10)
    for descriptor in (read_fd, far):
        os.close(descriptor)


async def test_opening_closes_both_descriptors_if_one_is_not_open() -> None:
    read_fd, write_fd = os.pipe()
    os.close(write_fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        await Recorder().open(read_fd, write_fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(read_fd)


def test_a_transport_in_the_loop_of_a_runner_leaves_no_descriptor_open() -> None:
    # Only Linux lists a process's descriptors there; on other systems, only the session is tested.
    table = Path("/proc/self/fd")
    before = {each.name for each in table.iterdir()} if table.exists() else None

    async def session() -> None:
        connection, recorder = Connection("pipes"), Recorder()
        transport = await recorder.open(connection.near_read, connection.near_write)
        os.write(connection.write_fd, b"x")
        await recorder.wait_until(lambda: recorder.data == b"x")
        transport.close()
        connection.hang_up()

    with asyncio.Runner() as runner:
        runner.run(session())
    if before is not None:
        # There may be fewer, because threads of an earlier test may close theirs in the meantime.
        assert {each.name for each in table.iterdir()} - before == set()
