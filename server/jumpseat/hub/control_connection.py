"""One connection on the control socket, on the daemon's event loop."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Any

from jumpseat.hub.control import (
    LENGTH,
    MAX_DESCRIPTORS,
    MalformedMessageError,
    close_descriptors,
    decode,
    decode_length,
    encode,
    receive_with_descriptors,
)

_CHUNK = 256 * 1024


class ControlConnection:
    """The daemon's end of one connection. Owns the socket, and each received descriptor until it is taken."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._descriptors: list[int] = []

    @property
    def has_all_descriptors(self) -> bool:
        """Whether the client has passed all descriptors: its input, output and log."""
        return len(self._descriptors) == MAX_DESCRIPTORS

    def can_open(self, count: int) -> bool:
        """Return whether this process can open `count` more descriptors."""
        opened: list[int] = []
        try:
            while len(opened) < count:
                opened.append(os.dup(self._socket.fileno()))
        except OSError:
            return False
        finally:
            close_descriptors(opened)
        return True

    def take_descriptors(self) -> list[int]:
        """Return the received descriptors, which the caller must close."""
        taken, self._descriptors = self._descriptors, []
        return taken

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None after the last one.

        Raises:
            OSError: the connection was lost.
            MalformedMessageError: the data is not a message.
        """
        head = await self._read_exactly(LENGTH.size)
        body = await self._read_exactly(decode_length(head)) if head is not None else None
        return decode(body) if body is not None else None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message, unless the client has disconnected."""
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(self._socket, encode(message))

    async def wait_until_ended(self) -> None:
        """Wait until the client closes its end, or breaks the protocol by sending more data."""
        with contextlib.suppress(OSError):
            await self._read_some(1)

    def close(self) -> None:
        """Close the socket and the descriptors that were not taken."""
        close_descriptors(self.take_descriptors())
        self._socket.close()

    async def _read_exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            part = await self._read_some(min(_CHUNK, count - len(data)))
            if not part:
                return None
            data += part
        return bytes(data)

    async def _read_some(self, count: int) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            try:
                data, descriptors = receive_with_descriptors(self._socket, count)
            except (BlockingIOError, InterruptedError):
                readable = loop.create_future()
                loop.add_reader(self._socket, _resolve, readable)
                try:
                    await readable
                finally:
                    loop.remove_reader(self._socket)
                continue
            if self._descriptors and descriptors:
                close_descriptors(descriptors)
                raise MalformedMessageError("descriptors were passed twice")
            self._descriptors += descriptors
            return data


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
