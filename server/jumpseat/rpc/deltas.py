"""Sends the events of one turn as `chat/delta` notifications.

If the client sets `coalesceMs`, adjacent deltas of a block are delayed and merged. Any other event is sent
immediately, after the delayed deltas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from jumpseat.chat import (
    DoneEvent,
    ProgressEvent,
    ResponseEvent,
    StreamEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolUseDeltaEvent,
    merge_deltas,
)
from jumpseat.chat.transcript import TranscriptStream
from jumpseat.connections.outbox import Outbox
from jumpseat.connections.wording import insert_commands
from jumpseat.engine import Sink
from jumpseat.rpc.encode import to_wire
from jumpseat.wire import write_json

DELTA_EVENTS = (TextDeltaEvent, ThinkingDeltaEvent, ToolUseDeltaEvent)


class Progress:
    """LSP work-done progress with a token from the client. The token is valid until the response is sent."""

    def __init__(self, outbox: Outbox, token: str | int | None) -> None:
        self._outbox = outbox
        self._token = token
        self.is_shown = False
        """Whether the client is showing progress."""

    def report(self, event: ProgressEvent) -> None:
        """Report progress to the client, if it sent a token."""
        if self._token is None:
            return
        value: dict[str, object] = {"kind": "report", "message": event.message}
        if not self.is_shown:
            value = {"kind": "begin", "title": event.message}
            self.is_shown = True
        if event.percentage is not None:
            value["percentage"] = event.percentage
        self._outbox.notify("$/progress", {"token": self._token, "value": value})

    def end(self) -> None:
        """Report that the progress has ended. Call this only while `is_shown` is true."""
        self._outbox.notify("$/progress", {"token": self._token, "value": {"kind": "end"}})
        self.is_shown = False


class DeltaSink(Sink):
    """Sends one turn's events to one client."""

    def __init__(
        self,
        outbox: Outbox,
        *,
        request_id: str | int,
        turn_id: str,
        stream: bool,
        coalesce_ms: int = 0,
        commands: Mapping[str, str] | None = None,
        progress_token: str | int | None = None,
        transcript: TranscriptStream | None = None,
        on_begin: Callable[[], None] = lambda: None,
        on_answer: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            outbox: the outbox of the connection.
            request_id: the JSON-RPC id of the request that started the turn.
            turn_id: the id of the turn.
            stream: whether to send deltas; if False, only progress is sent.
            coalesce_ms: milliseconds between notifications of merged deltas; 0 sends each delta immediately.
            commands: the client's commands, to be named in error hints.
            progress_token: the client's `workDoneToken`.
            transcript: adds the text for a transcript to each delta.
            on_begin: called once, before the first event is sent.
            on_answer: called each time the provider begins an answer, in retries too.
        """
        self.turn_id = turn_id
        self._outbox = outbox
        self._stream = stream
        self._interval = coalesce_ms / 1000
        self._commands = commands
        self._progress = Progress(outbox, progress_token)
        self._transcript = transcript
        self._on_begin: Callable[[], None] | None = on_begin
        self._on_answer = on_answer
        self._seq = 0
        identity = write_json({"requestId": request_id, "turnId": turn_id})[1:-1]
        self._head = b'{"jsonrpc":"2.0","method":"chat/delta","params":{' + identity + b',"seq":'
        self._delayed: list[StreamEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._last_sent = float("-inf")

    def send(self, event: StreamEvent) -> None:
        """Send the event immediately, or later if it is a delta that can be merged with others."""
        if self._on_begin is not None:
            self._on_begin()
            self._on_begin = None
        if isinstance(event, ProgressEvent):
            self._progress.report(event)
            return
        if isinstance(event, ResponseEvent):
            self._on_answer()
        if self._progress.is_shown:
            self._progress.end()
        if not self._stream:
            return
        if self._interval and isinstance(event, DELTA_EVENTS):
            self._delayed.append(event)
            self._schedule_flush()
            return
        if self._delayed:
            self._flush()  # Flush first: the order of events never changes.
        self._write(event)
        if isinstance(event, DoneEvent):
            self._stream = False  # `done` is always the last delta.

    def wait_until_ready(self) -> Coroutine[Any, Any, None]:
        """Wait until the output queue has room again."""
        return self._outbox.wait_until_ready()

    def _schedule_flush(self) -> None:
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        due = self._last_sent + self._interval
        if due <= loop.time():
            self._flush()
        else:
            self._timer = loop.call_at(due, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        delayed, self._delayed = merge_deltas(self._delayed), []
        for event in delayed:
            self._write(event)
        self._last_sent = asyncio.get_running_loop().time()

    def _write(self, event: StreamEvent) -> None:
        if self._transcript is not None:
            delta = self._encode_with_transcript(event, self._transcript)
        # Most events are text, so build their frames from bytes, which is faster than from objects.
        elif type(event) is TextDeltaEvent:
            delta = b'{"type":"text_delta","block":%d,"text":%s}' % (event.block, write_json(event.text))
        else:
            delta = write_json(self._to_wire(event))
        self._outbox.send_body(b'%b%d,"delta":%b}}' % (self._head, self._seq, delta))
        self._seq += 1

    def _to_wire(self, event: StreamEvent) -> dict[str, Any]:
        delta: dict[str, Any] = to_wire(event)
        if "error" in delta:
            delta["error"] = insert_commands(delta["error"], self._commands)
        return delta

    def _encode_with_transcript(self, event: StreamEvent, transcript: TranscriptStream) -> bytes:
        delta = self._to_wire(event)
        if piece := transcript.add(event):
            delta["transcript"] = piece
        return write_json(delta)
