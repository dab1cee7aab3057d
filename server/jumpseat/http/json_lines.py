"""Splits newline-delimited JSON (NDJSON) into lines, without parsing them.

Source: the NDJSON specification 1.0: LF ends a line, a CR before it is whitespace, empty lines are allowed.
"""

from __future__ import annotations

from jumpseat.chat import ProtocolError

MAX_LINE_BYTES = 16 * 1024 * 1024


class JsonLinesDecoder:
    """An incremental splitter of NDJSON."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        """
        Args:
            max_line_bytes: the size limit of one line.
        """
        self._max_line_bytes = max_line_bytes
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """The number of buffered bytes of the incomplete line."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[str]:
        """Return the non-empty lines that end in this chunk.

        Raises:
            ProtocolError: a line is longer than the limit.
        """
        seen = len(self._buffer)
        self._buffer += chunk
        end = self._buffer.rfind(b"\n", seen)
        complete = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        lines = complete.split(b"\n")
        if max(len(self._buffer), *map(len, lines)) > self._max_line_bytes:
            raise ProtocolError(f"The answer has a line of more than {self._max_line_bytes} bytes.")
        return [line.decode("utf-8", "replace") for line in map(bytes.strip, lines) if line]

    def finish(self) -> list[str]:
        """Return the last line, if its line ending is missing."""
        return self.feed(b"\n")
