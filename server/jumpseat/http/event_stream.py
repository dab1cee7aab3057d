"""Decodes server-sent events, as the HTML Standard defines them, from chunks that may end anywhere.

Source: HTML Standard, section 9.2.6 "Interpreting an event stream".
"""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.chat import ProtocolError

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""The size limit of one event. An image in a delta is a few megabytes; an endless line is a server bug."""

_BOM = b"\xef\xbb\xbf"
_MAX_RETRY_DIGITS = 18
"""The maximum number of digits in a reconnection time. A longer number is ignored: converting it is slow."""


@dataclass(slots=True)
class ServerSentEvent:
    """One dispatched event. `event` is `message` if the stream does not name a type."""

    event: str
    data: str
    last_event_id: str = ""


class EventStreamDecoder:
    """An incremental decoder of an event stream."""

    # httpx2's reader is not used: it dispatches events without data, does not strip a byte order mark, and
    # decodes with the response's charset, although the standard allows only UTF-8.
    # Line endings are converted to LF on input, so that one `rfind` over the new bytes finds a blank line.

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        """
        Args:
            max_event_bytes: the size limit of one event.
        """
        self.last_event_id = ""
        """The id of the last complete event, which a reconnection would send."""

        self.retry_ms: int | None = None
        """The reconnection time that the server requested, in milliseconds."""

        self._max_event_bytes = max_event_bytes
        self._buffer = bytearray()
        self._begun = False
        self._ends_with_cr = False

    @property
    def pending(self) -> int:
        """The number of buffered bytes of the incomplete event."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that end in this chunk.

        Raises:
            ProtocolError: an event is longer than the limit.
        """
        buffer = self._buffer
        seen = len(buffer)
        if self._ends_with_cr and chunk:
            # The previous CR already counted as a line ending, so skip an LF that belongs to it.
            self._ends_with_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._ends_with_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer += chunk
        if not self._begun:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                return []
            self._begun = True
            if buffer.startswith(_BOM):
                del buffer[: len(_BOM)]
            seen = 0
        # A single line feed at the start of the buffer is a blank line, but does not end an event. It stays
        # in the block, and `_parse_event` ignores it. The search starts at `seen - 1`, because the first of
        # the two line feeds may have ended the previous chunk.
        end = buffer.rfind(b"\n\n", max(seen - 1, 0))
        if end < 0:
            if len(buffer) > self._max_event_bytes:
                raise self._size_error()
            return []
        complete = bytes(buffer[:end])
        del buffer[: end + 2]
        if len(buffer) > self._max_event_bytes:
            raise self._size_error()
        events = []
        for block in complete.split(b"\n\n"):
            # Almost every event of a model takes this shortcut; `_parse_event` would return the same.
            if block.startswith(b"data: ") and b"\n" not in block:
                if len(block) > self._max_event_bytes:
                    raise self._size_error()
                text = block[6:].decode("utf-8", "replace")
                events.append(ServerSentEvent("message", text, self.last_event_id))
            elif (event := self._parse_event(block)) is not None:
                events.append(event)
        return events

    def finish(self) -> list[ServerSentEvent]:
        """Return the incomplete event at the end of the input, if it has data.

        The standard discards such an event, but some providers omit the last blank line.
        """
        block = bytes(self._buffer).removesuffix(b"\n")
        self._buffer.clear()
        event = self._parse_event(block)
        return [] if event is None else [event]

    def _size_error(self) -> ProtocolError:
        return ProtocolError(f"The event stream has an event of more than {self._max_event_bytes} bytes.")

    def _parse_event(self, block: bytes) -> ServerSentEvent | None:
        """Parse the lines before a blank line; return None if they have no data."""
        if len(block) > self._max_event_bytes:
            raise self._size_error()
        name = ""
        event_id = self.last_event_id
        data: list[str] = []
        text = block.decode("utf-8", "replace")
        start = 0
        # `split` would hold the GIL until it is done, and an event may have millions of lines.
        while start <= len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            field, _, value = text[start:end].partition(":")
            start = end + 1
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif field == "id" and "\0" not in value:
                event_id = value
            elif field == "retry" and value.isascii() and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
                self.retry_ms = int(value)
        self.last_event_id = event_id
        if not data:
            return None
        return ServerSentEvent(name or "message", "\n".join(data), event_id)
