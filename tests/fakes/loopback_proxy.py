"""A CONNECT proxy that lets nobody out: it tunnels to 127.0.0.1 and refuses every other host.

For programs that are not ours and would report home from a test. Above it are tests; below it asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

_LOOPBACK = "127.0.0.1"


class LoopbackProxy:
    """The proxy, as an async context manager. `refused` are the hosts that were asked for in vain."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self._server: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """What HTTPS_PROXY is to be."""
        assert self._server is not None
        return f"http://{_LOOPBACK}:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, _LOOPBACK, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tunnels):
            task.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tunnels.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._tunnel(reader, writer)
        finally:
            self._tunnels.discard(task)
            await _close(writer)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split(" ", 2)
        host, _, port = target.rpartition(":")
        if method != "CONNECT" or host != _LOOPBACK:
            self.refused.append(target)
            writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return
        onward_reader, onward_writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ways = [
                asyncio.ensure_future(_pump(reader, onward_writer)),
                asyncio.ensure_future(_pump(onward_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            await _close(onward_writer)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        await writer.wait_closed()
