"""Encodes LSP frames, and decodes a stream of bytes to JSON values, even if parts of it are malformed.

`MessageReader` is incremental (the values do not depend on how the input is split), bounded (a frame or a
header block beyond its limit is not stored) and resynchronising (it finds the next header after malformed
input).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from jumpseat.wire.json import read_json
from jumpseat.wire.limits import LONG_JSON_BYTES, MAX_VALUES, LimitCheck, TooLarge
from jumpseat.wire.messages import Invalid, RequestId, usable_id

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""The longest accepted body, in bytes."""

MAX_HEADER_BYTES = 16 * 1024
"""The longest accepted header block; real ones are about 25 bytes long."""

# This finds a header in garbage. A line ending must follow the digits: JSON strings contain line endings only
# as escapes, so a header inside a string does not match. The repetitions are bounded, so a match has a
# maximum length, and the search keeps fewer bytes than that until the next piece of input arrives.
_LENGTH_LINE = re.compile(rb"content-length[ \t]{0,16}:[ \t]{0,16}[0-9]{1,32}[ \t]{0,16}\r?\n", re.IGNORECASE)
_LENGTH_LINE_MAX = 14 + 16 + 1 + 16 + 32 + 16 + 2

_CANCEL_METHODS = ("$/cancelRequest", "$/cancel_request")
"""The notifications whose params contain the id of a request."""

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DIGITS = re.compile(rb"[0-9]+")

# These find the id of a rejected message without parsing the message. The id must be near one end: between it
# and that end, only members with short strings, such as the method, are accepted.
_ID = rb'"id"\s*:\s*(-?[0-9]{1,20}|"(?:[^"\\]|\\.){0,256}")\s*'
_STRING_MEMBER = rb'"[^"\\]{0,64}"\s*:\s*"[^"\\]{0,256}"\s*'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:" + _STRING_MEMBER + rb",\s*)*" + _ID + rb"[,}]", re.DOTALL)
_LAST_ID = re.compile(rb",\s*" + _ID + rb"(?:,\s*" + _STRING_MEMBER + rb")*\}\s*\Z", re.DOTALL)
_ENDS_BYTES = 4096
"""The number of bytes at each end of a rejected message that are searched for its id."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Input that is not a frame, or a frame whose body is not JSON. `reason` is one sentence."""

    reason: str


class _State(Enum):
    HEADER = auto()
    BODY = auto()
    SKIP = auto()
    RESYNC = auto()


