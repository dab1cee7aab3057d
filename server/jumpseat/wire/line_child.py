"""Runs a child process and exchanges lines of JSON with it on its standard streams."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from jumpseat.system.threads import compute
from jumpseat.wire.child import STALL_SECONDS, WatchedChild
from jumpseat.wire.framing import Malformed
from jumpseat.wire.json import write_json
from jumpseat.wire.lines import LineReader, TooLongLine, encode_line
from jumpseat.wire.messages import Invalid

logger = logging.getLogger(__name__)

PIECE_BYTES = 16 * 1024
"""The number of bytes that are decoded before other tasks can run. In short lines, they take about 2 ms."""

MAX_UNREAD_BYTES = 256 * 1024
"""If at least this many bytes wait for `receive`, no more output is read from the program."""


class LineChild(WatchedChild):
    """A running program that sends and receives JSON values, one per line.

    Only one task may call `receive`.
    """

    def __init__(
        self, on_log: Callable[[str], None], *, max_line_bytes: int, stall_seconds: float = STALL_SECONDS
    ) -> None:
        """
        Args:
            on_log: called with each line of stderr, cut to a maximum length and without its line ending.
            max_line_bytes: the longest accepted line; a program that sends a longer line is killed.
            stall_seconds: the program is killed if it has unread input and reads nothing for this time.
        """
        super().__init__(on_log, stall_seconds)
        self._reader = LineReader(max_line_bytes)
        self._chunks: deque[bytes] = deque()
        self._unread = 0
        self._values: deque[Any] = deque()
        self._wake = asyncio.Event()

    def send(self, value: Any) -> None:
        """Send a value without waiting. The value is dropped if the process can no longer be used.

        Raises:
            ValueError: the value cannot be written as JSON.
        """
        self.write(encode_line(write_json(value)))

    async def receive(self) -> Any | Invalid:
        """Wait for the next value. Lines that are not JSON are skipped: some programs print other text.

        Raises:
            EOFError: the program has ended or is being ended.
        """
        while not self._values:
            if self._chunks:
                await self._decode(self._chunks.popleft())
            elif not self.running:
                raise EOFError(self.why)
            else:
                self._wake.clear()
                await self._wake.wait()
        return self._values.popleft()

    async def _decode(self, data: bytes) -> None:
        self._unread -= len(data)
        if self._unread < MAX_UNREAD_BYTES:
            self.resume_output()
        await asyncio.sleep(0)
        # Decode short lines on the event loop: a thread would take the GIL from the loop again and again.
        ends_long_line = b"\n" in data and self._reader.is_long(len(data))
        for value in await compute(ends_long_line, self._reader.feed, data):
            if isinstance(value, TooLongLine):
                self.kill("it sent a line that is too long")
                return
            if isinstance(value, Malformed):
                logger.debug("skipped a line of process %d: %s", self.pid, value.reason)
            else:
                self._values.append(value)

    def on_output(self, data: bytes) -> None:
        """Store the data until `receive` decodes it."""
        self._chunks.extend(data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES))
        self._unread += len(data)
        if self._unread >= MAX_UNREAD_BYTES:
            self.pause_output()
        self._wake.set()

    def on_unusable(self, why: str) -> None:
        """Wake `receive`, which raises an error after the last value."""
        self._wake.set()
