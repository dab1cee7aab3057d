"""Frames and sends the messages of a connection, in order.

Writing never blocks. Each turn awaits `wait_until_ready` before it reads more from its provider, so a client
that stops reading pauses its own turns and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from jumpseat.wire import write_json


class FrameWriter(Protocol):
    """The part of a transport that the outbox uses."""

    def write(self, data: bytes) -> None:
        """Send bytes without blocking."""

    def wait_until_ready(self) -> Coroutine[Any, Any, None]:
        """Wait until the buffer is small enough."""


class Outbox:
    """The outgoing messages of a connection."""

    def __init__(self, writer: FrameWriter, frame: Callable[[bytes], bytes]) -> None:
        """
        Args:
            writer: the transport.
            frame: adds the transport's framing to an encoded message.
        """
        self._writer = writer
        self._frame = frame
        self.wait_until_ready = writer.wait_until_ready
        """Waits until the client has read enough of the sent messages."""

    def send(self, message: Mapping[str, Any] | list[Mapping[str, Any]]) -> None:
        """Send one message, or a batch of responses."""
        self.send_body(write_json(message))

    def send_body(self, body: bytes) -> None:
        """Send a message that is already JSON."""
        self._writer.write(self._frame(body))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})
