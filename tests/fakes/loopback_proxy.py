"""A proxy that connects only to loopback and refuses every other host.

It prevents other programs from sending telemetry during a test. For tests of our own programs, it maps
invented names to ports, can require a password, and misbehaves on request.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self
from urllib.parse import urlsplit

_LOOPBACK = "127.0.0.1"

Manner = Literal["serve", "close", "stall", "close behind", "stall behind"]
"""The proxy's behaviour.

"close" and "stall" take effect after the request. "close behind" and "stall behind" take effect later, after
the answer to CONNECT has reported that the connection is established.
"""


@dataclass(frozen=True)
class ProxyRequest:
    """A request, with header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


class LoopbackProxy:
    """The proxy, an async context manager.

    Args:
        hosts: the loopback port for each known name.
        auth: the `user:password` that the proxy requires.
        context: the TLS context; None for plain HTTP.
    """

    def __init__(
        self,
        hosts: Mapping[str, int] | None = None,
        *,
        auth: str | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.refused: list[str] = []
        """The targets that were refused."""

        self.requests: list[ProxyRequest] = []
        self.certificates: list[Mapping[str, Any]] = []
        """The client certificates of TLS connections to the proxy itself; empty for a client without one."""

        self.manner: Manner = "serve"
        self.refusal = 0
        """The status of the answer to every request; 0 for normal answers."""

        self.bytes_out = bytearray()
        """All bytes from clients as the proxy sees them; TLS connections through it are encrypted."""

        self._hosts = dict(hosts or {})
        self._auth = None if auth is None else "Basic " + base64.b64encode(auth.encode()).decode()
        self._context = context
        self._server: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """The host and port."""
        assert self._server is not None
        return f"{_LOOPBACK}:{self._server.sockets[0].getsockname()[1]}"

    @property
    def url(self) -> str:
        """The value for HTTPS_PROXY."""
        return f"http{'s' if self._context else ''}://{self.address}"

    def url_with(self, userinfo: str) -> str:
        """Return `url` with a user and a password."""
        return self.url.replace("://", f"://{userinfo}@")

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, _LOOPBACK, 0, ssl=self._context)
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
        self.certificates.append(writer.get_extra_info("peercert") or {})
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._take(reader, writer)
        finally:
            self._tunnels.discard(task)
            await close_writer(writer)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.bytes_out += head
        request_line, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, target, _ = request_line.split(" ", 2)
        fields = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        self.requests.append(ProxyRequest(method, target, headers))
        if self.manner == "stall":
            await reader.read()
        if self.manner in ("close", "stall"):
            return
        if self._auth is not None and headers.get("proxy-authorization") != self._auth:
            await _refuse(writer, 407, 'proxy-authenticate: Basic realm="loopback"\r\n')
            return
        port = self._port_of(method, target)
        if self.refusal or port is None:
            self.refused.append(target)
            await _refuse(writer, self.refusal or 403)
            return
        onward_reader, onward_writer = await asyncio.open_connection(_LOOPBACK, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                if self.manner == "stall behind":
                    await reader.read()
                if self.manner in ("close behind", "stall behind"):
                    return
            else:
                parts = urlsplit(target)
                path = f"{parts.path}?{parts.query}" if parts.query else parts.path
                onward_writer.write(head.replace(target.encode("latin-1"), path.encode("latin-1"), 1))
            await pump_both(reader, writer, onward_reader, onward_writer, self.bytes_out)
        finally:
            await close_writer(onward_writer)

    def _port_of(self, method: str, target: str) -> int | None:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        if parts.hostname in self._hosts:
            return self._hosts[parts.hostname]
        return parts.port if method == "CONNECT" and parts.hostname == _LOOPBACK else None


async def _refuse(writer: asyncio.StreamWriter, status: int, headers: str = "") -> None:
    writer.write(f"HTTP/1.1 {status} No\r\n{headers}content-length: 0\r\n\r\n".encode())
    await writer.drain()


class _Readable(Protocol):
    async def read(self, count: int, /) -> bytes: ...


class _Writable(Protocol):
    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...


async def pump_both(
    reader: _Readable,
    writer: _Writable,
    onward_reader: _Readable,
    onward_writer: _Writable,
    seen: bytearray | None = None,
) -> None:
    """Copy bytes both ways until one side ends. Bytes to the target are also added to `seen`."""
    ways = [
        asyncio.ensure_future(_pump(reader, onward_writer, seen)),
        asyncio.ensure_future(_pump(onward_reader, writer)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pump(reader: _Readable, writer: _Writable, seen: bytearray | None = None) -> None:
    while data := await reader.read(1 << 16):
        if seen is not None:
            seen += data
        writer.write(data)
        await writer.drain()


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever its state."""
    writer.close()
    with contextlib.suppress(OSError, asyncio.CancelledError):
        await writer.wait_closed()