def encode_frame(body: bytes) -> bytes:
    """Return the frame for a body: a header followed by the body."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """An incremental decoder of a byte stream to JSON values.

    It reports one `Malformed` for each body that is not JSON, and one for all garbage up to the next header.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        # These are positions in the buffer: the first byte that is still needed, the starts of the current
        # header block and header line, and the end of the part that was already searched.
        self._position = 0
        self._header_start = 0
        self._line_start = 0
        self._scanned = 0
        # This is true while the input is out of sync and the error has been reported.
        self._reported = False
        self._out: list[Any] = []
        # Each step returns False if it needs more input.
        self._steps = {
            _State.HEADER: self._read_header_line,
            _State.BODY: self._read_body,
            _State.SKIP: self._skip_body,
            _State.RESYNC: self._resume_at_next_header,
        }
        self._start_header()

    def feed(self, data: bytes) -> list[Any | Invalid | Malformed]:
        """Decode the next piece of input; return the values and errors that it completes, in order.

        A body that exceeds a limit of `wire/limits.py` becomes an `Invalid`.
        """
        self._buffer += data
        while self._steps[self._state]():
            pass
        # Deleting once per piece, not once per frame, makes the cost of copying linear.
        del self._buffer[: self._position]
        self._header_start -= self._position
        self._line_start -= self._position
        self._scanned = max(0, self._scanned - self._position)
        self._position = 0
        out, self._out = self._out, []
        return out

    def is_long(self, count: int) -> bool:
        """Whether feeding the next `count` bytes takes long, because they complete a long body."""
        if self._state is not _State.BODY or self._length is None or self._length <= LONG_JSON_BYTES:
            return False
        return len(self._buffer) + count >= self._position + self._length

    # -- headers

    def _start_header(self) -> None:
        self._state = _State.HEADER
        self._header_start = self._line_start = self._scanned = self._position
        self._length: int | None = None
        self._length_seen = False
        self._fault: str | None = None
        self._charset_fault: str | None = None
        self._check: LimitCheck | None = None
        self._checked = 0
        # The error of a body that exceeds a limit. The id is read from the first or last bytes of the body.
        self._excess: str | None = None
        self._head = self._tail = b""

    def _read_header_line(self) -> bool:
        end = self._buffer.find(b"\n", self._scanned)
        used = (len(self._buffer) if end < 0 else end + 1) - self._header_start
        if used > MAX_HEADER_BYTES:
            self._reject_header(f"The header is longer than {MAX_HEADER_BYTES} bytes.")
            return True
        if end < 0:
            self._scanned = len(self._buffer)
            return False
        line = bytes(self._buffer[self._line_start : end]).removesuffix(b"\r")
        if line:
            hidden = _LENGTH_LINE.search(self._buffer, self._line_start + 1, end + 1)
            if hidden is not None:
                # This line was cut off, and a new frame begins in the middle of it.
                self._report("The input is not a header line; a frame begins with Content-Length.")
                self._position = hidden.start()
                self._start_header()
                return True
            if not self._parse_header_line(line):
                self._reject_header("The input is not a header line; a frame begins with Content-Length.")
                return True
            self._line_start = self._scanned = end + 1
            return True
        empty = self._line_start == self._header_start
        self._line_start = self._scanned = end + 1
        if empty:
            # Skip line endings between frames: some clients print each frame as a line.
            self._header_start = self._position = end + 1
        else:
            self._end_header()
        return True

    def _parse_header_line(self, line: bytes) -> bool:
        """Record the length or charset from one header line; return False if it is not a header line."""
        name, colon, value = line.partition(b":")
        name, value = name.strip(b" \t").lower(), value.strip(b" \t")
        if not colon or not _TOKEN.fullmatch(name):
            return False
        if name == b"content-length":
            self._parse_length(value)
        elif name == b"content-type":
            self._parse_charset(value)
        return True

    def _parse_length(self, value: bytes) -> None:
        repeated, self._length_seen = self._length_seen, True
        if not _DIGITS.fullmatch(value):
            self._fault = self._fault or "The Content-Length is not a number of bytes."
            return
        digits = value.lstrip(b"0") or b"0"
        # Python raises an error for very long numbers, so count the digits first.
        length = int(digits) if len(digits) <= 18 else MAX_FRAME_BYTES + 1
        if length > MAX_FRAME_BYTES:
            self._fault = self._fault or f"The frame is longer than {MAX_FRAME_BYTES} bytes."
        elif repeated and length != self._length:
            self._fault = self._fault or "The header has two different values of Content-Length."
        self._length = length

    def _parse_charset(self, value: bytes) -> None:
        for parameter in value.split(b";")[1:]:
            name, _, charset = parameter.partition(b"=")
            if name.strip().lower() == b"charset" and charset.strip(b" \t\"'").lower() not in (
                b"utf-8",
                b"utf8",
            ):
                self._charset_fault = "The charset of the frame is not utf-8."

    def _end_header(self) -> None:
        if self._length is None and self._fault is None:
            self._reject_header("The header has no Content-Length.")
        elif self._fault is not None or self._length is None:
            # A complete header with a bad length is reported separately, even after garbage.
            self._reported = False
            self._reject_header(self._fault or "")
        else:
            self._position = self._scanned = self._line_start
            self._reported = False
            self._state = _State.BODY
            if self._charset_fault is not None:
                self._report(self._charset_fault)
                self._state = _State.SKIP

    # -- bodies

    def _read_body(self) -> bool:
        assert self._length is not None  # noqa: S101 - the state is only entered with a length
        end = self._position + self._length
        received = min(end, len(self._buffer))
        if self._resume_at_swallowed_header(received):
            return True
        if received < end:
            if self._length <= MAX_VALUES:  # The body is too short to have too many values.
                return False
            # Reject a long body as soon as it exceeds a limit, before it takes up memory.
            return self._check_limits(received)
        is_checked = self._check is not None
        if is_checked and self._check_limits(received):
            return True
        with memoryview(self._buffer) as view:
            body = bytes(view[self._position : end])
        try:
            value = read_body(body, is_checked=is_checked)
        except ValueError:
            # Scan the body again from its first byte: if the Content-Length was too large, the body may
            # include the next header or a part of that header.
            self._report("The body is not valid JSON in UTF-8.")
            self._state = _State.RESYNC
            return True
        self._out.append(value)
        self._position = end
        self._start_header()
        return True

    def _check_limits(self, received: int) -> bool:
        """Check the newly received part of the body; if it exceeds a limit, skip the body and return True."""
        self._check = self._check or LimitCheck()
        start, self._checked = self._position + self._checked, received - self._position
        try:
            self._check.feed(bytes(self._buffer[start:received]))
        except TooLarge as error:
            self._excess = str(error)
            self._head = bytes(self._buffer[self._position : self._position + _ENDS_BYTES])
            self._state = _State.SKIP
        return self._excess is not None

    def _resume_at_swallowed_header(self, end: int) -> bool:
        """If the body contains the header of a frame, continue there and return True."""
        # JSON text cannot contain such a header, so the length is too large. Detect this as early as
        # possible: the missing bytes may never arrive.
        while (found := self._buffer.find(b"\r\n\r\n", self._scanned, end)) >= 0:
            self._scanned = found + 1
            first = max(self._position, found + 2 - _LENGTH_LINE_MAX)
            for header in _LENGTH_LINE.finditer(self._buffer, first, found + 2):
                if header.end() == found + 2:
                    self._report("The body is shorter than its Content-Length: a frame begins inside it.")
                    self._position = header.start()
                    self._start_header()
                    return True
        self._scanned = max(self._scanned, end - 3)
        return False

    def _skip_body(self) -> bool:
        assert self._length is not None  # noqa: S101 - the state is only entered with a length
        taken = min(self._length, len(self._buffer) - self._position)
        if self._excess is not None:
            skipped = self._buffer[self._position : self._position + taken][-_ENDS_BYTES:]
            self._tail = (self._tail + skipped)[-_ENDS_BYTES:]
        self._position += taken
        self._length -= taken
        if self._length:
            return False
        if self._excess is not None:
            self._out.append(Invalid(_find_id(self._head, self._tail), self._excess))
        self._reported = False
        self._start_header()
        return True

    # -- faults

    def _report(self, reason: str) -> None:
        if not self._reported:
            self._out.append(Malformed(reason))
        self._reported = True

    def _reject_header(self, reason: str) -> None:
        """Report an invalid header and search for the next one."""
        self._report(reason)
        # Search from the start of the rejected header, because it may be garbage directly before a valid
        # header. But if its Content-Length was read, start at the invalid line: otherwise, the search would
        # find the rejected header again.
        self._position = self._line_start if self._length_seen else self._header_start
        self._state = _State.RESYNC

    def _resume_at_next_header(self) -> bool:
        if found := _LENGTH_LINE.search(self._buffer, self._position):
            self._position = found.start()
            self._start_header()
            return True
        self._position = max(self._position, len(self._buffer) - _LENGTH_LINE_MAX + 1)
        return False


