"""Receives, on a loopback port, the redirect that ends a sign-in in the browser.

Source: RFC 8252, section 7.3 "Loopback Interface Redirection".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

HOST = "127.0.0.1"
PATH = "/callback"
MAX_HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 5.0
"""The time limit for a request; browsers open connections in advance that they may never use."""

_PAGE = "<!doctype html><meta charset=utf-8><title>jumpseat</title><p>{text} You can close this page."
_ANSWER = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
)

_HARMLESS = (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""The exceptions that incomplete, silent, huge and malformed requests raise."""


class RedirectReceiver:
    """A server for one redirect. Use it as an asynchronous context manager."""

    def __init__(self, port: int | None = None) -> None:
        """
        Args:
            port: the port to use if it is free; None for any port.
        """
        self._wanted = port
        self._server: asyncio.Server | None = None
        self._state = ""
        self._received: asyncio.Future[Mapping[str, str]] | None = None

    @property
    def port(self) -> int:
        """The port of the server."""
        assert self._server is not None  # noqa: S101 - the context manager has started it
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The address to which the browser is redirected."""
        return f"http://{HOST}:{self.port}{PATH}"

    async def __aenter__(self) -> RedirectReceiver:
        try:
            self._server = await asyncio.start_server(
                self._handle, HOST, self._wanted or 0, limit=MAX_HEAD_BYTES
            )
        except OSError:
            self._server = await asyncio.start_server(self._handle, HOST, 0, limit=MAX_HEAD_BYTES)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None  # noqa: S101 - see `port`
        self._server.close()

    async def wait(self, state: str) -> Mapping[str, str]:
        """Wait for the redirect with this `state`, and return its parameters. Other requests get a 404."""
        self._state = state
        self._received = asyncio.get_running_loop().create_future()
        return await self._received

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*_HARMLESS):
            async with asyncio.timeout(HEAD_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                parameters = self._read_parameters(head)
                status, text = "404 Not Found", "There is nothing here."
                if parameters is not None:
                    status = "200 OK"
                    text = "The sign-in was refused." if "error" in parameters else "You are signed in."
                page = _PAGE.format(text=text).encode()
                writer.write(_ANSWER.format(status=status, length=len(page)).encode() + page)
                await writer.drain()
                if parameters is not None and self._received is not None and not self._received.done():
                    self._received.set_result(parameters)
        writer.close()

    def _read_parameters(self, head: str) -> Mapping[str, str] | None:
        """Return the parameters of the awaited redirect; None for any other request."""
        method, _, rest = head.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        parameters = dict(parse_qsl(target.query))
        is_awaited = target.path == PATH and parameters.get("state") == self._state
        return parameters if method == "GET" and is_awaited else None
