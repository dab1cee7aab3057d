"""TCP and TLS connections on asyncio, for the pools of httpcore2.

httpcore2's own backend uses anyio. With 64 idle connections in a pool, checking whether they are still open
takes that backend more CPU time than a whole chat does. This module imports httpcore2, so it is imported only
on demand.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from typing import Any, cast

import httpcore2

from jumpseat.http.addresses import is_public, not_public_error, resolve

HAPPY_EYEBALLS_SECONDS = 0.25
"""The delay before the next address of a host is tried in parallel (RFC 8305, section 8)."""

ONE_OF_SEVERAL_SECONDS = 2.0
"""How long to wait for one of several addresses before the next one is tried."""

MAX_UNREAD_BYTES = 64 * 1024
"""If at least this many bytes are unread, reading from the connection pauses."""

MAX_UNSENT_BYTES = 16 * 1024
"""If at least this many bytes are unsent, a write sends them. Otherwise, they wait for the next read.

Thus the headers of a request and a short body are sent together, in one packet or one TLS record.
"""


class TooSlowError(httpcore2.ReadTimeout):
    """Bytes arrived, but the headers or the rest of an answer were not complete by the deadline."""


class AsyncioBackend(httpcore2.AsyncNetworkBackend):
    """A backend that opens connections with asyncio."""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *_: Any, **unused: Any
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host. Other options are ignored, because our pools do not set any.

        Raises:
            httpcore2.ConnectError: no address of the host can be reached.
            httpcore2.ConnectTimeout: connecting took too long.
        """
        loop = asyncio.get_running_loop()
        with _map_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            async with asyncio.timeout(timeout):
                pair = await loop.create_connection(
                    AsyncioStream, host, port, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS
                )
        return pair[1]


class PublicBackend(AsyncioBackend):
    """A backend that connects to addresses of the public internet only."""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *options: Any, **named: Any
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host, at the first of its public addresses that accepts the connection.

        The name is resolved only here. A second look-up could have another result, which was not checked.

        Raises:
            RequestError: the host has no public address.
            httpcore2.ConnectError: no public address of the host can be reached.
            httpcore2.ConnectTimeout: resolving the name, or connecting to each address, took too long.
        """
        with _map_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            addresses = await resolve(host, port, timeout)
        public = [address for address in addresses if is_public(address)]
        if not public:
            raise not_public_error(host)
        *others, last = public
        for address in others:
            with contextlib.suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await super().connect_tcp(address, port, ONE_OF_SEVERAL_SECONDS)
        return await super().connect_tcp(last, port, timeout)


class AsyncioStream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One connection, used by one task at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._unread = bytearray()
        self._unsent = bytearray()
        self._failure: Exception | None = None
        self._is_lost = self._is_write_paused = False
        """Whether the connection has ended (`_is_lost`) or its write buffer is full (`_is_write_paused`)."""

        self._waiter: asyncio.Future[None] | None = None
        self._has_sent = False
        """Whether bytes were sent since the last read. If so, the next read is the first one of an answer."""

        self.deadline: float | None = None
        """The time, on the event loop's clock, at which reading fails; None if there is no such limit.

        httpcore2 limits only the wait for the next bytes. The first read after a request sets the deadline
        for the headers of the answer, and `Body` removes that deadline when they have arrived. `Body` also
        sets a deadline before it reads the data after the end mark of an answer.
        """

    # -- called by httpcore2

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes; an empty value if the connection has ended.

        Raises:
            httpcore2.ReadError: the connection failed.
            httpcore2.ReadTimeout: nothing arrived in time.
            TooSlowError: the deadline has passed.
        """
        if self._unsent:
            self._send()
        end = None if timeout is None else asyncio.get_running_loop().time() + timeout
        error = httpcore2.ReadTimeout
        if self._has_sent:
            self._has_sent, self.deadline = False, end
        elif end is not None and self.deadline is not None and self.deadline < end:
            end, error = self.deadline, TooSlowError
        while not self._unread and not self._is_lost:
            await self._wait(end, error)
        if not self._unread and self._failure is not None:
            with _map_errors(httpcore2.ReadTimeout, httpcore2.ReadError):
                raise self._failure
        data = bytes(self._unread[:max_bytes])
        del self._unread[:max_bytes]
        if not self._is_lost:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Buffer bytes, send them if they are many, and wait while the write buffer is full.

        The next read sends the bytes that are left.

        Raises:
            httpcore2.WriteError: the connection has ended.
            httpcore2.WriteTimeout: the other side read too little in time.
        """
        self._unsent += buffer
        if len(self._unsent) >= MAX_UNSENT_BYTES:
            self._send()
            end = None if timeout is None else asyncio.get_running_loop().time() + timeout
            while self._is_write_paused and not self._is_lost:
                await self._wait(end, httpcore2.WriteTimeout)
        if self._is_lost:
            with _map_errors(httpcore2.WriteTimeout, httpcore2.WriteError):
                raise self._failure or BrokenPipeError

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Switch this connection to TLS.

        Raises:
            httpcore2.ConnectError: the handshake failed.
            httpcore2.ConnectTimeout: the handshake took too long.
        """
        loop = asyncio.get_running_loop()
        try:
            with _map_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError):
                async with asyncio.timeout(timeout):
                    secured = await loop.start_tls(
                        self._transport, self, ssl_context, server_hostname=server_hostname
                    )
                    if secured is None:
                        raise ConnectionResetError
        except BaseException:
            self._transport.abort()
            raise
        self._transport = secured
        return self

    async def aclose(self) -> None:
        """Close the connection; bytes that are not sent yet are lost."""
        self._transport.abort()
        # The transport closes its socket in the next iteration of the event loop.
        await asyncio.sleep(0)

    def get_extra_info(self, info: str) -> Any:
        """Return whether an idle connection has ended (`is_readable`), or a property such as `ssl_object`."""
        if info == "is_readable":
            return self._is_lost or bool(self._unread) or self._transport.is_closing()
        return self._transport.get_extra_info(info)

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, bytearray()  # The transport may keep the old buffer.
        if not self._is_lost:
            self._transport.write(unsent)
            self._has_sent = True

    async def _wait(self, end: float | None, error: type[Exception]) -> None:
        """Wait until asyncio reports a change; raise `error` if `end` is reached first."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout_at(end):
                await self._waiter
        except TimeoutError as expired:
            raise error from expired
        finally:
            self._waiter = None

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Buffer bytes."""
        self._unread += data
        if len(self._unread) >= MAX_UNREAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Record the end of the input; asyncio then closes the connection."""
        self._is_lost = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end of the connection."""
        self._is_lost = True
        self._failure = exc
        self._wake()

    def pause_writing(self) -> None:
        """Make `write` wait."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Make `write` return."""
        self._is_write_paused = False
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@contextlib.contextmanager
def _map_errors(on_timeout: type[Exception], on_failure: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise on_timeout(str(error)) from error
    except OSError as error:
        raise on_failure(str(error)) from error
