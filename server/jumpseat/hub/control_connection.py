"""One connection of the control socket on the daemon's side, on its event loop."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - mypy reads it

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Any

from jumpseat.hub.control import (
    LENGTH,
    MAX_DESCRIPTORS,
    GarbageError,
    close_all,
    decode,
    encode,
    length_of,
    receive_with_descriptors,
)

_CHUNK = 256 * 1024


class ControlConnection:
    """Exchanges messages with one client. Owns the socket, and received descriptors until they are taken."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._descriptors: list[int] = []

    @property
    def is_complete(self) -> bool:
        """Whether the client has passed all its standard streams."""
        return len(self._descriptors) == MAX_DESCRIPTORS

    def can_open(self, count: int) -> bool:
        """Whether this process has so many descriptors left."""
        opened: list[int] = []
        try:
            while len(opened) < count:
                opened.append(os.dup(self._socket.fileno()))
        except OSError:
            return False
        finally:
            close_all(opened)
        return True

    def take_descriptors(self) -> list[int]:
        """The received descriptors; the caller closes them."""
        taken, self._descriptors = self._descriptors, []
        return taken

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None after the last one.

        Raises:
            OSError: the client is gone.
            GarbageError: it is not a message.
        """
        head = await self._exactly(LENGTH.size)
        body = await self._exactly(length_of(head)) if head is not None else None
        return decode(body) if body is not None else None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; a client that is gone does not get it."""
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(self._socket, encode(message))

    async def wait_for_end(self) -> None:
        """Return when the client has closed its side, or broken the rule that it has nothing more to say."""
        with contextlib.suppress(OSError):
            await self._some(1)

    def close(self) -> None:
        """Close the socket and what was not taken."""
        close_all(self.take_descriptors())
        self._socket.close()

    async def _exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            part = await self._some(min(_CHUNK, count - len(data)))
            if not part:
                return None
            data += part
        return bytes(data)

    async def _some(self, count: int) -> bytes:
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
                close_all(descriptors)
                raise GarbageError("more descriptors than there are streams")
            self._descriptors += descriptors
            return data


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
