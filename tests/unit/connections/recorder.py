"""A writer that records the messages that a connection sends to its client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

HEADER_END = b"\r\n\r\n"


class RecordingWriter:
    """Accepts frames immediately. `wait_until_ready` waits while the gate is closed."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.held = False

        self._changed = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Record the body of one frame; the header must name its length."""
        head, _, body = data.partition(HEADER_END)
        assert head == b"Content-Length: %d" % len(body)
        self.bodies.append(body)
        self._changed.set()

    async def wait_until_ready(self) -> None:
        """Wait until the gate is open."""
        await self.gate.wait()

    def pause_input(self) -> None:
        """Record that the input is held."""
        self.held = True

    def resume_input(self) -> None:
        """Record that the input is no longer held."""
        self.held = False

    @property
    def messages(self) -> list[Any]:
        """The sent messages, parsed."""
        return [json.loads(body) for body in self.bodies]

    async def wait_until(self, condition: Callable[[list[Any]], bool]) -> list[Any]:
        """Wait until the messages meet the condition, and return them."""
        async with asyncio.timeout(10):
            while not condition(self.messages):
                self._changed.clear()
                await self._changed.wait()
        return self.messages