def read_body(body: bytes, *, is_checked: bool = False) -> Any | Invalid:
    """Parse the JSON text of a message; return an `Invalid` if it exceeds a limit.

    Args:
        is_checked: whether the size and depth of the body are known to be within the limits.

    Raises:
        ValueError: the text is not JSON, or not valid UTF-8.
    """
    try:
        value = read_json(body, keep_nul=True, is_checked=is_checked)
        return _restore_ids(read_json(body), value) if rb"\u0000" in body else value
    except TooLarge as error:
        return Invalid(_find_id(body[:_ENDS_BYTES], body[-_ENDS_BYTES:]), str(error))


def _find_id(head: bytes, tail: bytes) -> RequestId | None:
    """Return the id of a message from the bytes at its beginning or its end; None if it cannot be read."""
    match = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    try:
        return usable_id(read_json(match[1], keep_nul=True)) if match else None
    except ValueError:
        return None


def _restore_ids(value: Any, exact: Any) -> Any:
    """Replace the ids in a message or batch with those in `exact`, where U+0000 was kept."""
    if isinstance(exact, list):
        return [_restore_ids(*pair) for pair in zip(value, exact, strict=True)]
    if isinstance(exact, dict):
        if "id" in exact:
            value["id"] = exact["id"]
        if exact.get("method") in _CANCEL_METHODS and "params" in exact:
            value["params"] = exact["params"]  # These params contain the id of a request.
    return value
