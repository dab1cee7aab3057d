"""A client's end of the outbox: keeps the messages that a connection sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

HEADER_END = b"\r\n\r\n"


class RecordingWriter:
    """Accepts frames at once; `wait_until_ready` waits while the gate is closed."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.held = False

        self._changed = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Keep one frame; its header must have the length of its body."""
        head, _, body = data.partition(HEADER_END)
        assert head == b"Content-Length: %d" % len(body)
        self.bodies.append(body)
        self._changed.set()

    async def wait_until_ready(self) -> None:
        """Return while the gate is open."""
        await self.gate.wait()

    def pause_input(self) -> None:
        """Note it."""
        self.held = True

    def resume_input(self) -> None:
        """Note it."""
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
