"""Encodes lines of JSON, and decodes them to values.

`LineReader` is incremental, bounded and resynchronising, like `framing.MessageReader`: an invalid line does
not affect the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jumpseat.wire.framing import MAX_FRAME_BYTES, Malformed, read_body
from jumpseat.wire.limits import LONG_JSON_BYTES
from jumpseat.wire.messages import Invalid


def encode_line(body: bytes) -> bytes:
    """Return the line for a body, which must not contain a line ending; `write_json` never produces one."""
    return body + b"\n"


@dataclass(frozen=True, slots=True)
class TooLongLine(Malformed):
    """The report of a line that exceeds the limit. The line itself is not stored."""


class LineReader:
    """An incremental decoder of lines to JSON values. It reports one `Malformed` for each invalid line."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        """
        Args:
            max_bytes: the longest accepted line, in bytes.
        """
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._scanned = 0
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Any | Invalid | Malformed]:
        """Decode the next piece of input; return the values and errors that it completes, in order."""
        self._buffer += data
        out: list[Any | Invalid | Malformed] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._scanned))) >= 0:
            line, start = bytes(self._buffer[start:end]), end + 1
            if self._is_skipping:
                self._is_skipping = False
            elif len(line) > self._max_bytes:
                out.append(self._report_long_line())
            elif line.strip():
                out.append(_read_line(line))
        del self._buffer[:start]
        if len(self._buffer) > self._max_bytes:
            if not self._is_skipping:
                out.append(self._report_long_line())
            self._is_skipping = True
            self._buffer.clear()
        self._scanned = len(self._buffer)
        return out

    def is_long(self, count: int) -> bool:
        """Whether feeding the next `count` bytes may take long, because they may complete a long line."""
        return len(self._buffer) + count > LONG_JSON_BYTES

    def _report_long_line(self) -> TooLongLine:
        return TooLongLine(f"The line is longer than {self._max_bytes} bytes.")


def _read_line(line: bytes) -> Any | Invalid | Malformed:
    try:
        return read_body(line)
    except ValueError:
        return Malformed("The line is not valid JSON in UTF-8.")
