"""Malformed and unusual frames, as raw bytes to the real process.

After each case, the test sends a valid request, which must be served.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.daemon import Daemon, frame

GOOD = {"jsonrpc": "2.0", "id": "good", "method": "providers/list"}


def frame_with_head(body: bytes, head: str = "Content-Length: {}\r\n\r\n") -> bytes:
    return head.format(len(body)).encode() + body


BODY = json.dumps(GOOD).encode()

TOLERATED = {
    "lower-case": frame_with_head(BODY, "content-length: {}\r\n\r\n"),
    "no-space": frame_with_head(BODY, "Content-Length:{}\r\n\r\n"),
    "many-spaces": frame_with_head(BODY, "Content-Length \t:   {}  \r\n\r\n"),
    "line-feeds": frame_with_head(BODY, "Content-Length: {}\n\n"),
    "utf8": frame_with_head(
        BODY, "Content-Length: {}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n"
    ),
    "utf-8-first": frame_with_head(BODY, "Content-Type: x; charset=UTF-8\r\nContent-Length: {}\r\n\r\n"),
    "other-headers": frame_with_head(BODY, "X-Other: 1\r\nContent-Length: {}\r\n\r\n"),
    "twice-the-same": frame_with_head(BODY, "Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n"),
}

MALFORMED = {
    "no-length": b"Content-Type: x\r\n\r\n{}",
    "not-a-number": b"Content-Length: many\r\n\r\n{}",
    "negative": b"Content-Length: -5\r\n\r\n{}",
    "fraction": b"Content-Length: 1.5\r\n\r\n{}",
    "no-value": b"Content-Length:\r\n\r\n{}",
    "conflicting": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "latin-1": frame_with_head(b'"\xe9"', "Content-Length: {}\r\nContent-Type: x; charset=latin-1\r\n\r\n"),
    "too-short": b'Content-Length: 4\r\n\r\n{"jsonrpc": "2.0", "id": 1}',
    "too-long": b'Content-Length: 100\r\n\r\n{"jsonrpc": "2.0"}',
    "ten-gigabytes": b"Content-Length: 10000000000\r\n\r\n{}",
    "just-too-big": b"Content-Length: %d\r\n\r\n{}" % ((64 << 20) + 1),
    "no-header-at-all": b"hello?\r\n\r\n",
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bare-json": BODY + b"\r\n",
    "binary": bytes(range(256)) + b"\r\n\r\n",
    "endless-header": b"X-A: " + b"a" * (1 << 20) + b"\r\n\r\n",
    "colonless": b"Content-Length 5\r\n\r\n{}",
}


@pytest.mark.requirement("1:frames", "1:charset")
@pytest.mark.parametrize("data", TOLERATED.values(), ids=TOLERATED)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_frame_of_unusual_but_valid_form_is_served(served: Daemon, data: bytes) -> None:
    served.send_bytes(data)
    assert (await served.read_until("good")).result["providers"]


@pytest.mark.requirement("1:resync", "1:charset", "1:frame-limit", "1:parse-error")
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_malformed_frame_is_reported_once_and_the_next_request_is_served(
    served: Daemon, data: bytes
) -> None:
    served.send_bytes(data)
    served.send(GOOD)
    error = await served.read()
    assert error["id"] is None
    assert error["error"]["code"] == -32700
    assert (await served.read_until("good")).result["providers"]
    assert (await served.request("providers/list")).notifications == []


@pytest.mark.requirement("1:frames")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_is_counted_in_bytes_and_answered_in_utf_8(served: Daemon) -> None:
    body = json.dumps({**GOOD, "method": "né→🙂"}, ensure_ascii=False).encode()
    served.send_bytes(frame_with_head(body))
    assert "né→🙂" in (await served.read_until("good")).error["message"]


@pytest.mark.requirement("1:frame-limit")
async def test_a_huge_content_length_uses_little_memory(daemon: Daemon) -> None:
    await daemon.initialize()
    before = _resident_bytes(daemon.process.pid)
    if before is None:
        pytest.skip("this system has no /proc to read a process's memory from")
    daemon.send_bytes(b"Content-Length: 10000000000\r\n\r\n" + b"x" * (16 << 20))
    assert daemon.process.stdin is not None
    await daemon.process.stdin.drain()
    daemon.send(GOOD)
    assert (await daemon.read())["error"]["code"] == -32700
    assert (await daemon.read_until("good")).result["providers"]
    after = _resident_bytes(daemon.process.pid)
    assert after is not None
    assert after - before < 16 << 20


@pytest.mark.asyncio(loop_scope="module")
async def test_a_frame_of_many_megabytes_is_accepted(served: Daemon) -> None:
    big = {**GOOD, "params": {"padding": "x" * (20 << 20)}}
    served.send_bytes(frame(big))
    assert (await served.read_until("good")).result["providers"]


def _resident_bytes(pid: int) -> int | None:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
