"""The server that receives the redirect at the end of a sign-in."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.http import redirect_receiver
from jumpseat.http.redirect_receiver import MAX_HEAD_BYTES, RedirectReceiver


async def send(receiver: RedirectReceiver, head: bytes) -> bytes:
    """Send a request, and return the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    writer.write(head)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def get(receiver: RedirectReceiver, target: str) -> bytes:
    return await send(receiver, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


async def start_waiting(receiver: RedirectReceiver, state: str) -> asyncio.Task[object]:
    """Start to wait for the redirect with this state."""
    waiting: asyncio.Task[object] = asyncio.create_task(receiver.wait(state))
    await asyncio.sleep(0)
    return waiting


async def test_the_awaited_redirect_is_returned() -> None:
    async with RedirectReceiver() as receiver:
        waiting = await start_waiting(receiver, "s1")
        answer = await get(receiver, "/callback?code=a%20b&state=s1")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"You are signed in." in answer
        assert await waiting == {"code": "a b", "state": "s1"}
        # The next sign-in has another state.
        waiting = await start_waiting(receiver, "s2")
        assert (await get(receiver, "/callback?code=1&state=s1")).startswith(b"HTTP/1.1 404 ")
        assert b"refused" in await get(receiver, "/callback?error=access_denied&state=s2")
        assert await waiting == {"error": "access_denied", "state": "s2"}


@pytest.mark.parametrize(
    "head",
    [
        b"GET /callback?code=1&state=other HTTP/1.1\r\n\r\n",
        b"GET /callback?code=1 HTTP/1.1\r\n\r\n",
        b"GET /favicon.ico?state=s HTTP/1.1\r\n\r\n",
        b"POST /callback?state=s HTTP/1.1\r\n\r\n",
        b"\xff\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * (MAX_HEAD_BYTES + 1),
    ],
)
async def test_other_requests_are_ignored(head: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with RedirectReceiver() as receiver:
        # No redirect is awaited yet, so an empty state must not match either.
        assert b"404" in (await send(receiver, b"GET /callback?state= HTTP/1.1\r\n\r\n"))
        waiting = await start_waiting(receiver, "s")
        assert b" 200 " not in await send(receiver, head)
        assert not waiting.done()
        waiting.cancel()
    assert caplog.records == []


async def test_a_silent_connection_does_not_prevent_the_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect_receiver, "HEAD_SECONDS", 0.1)
    async with RedirectReceiver() as receiver:
        waiting = await start_waiting(receiver, "s")
        assert await send(receiver, b"GET ") == b""
        await get(receiver, "/callback?state=s")
        await waiting


async def test_a_requested_port_is_used_if_it_is_free() -> None:
    async with RedirectReceiver() as receiver:
        port = receiver.port
        assert receiver.url == f"http://127.0.0.1:{port}/callback"
        async with RedirectReceiver(port) as second:
            assert second.port != port
    async with RedirectReceiver(port) as third:
        assert third.port == port
