"""Adds TLS to a plain HTTP server, with certificates of its own authority."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import trustme

from tests.fakes.loopback_proxy import close_writer, pump_both

_LOOPBACK = "127.0.0.1"


class Authority:
    """A certificate authority for one test.

    Args:
        directory: the directory for the authority's files.
        above: the authority that signs this one's certificate; None for a root authority.
    """

    def __init__(self, directory: Path, *, above: Authority | None = None) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._ca = trustme.CA() if above is None else above._ca.create_child_ca()

    @property
    def file(self) -> Path:
        """The file with the authority's own certificate."""
        return self._write_file("ca.pem", self._ca.cert_pem.bytes())

    def server(
        self, *names: str, expired: bool = False, client_ca: Authority | None = None, tls12: bool = False
    ) -> ssl.SSLContext:
        """Return the TLS context of a server with these names.

        If `client_ca` is set, clients need a certificate of that authority.
        """
        ended = {"not_after": datetime.now(UTC) - timedelta(days=1)} if expired else {}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names, **ended).configure_cert(context)
        if tls12:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            client_ca._ca.configure_trust(context)
        return context

    def self_signed(self) -> ssl.SSLContext:
        """Return the TLS context of a server that presents this authority's own certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pem = self._ca.private_key_pem.bytes() + self._ca.cert_pem.bytes()
        context.load_cert_chain(self._write_file("self-signed.pem", pem))
        return context

    def client(self, name: str = "me@example.test") -> Path:
        """Write a client's certificate and its key to one file."""
        return self._write_file(
            "client.pem", self._ca.issue_cert(name).private_key_and_cert_chain_pem.bytes()
        )

    def client_in_two_files(self, password: str | None = None) -> tuple[Path, Path]:
        """Write a client's certificate and key to two files. A password encrypts the key."""
        from cryptography.hazmat.primitives import serialization as forms

        issued = self._ca.issue_cert("me@example.test")
        key = forms.load_pem_private_key(issued.private_key_pem.bytes(), None)
        lock: forms.KeySerializationEncryption = forms.NoEncryption()
        if password is not None:
            lock = forms.BestAvailableEncryption(password.encode())
        pem = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, lock)
        cert = b"".join(each.bytes() for each in issued.cert_chain_pems)
        return self._write_file("client.crt", cert), self._write_file("client.key", pem)

    def _write_file(self, name: str, content: bytes) -> Path:
        file = self._directory / name
        file.write_bytes(content)
        return file


class TlsFront:
    """An async context manager that terminates TLS and forwards to a port on loopback."""

    def __init__(self, context: ssl.SSLContext, origin: str) -> None:
        """
        Args:
            context: a context from `Authority.server`.
            origin: the origin of the plain server, such as `http://127.0.0.1:1234`.
        """
        self.peers: list[Mapping[str, Any]] = []
        """The client certificate of each successful handshake; empty for a client without one."""

        self._context = context
        self._behind = int(origin.rpartition(":")[2])
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, _LOOPBACK, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._speak(_Tls(self._context, reader, writer))
        finally:
            self._connections.discard(task)
            await close_writer(writer)

    async def _speak(self, tls: _Tls) -> None:
        self.peers.append(await tls.handshake())
        onward_reader, onward_writer = await asyncio.open_connection(_LOOPBACK, self._behind)
        try:
            await pump_both(tls, tls, onward_reader, onward_writer)
        finally:
            await close_writer(onward_writer)


class _Tls:
    """The server's side of TLS.

    asyncio's own implementation does not send the alert that tells the client why a handshake failed.
    """

    def __init__(
        self, context: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def handshake(self) -> Mapping[str, Any]:
        """Perform the handshake and return the client's certificate, which is empty if it has none."""
        while True:
            try:
                self._tls.do_handshake()
                self._flush()
                return self._tls.getpeercert() or {}
            except ssl.SSLWantReadError:
                await self._feed()
            except ssl.SSLError:
                self._flush()
                # Closing with unread bytes would send a reset, which would overtake the alert.
                self._writer.write_eof()
                while await self._reader.read(1 << 16):
                    pass
                raise

    async def read(self, count: int) -> bytes:
        while True:
            try:
                return self._tls.read(count)
            except ssl.SSLWantReadError:
                await self._feed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def write(self, data: bytes) -> None:
        self._tls.write(data)
        self._flush()

    async def drain(self) -> None:
        await self._writer.drain()

    def _flush(self) -> None:
        if pending := self._outgoing.read():
            self._writer.write(pending)

    async def _feed(self) -> None:
        self._flush()
        if data := await self._reader.read(1 << 16):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
