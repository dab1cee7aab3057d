"""Reads an answer as an event stream, NDJSON or one JSON body, and bounds its size."""

from __future__ import annotations

from jumpseat.chat import BLOCK_EVENTS, ProtocolError, StreamEvent, ToolUseDeltaEvent
from jumpseat.dialects.base import Decoder
from jumpseat.http.event_stream import EventStreamDecoder
from jumpseat.http.json_lines import JsonLinesDecoder
from jumpseat.wire import LONG_JSON_BYTES, MAX_FRAME_BYTES

MAX_BODY_BYTES = MAX_FRAME_BYTES
"""The longest answer, in bytes; a longer one could not be sent to a client."""

MAX_SILENT_BYTES = 16 * 1024 * 1024
"""The maximum number of bytes in a row without output. No real stream has so many comments."""

UNTYPED = frozenset({"", "text/plain", "application/octet-stream"})
"""The content types that do not identify the content."""

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b":", b"data:", b"event:", b"id:", b"retry:")


def looks_like_events(start: bytes | bytearray) -> bool | None:
    """Whether a body that starts like this is an event stream; None if more bytes are needed."""
    start = start[: len(_BOM) + max(map(len, _FIELDS))]
    if _BOM.startswith(start):
        return None
    start = start.removeprefix(_BOM)
    if start.startswith(_FIELDS):
        return True
    return None if any(field.startswith(start) for field in _FIELDS) else False


def unwrap_error_body(body: bytes) -> bytes:
    """Return an error's body. If a gateway sent it as an event stream, return the data of the first event."""
    if not looks_like_events(body.lstrip()):
        return body
    reader = EventStreamDecoder()
    events = [*reader.feed(body.lstrip()), *reader.finish()]
    return events[0].data.encode() if events else body


class AnswerReader:
    """A reader that feeds one answer to a decoder.

    `feed` and `finish` append events to `out`, so that earlier events survive if a later one fails.
    """

    def __init__(self, decoder: Decoder, content_type: str) -> None:
        """
        Args:
            decoder: a new decoder.
            content_type: the `content-type` header; may be empty.
        """
        self._decoder = decoder
        self._events: EventStreamDecoder | None = None
        self._lines: JsonLinesDecoder | None = None
        self._body = bytearray()
        self._is_single_body = False
        self._received = 0
        self._silent_bytes = 0
        self._argument_length = 0
        self._kind = kind = content_type.partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            self._events = EventStreamDecoder()
        elif "ndjson" in kind or "jsonl" in kind:
            self._lines = JsonLinesDecoder()

    def is_costly(self, piece: bytes | None) -> bool:
        """Whether `feed` with this piece may block for long; if the piece is None, whether `finish` may."""
        if piece is None:
            return len(self._body) > LONG_JSON_BYTES
        if self._argument_length > LONG_JSON_BYTES:
            return True  # The arguments are parsed when the call ends, which can happen in any piece.
        reader = self._events or self._lines
        return reader is not None and reader.pending > LONG_JSON_BYTES and (b"\n" in piece or b"\r" in piece)

    def feed(self, piece: bytes, out: list[StreamEvent]) -> None:
        """Decode the next piece of the body.

        Raises:
            ChatError: the decoder failed, or the answer is too long.
        """
        self._received += len(piece)
        if self._received > MAX_BODY_BYTES:
            raise ProtocolError(f"The answer is longer than {MAX_BODY_BYTES} bytes.")
        if self._events is None and self._lines is None:
            self._body += piece if self._body else piece.lstrip()
            if self._is_single_body or not self._detect_stream():
                return
            piece = bytes(self._body)
            self._body.clear()
        before = len(out)
        try:
            for event in [] if self._events is None else self._events.feed(piece):
                out += self._decoder.feed_event(event.event, event.data)
                if self._decoder.complete:
                    return
            for line in [] if self._lines is None else self._lines.feed(piece):
                out += self._decoder.feed_event("message", line)
        finally:
            for added in out[before:]:
                if isinstance(added, BLOCK_EVENTS):
                    self._silent_bytes = 0
                if isinstance(added, ToolUseDeltaEvent):
                    self._argument_length += len(added.argument_delta)
        self._silent_bytes += len(piece)
        if self._silent_bytes > MAX_SILENT_BYTES:
            raise ProtocolError(f"The answer has no output in {MAX_SILENT_BYTES} bytes.")

    def _detect_stream(self) -> bool:
        """Return whether the body is an event stream despite its content type, and prepare to read it."""
        is_stream = looks_like_events(self._body)
        self._is_single_body = is_stream is False
        if not is_stream:
            return False
        # The HTML Standard requires clients to reject an event stream with any other content type. Accept
        # JSON and the types in `UNTYPED`, because some proxies label streams like that.
        if self._kind not in UNTYPED and not self._kind.endswith("json"):
            raise ProtocolError(f"The answer is an event stream with the content type {self._kind!r}.")
        self._events = EventStreamDecoder()
        return True

    def finish(self, out: list[StreamEvent]) -> None:
        """Decode the rest when the input ends.

        Raises:
            ChatError: the decoder failed; `ProtocolError` if the answer is not complete.
        """
        is_stream = self._events is not None or self._lines is not None
        if not is_stream and (self._body or self._kind.endswith("json")):
            out += self._decoder.feed_body(bytes(self._body.removeprefix(_BOM)))
            if not self._decoder.complete:
                out += self._decoder.finish()
            return
        rest = [(event.event, event.data) for event in self._events.finish()] if self._events else []
        rest += [("message", line) for line in self._lines.finish()] if self._lines else []
        try:
            for name, data in rest:
                out += self._decoder.feed_event(name, data)
        except ProtocolError:
            pass  # The event or line was cut off. The decoder's `finish` reports that the answer ended early.
        if not self._decoder.complete:
            out += self._decoder.finish()
