"""JSON-RPC batches: the responses to an array of messages are sent as one array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.connections.outbox import Outbox
from jumpseat.wire import write_json


class BatchResponse:
    """Collects the responses of a batch, and sends them after the last one."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._owed = 0
        self._closed = False
        self._responses: list[bytes] = []

    def expect(self) -> None:
        """Count one more response to wait for."""
        self._owed += 1

    def add(self, response: Mapping[str, Any]) -> None:
        """Add one response.

        Raises:
            ValueError: the response cannot be written as JSON; add another response in its place.
        """
        self._responses.append(write_json(response))
        self._owed -= 1
        self._send_if_complete()

    def close(self) -> None:
        """Send the responses once all have been added. Call this after the last message of the batch."""
        self._closed = True
        self._send_if_complete()

    def _send_if_complete(self) -> None:
        # Send nothing, not even an empty array, for a batch of notifications (JSON-RPC 2.0, section 6).
        if self._closed and self._owed == 0 and self._responses:
            self._outbox.send_body(b"[" + b",".join(self._responses) + b"]")
            self._responses.clear()
