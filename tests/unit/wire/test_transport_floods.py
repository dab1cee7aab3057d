"""Clients that send a lot: other connections are served in between, and unread output is bounded."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from jumpseat.wire import HIGH_WATER, Transport, open_fds
from jumpseat.wire.polled import SLICE_SECONDS
from jumpseat.wire.transport import FLOOD_WATER


@pytest.mark.parametrize("kind", ["pipe", "file"])
async def test_other_work_runs_between_the_pieces_of_a_flood(kind: str, tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    if kind == "pipe":
        os.write(write_fd, b"x" * 60_000)
    else:
        os.close(read_fd)
        (tmp_path / "in").write_bytes(b"x" * 60_000)
        read_fd = os.open(tmp_path / "in", os.O_RDONLY)
    loop = asyncio.get_running_loop()
    log: list[str] = []
    received = 0
    ended = asyncio.Event()

    def tick() -> None:
        log.append("other")
        if not ended.is_set():
            loop.call_soon(tick)

    def on_data(data: bytes) -> None:
        nonlocal received
        received += len(data)
        log.append("piece")
        time.sleep(2 * SLICE_SECONDS)  # Each piece keeps the event loop busy for longer than its slice.
        if received == 60_000:
            ended.set()

    transport = open_fds(read_fd, os.open(os.devnull, os.O_WRONLY), on_data=on_data, on_eof=lambda: None)
    tick()
    await asyncio.wait_for(ended.wait(), 20)
    await transport.aclose(10)
    os.close(write_fd)

    # Between any two pieces, other work ran.
    pieces = "".join(each[0] for each in log).split("o")
    assert max(map(len, pieces)) == 1
    assert log.count("piece") > 3


async def test_paused_input_is_not_read_until_it_is_resumed() -> None:
    read_fd, write_fd = os.pipe()
    received: list[bytes] = []
    arrived = asyncio.Event()

    def on_data(data: bytes) -> None:
        received.append(data)
        arrived.set()

    transport = open_fds(read_fd, os.open(os.devnull, os.O_WRONLY), on_data=on_data, on_eof=lambda: None)
    transport.pause_input()
    os.write(write_fd, b"x")
    transport.write(b"y")
    await transport.flush(5)
    await asyncio.sleep(0.02)  # The input would be read meanwhile.
    assert received == []

    transport.resume_input()
    await asyncio.wait_for(arrived.wait(), 20)
    assert received == [b"x"]
    await transport.aclose(10)
    os.close(write_fd)


@pytest.mark.parametrize("kind", ["pipe", "file"])
async def test_requests_are_not_read_while_their_responses_are_not_read(kind: str, tmp_path: Path) -> None:
    size = 2_000_000
    (tmp_path / "in").write_bytes(b"x" * size)
    far_read, write_fd = os.pipe()
    feeding: asyncio.Task[None] | None = None
    if kind == "file":
        read_fd = os.open(tmp_path / "in", os.O_RDONLY)
    else:
        read_fd, far_write = os.pipe()

        def feed() -> None:
            with os.fdopen(far_write, "wb") as pipe:
                pipe.write(b"x" * size)

        feeding = asyncio.create_task(asyncio.to_thread(feed))
    received = 0
    progress = asyncio.Event()
    transports: list[Transport] = []

    def on_data(data: bytes) -> None:
        nonlocal received
        received += len(data)
        transports[0].write(data * 20)
        progress.set()

    transport = open_fds(read_fd, write_fd, on_data=on_data, on_eof=progress.set)
    transports.append(transport)
    async with asyncio.timeout(20):
        while transport.buffered < FLOOD_WATER:
            progress.clear()
            await progress.wait()
    most = received
    for _ in range(20):
        await asyncio.sleep(0.005)  # The rest of the input would be read meanwhile.
    assert received - most <= 2 * 16_384
    assert received < size / 2
    assert transport.buffered < FLOOD_WATER + 2 * 20 * 16_384 + HIGH_WATER

    def read_all() -> int:
        count = 0
        while count < 20 * size:
            count += len(os.read(far_read, 1 << 20))
        return count

    assert await asyncio.wait_for(asyncio.to_thread(read_all), 20) == 20 * size
    assert received == size
    if feeding is not None:
        await feeding
    await transport.aclose(10)
    os.close(far_read)
