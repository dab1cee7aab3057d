"""The bytes of an answer, brought to a dialect's decoder in the form they have.

Owns the choice between event stream, NDJSON and one JSON body. Above it is `exchange.py`; below it the
readers and a decoder. It does no I/O.
"""

from __future__ import annotations

from jumpseat.chat import ProtocolError, StreamEvent
from jumpseat.dialects.base import Decoder
from jumpseat.http.event_stream import EventStreamDecoder
from jumpseat.http.json_lines import JsonLinesDecoder

MAX_BODY_BYTES = 64 * 1024 * 1024
"""As large as a frame of ours may be: a longer answer could not be told to a client anyway."""

UNTYPED = frozenset({"", "text/plain", "application/octet-stream"})
"""Content types that say nothing of the content."""


class AnswerReader:
    """Feeds a decoder. Both methods append to `out`, so that events stay where a later one fails."""

    def __init__(self, decoder: Decoder, content_type: str) -> None:
        """
        Args:
            decoder: the decoder of this one answer.
            content_type: the response's header, empty where it is missing.
        """
        self._decoder = decoder
        self._events: EventStreamDecoder | None = None
        self._lines: JsonLinesDecoder | None = None
        self._body: bytearray | None = None
        kind = content_type.partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            self._events = EventStreamDecoder()
        elif "ndjson" in kind or "jsonl" in kind:
            self._lines = JsonLinesDecoder()
        elif kind.endswith("json"):
            self._body = bytearray()
        # Some proxies label a stream text/plain, or nothing: there the first character tells. A stream of any
        # other type is refused, as the standard wants it.
        self._kind = kind

    def feed(self, piece: bytes, out: list[StreamEvent]) -> None:
        """Take what one read of the connection gave.

        Raises:
            ChatError: as the decoder says, or the answer is too long.
        """
        if self._events is None and self._lines is None and self._body is None:
            piece = piece.lstrip()
            if not piece:
                return
            # Only an event stream begins with a field name, a colon or a byte order mark.
            if piece[:1] in b":deir\xef":
                if self._kind not in UNTYPED:
                    raise ProtocolError(f"A stream came under the content type {self._kind!r}.")
                self._events = EventStreamDecoder()
            else:
                self._body = bytearray()
        if self._events is not None:
            for event in self._events.feed(piece):
                out += self._decoder.feed_event(event.event, event.data)
                if self._decoder.complete:
                    return
        elif self._lines is not None:
            for line in self._lines.feed(piece):
                out += self._decoder.feed_event("message", line)
        elif self._body is not None:
            self._body += piece
            if len(self._body) > MAX_BODY_BYTES:
                raise ProtocolError(f"The answer is longer than {MAX_BODY_BYTES} bytes.")

    def finish(self, out: list[StreamEvent]) -> None:
        """Take the end of the input.

        Raises:
            ChatError: as the decoder says; `ProtocolError` where the answer is not complete.
        """
        if self._body is not None:
            out += self._decoder.feed_body(bytes(self._body))
            if not self._decoder.complete:
                out += self._decoder.finish()
            return
        rest = [(event.event, event.data) for event in self._events.finish()] if self._events else []
        rest += [("message", line) for line in self._lines.finish()] if self._lines else []
        try:
            for name, data in rest:
                out += self._decoder.feed_event(name, data)
        except ProtocolError:
            pass  # Half an event: that the answer ended early is the better thing to say.
        if not self._decoder.complete:
            out += self._decoder.finish()
