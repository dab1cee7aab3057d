"""The proxy of the fakes tunnels to this machine and to no other."""

import asyncio

import httpx2
import pytest

from jumpseat.testing.upstream import Reply
from tests.fakes.loopback_proxy import LoopbackProxy


async def test_the_proxy_refuses_every_other_host():
    async with LoopbackProxy() as proxy, httpx2.AsyncClient(proxy=proxy.url, trust_env=False) as client:
        with pytest.raises(httpx2.ProxyError):
            await client.get("https://example.com/")
        assert proxy.refused == ["example.com:443"]


async def test_the_proxy_tunnels_to_loopback(upstream):
    upstream.default(Reply.raw(b"here"))
    port = int(upstream.origin.rpartition(":")[2])
    async with LoopbackProxy() as proxy:
        reader, writer = await _tunnel(proxy, f"127.0.0.1:{port}")
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(4) == b"here"
        writer.close()
        await writer.wait_closed()
    assert proxy.refused == []


async def _tunnel(proxy, target):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    writer.write(f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    return reader, writer
