"""The history of the user's input in earlier conversations, in a file that only the user can read."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jumpseat.system.paths import make_private

FILE_NAME = "chat-history"

MAX_BYTES = 1 << 20
"""The maximum size of the file. A larger file is cut to its last `MAX_BYTES / 2` bytes when it is read."""


class InputHistory:
    """The input history; each input is one line of the file, a JSON string.

    Nothing is written before `allow_writing` is called: only the first turn shows whether the configuration
    permits the storage of conversations, and therefore of input.
    """

    def __init__(self, path: Path, *, keep: bool) -> None:
        """
        Args:
            path: the file, which may not exist yet.
            keep: whether to store new inputs; stored ones are read in any case.
        """
        self._path = path
        self._is_kept = keep
        self._is_allowed = False
        self._unwritten: list[str] = []

    def read(self) -> list[str]:
        """Return the stored inputs, oldest first; an empty list if the file cannot be read."""
        try:
            body = self._path.read_bytes()
        except OSError:
            return []
        if len(body) > MAX_BYTES:
            body = body[-MAX_BYTES // 2 :].partition(b"\n")[2]
            with suppress(OSError):
                self._replace(body)
        return list(_parse_inputs(body))

    def add(self, text: str) -> None:
        """Store an input, immediately or once `allow_writing` is called."""
        if self._is_kept:
            self._unwritten.append(text)
        if self._is_allowed:
            self._write()

    def allow_writing(self) -> None:
        """Write the inputs so far, and from now on write each input immediately."""
        self._is_allowed = True
        self._write()

    def forbid_writing(self) -> None:
        """Stop writing, and discard the inputs that are not yet written."""
        self._is_kept = False
        self._unwritten.clear()

    def _write(self) -> None:
        held, self._unwritten = self._unwritten, []
        lines = "".join(json.dumps(text) + "\n" for text in held)
        if lines:
            # The conversation continues without a history if the disk is full.
            with suppress(OSError):
                _append(self._path, lines.encode())

    def _replace(self, body: bytes) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(6)}")
        try:
            _append(temporary, body)
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)


def _parse_inputs(body: bytes) -> Iterator[str]:
    for line in body.splitlines():
        with suppress(ValueError):
            text = json.loads(line)
            if isinstance(text, str):
                yield text


def _append(path: Path, data: bytes) -> None:
    make_private(path.parent)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        os.write(descriptor, data)  # A single write keeps the lines of two conversations apart.
    finally:
        os.close(descriptor)
