"""A client that stops reading does not delay others and loses nothing, and its provider is paused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply
from tests.daemon import WAIT_SECONDS, Daemon, provider, running_daemon, user

PIECES = 4000
PIECE = "x" * 4096


@pytest.mark.requirement("1:slow-reader")
async def test_a_slow_reader_receives_everything_with_bounded_memory(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream([PIECE] * PIECES)))
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        before = _resident_bytes(daemon)
        request_id = daemon.start("chat/start", {"messages": [user("hi")]})
        asked = await upstream.wait_for_request()
        await _wait_until_paused(asked)  # The client has not read a byte of the answer.
        held = _resident_bytes(daemon) - before
        exchange = await daemon.read_until(request_id)
    texts = [delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta"]
    assert "".join(texts) == exchange.result["text"] == PIECE * PIECES
    assert held < 24 << 20


@pytest.mark.requirement("1:slow-reader")
async def test_a_client_that_never_reads_stderr_is_served(home: Path) -> None:
    malformed = b"Content-Length: 4\r\n\r\n{bad" * 3000
    async with running_daemon(home, drain_stderr=False) as daemon:
        daemon.send_bytes(malformed)
        for _ in range(3000):
            assert (await daemon.read())["error"]["code"] == -32700
        await daemon.initialize()
        daemon.close_stdin()
        # Wait for the end of stdout, because asyncio does not report an exit code before the log is read.
        assert daemon.process.stdout is not None
        assert await asyncio.wait_for(daemon.process.stdout.read(), WAIT_SECONDS) == b""


async def _wait_until_paused(asked: RecordedRequest) -> None:
    """Wait until the answer makes no progress. Fail if it has been sent completely."""
    async with asyncio.timeout(WAIT_SECONDS):
        before = -1
        while asked.sent == 0 or asked.sent != before:
            before = asked.sent
            await asyncio.sleep(0.3)
    assert asked.sent < PIECES * len(PIECE), "the daemon took the whole answer"


def _resident_bytes(daemon: Daemon) -> int:
    status = Path(f"/proc/{daemon.process.pid}/status")
    if not status.exists():
        pytest.skip("this system has no /proc to read a process's memory from")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
