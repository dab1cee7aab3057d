"""JSON-RPC batches: the responses to one array of messages go out as one array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.rpc.outbox import Outbox
from jumpseat.wire import encode


class BatchResponse:
    """Collects the responses of a batch and sends them when the last one is there."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._owed = 0
        self._closed = False
        self._responses: list[bytes] = []

    def expect(self) -> None:
        """One more response will come."""
        self._owed += 1

    def add(self, response: Mapping[str, Any]) -> None:
        """Take a response.

        Raises:
            ValueError: JSON has no form for it; it is still owed.
        """
        self._responses.append(encode(response))
        self._owed -= 1
        self._send_if_complete()

    def close(self) -> None:
        """All messages of the batch were read; a batch of notifications is answered by nothing."""
        self._closed = True
        self._send_if_complete()

    def _send_if_complete(self) -> None:
        if self._closed and self._owed == 0 and self._responses:
            self._outbox.send_body(b"[" + b",".join(self._responses) + b"]")
            self._responses.clear()
