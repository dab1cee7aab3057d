"""A client of `serve_connection` in the same process, over real descriptors."""

from __future__ import annotations

import asyncio
import os
import pty
import socket
import tty
from typing import Any

from jumpseat.connections.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.connections.session import Session
from jumpseat.rpc.contract import CONTRACT
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.wire import MessageReader, open_fds
from tests.daemon import frame

STREAMS = ("pipes", "sockets", "one socket", "terminal")


class SessionClient:
    """Runs a session as a task, and is its client: an editor's end of the connection."""

    def __init__(
        self,
        options: SessionOptions | None = None,
        *,
        streams: str = "pipes",
        environment: Environment | None = None,
    ) -> None:
        near, far = _pair(streams)
        self.log_fd, stderr = os.pipe()
        self.messages: list[Any] = []
        self.sessions: list[Session] = []
        self.stop = asyncio.Event()
        self._changed = asyncio.Event()
        self._frames = MessageReader()
        self.transport = open_fds(*far, on_data=self._on_data, on_eof=self._changed.set)
        self.task = asyncio.create_task(
            serve_connection(
                CONTRACT,
                Descriptors(*near, stderr),
                environment or environment_of_process(),
                options or SessionOptions(),
                stop=self.stop,
                on_session=self.sessions.append,
            )
        )

    def send(self, *messages: Any) -> None:
        """Send messages in one write."""
        self.transport.write(b"".join(map(frame, messages)))

    def start(self, request_id: int, method: str, params: Any = None) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    async def response(self, request_id: int) -> Any:
        """Wait for the response to a request."""
        async with asyncio.timeout(20):
            while True:
                for message in self.messages:
                    if message.get("id") == request_id and "method" not in message:
                        return message
                self._changed.clear()
                await self._changed.wait()

    async def initialize(self, overlay: Any = None) -> Any:
        """Send `initialize` and wait for the response."""
        self.start(1, "initialize", {"initializationOptions": {"config": overlay or {}}})
        return await self.response(1)

    async def exit_code(self) -> int:
        """Wait until the session ends, and return its exit code."""
        async with asyncio.timeout(20):
            return await asyncio.shield(self.task)

    async def close(self) -> str:
        """Close the connection, wait until the session ends, and return its log."""
        await self.transport.aclose(5)
        await self.exit_code()
        with os.fdopen(self.log_fd, encoding="utf-8") as log:
            return log.read()

    def _on_data(self, data: bytes) -> None:
        self.messages += self._frames.feed(data)
        self._changed.set()


def _pair(streams: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two pairs: the session's stdin and stdout, and the client's descriptors to read and write."""
    if streams == "pipes":
        near_read, far_write = os.pipe()
        far_read, near_write = os.pipe()
    elif streams == "terminal":
        far_read, near_read = pty.openpty()
        tty.setraw(near_read)
        near_write, far_write = os.dup(near_read), os.dup(far_read)
    else:
        one, other = (end.detach() for end in socket.socketpair())
        near_read, far_write = one, other
        if streams == "one socket":
            near_write, far_read = os.dup(one), os.dup(other)
        else:
            near_write, far_read = (end.detach() for end in socket.socketpair())
    return (near_read, near_write), (far_read, far_write)
