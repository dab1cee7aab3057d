"""JSON values of a newline-delimited body (NDJSON), as texts, however the bytes are cut.

Source: the NDJSON specification 1.0: LF ends a line, a CR before it is white space, empty lines are
allowed. Above it is `exchange.py`; it does no I/O and does not parse the JSON.
"""

from __future__ import annotations

from jumpseat.chat import ProtocolError

MAX_LINE_BYTES = 16 * 1024 * 1024


class JsonLinesDecoder:
    """Takes bytes as they come, gives the lines that they complete."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        """
        Args:
            max_line_bytes: a line longer than this is refused.
        """
        self._max_line_bytes = max_line_bytes
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of the line that has not ended yet."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that end in this chunk, empty ones left out.

        Raises:
            ProtocolError: a line is longer than the bound.
        """
        seen = len(self._buffer)
        self._buffer += chunk
        end = self._buffer.rfind(b"\n", seen)
        complete = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        lines = complete.split(b"\n")
        if max(len(self._buffer), *map(len, lines)) > self._max_line_bytes:
            raise ProtocolError(f"The answer holds a line of more than {self._max_line_bytes} bytes.")
        return [line.decode("utf-8", "replace") for line in map(bytes.strip, lines) if line]

    def finish(self) -> list[str]:
        """The last line, where its line end is missing."""
        return self.feed(b"\n")
