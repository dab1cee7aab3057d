"""Handles append-only files of JSON lines: decodes the intact part, appends, and sets damaged files aside."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jumpseat.chat.nul import replace_escaped_nul

logger = logging.getLogger(__name__)

_BINARY: int = getattr(os, "O_BINARY", 0)
_OPEN_FLAGS: int = getattr(os, "O_NOFOLLOW", 0) | _BINARY

TORN = "torn"
"""The type of the line that follows an incomplete line and contains the incomplete line's size in bytes."""


def encode_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the lines as they are written.

    Raises:
        ValueError: a value cannot be represented in JSON.
    """
    return b"".join(_encode_line(line) + b"\n" for line in lines)


def _encode_line(line: Mapping[str, Any]) -> bytes:
    try:
        try:
            return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            # JSON can escape half of a surrogate pair, but UTF-8 cannot encode it.
            return json.dumps(line, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a line cannot be written as JSON: {error}") from error


def decode_lines(data: bytes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the offset of each complete line's end, and the line; for a damaged line, yield None and stop.

    An incomplete line is skipped if a `TORN` line follows it; the `TORN` line is yielded. Data after the last
    line ending is incomplete and skipped too.
    """
    start = 0
    broken: tuple[int, int] | None = None
    while (end := data.find(b"\n", start)) >= 0:
        line = _decode_line(data[start:end])
        if broken is not None:
            is_declared = line is not None and line.get("type") == TORN and line.get("bytes") == broken[1]
            if not is_declared:
                yield broken[0], None
                return
            broken = None
        if line is None:
            broken = end + 1, end - start
        else:
            yield end + 1, line
        start = end + 1
    if broken is not None:
        yield broken[0], None


def _decode_line(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(replace_escaped_nul(line))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def join_bytes(tail: bytes) -> bytes:
    """Return the bytes with which an append must start after an incomplete last line."""
    if not tail:
        return b""
    if _decode_line(tail) is not None:
        return b"\n"  # Only the line ending is missing.
    return b"\n" + encode_lines([{"type": TORN, "bytes": len(tail)}])


def create(path: Path, data: bytes) -> int:
    """Create a file and return its descriptor. If writing fails, the file is deleted.

    Raises:
        FileExistsError: the file exists.
        OSError: the file cannot be written.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPEN_FLAGS, 0o600)
    try:
        _write(descriptor, data)
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return descriptor


def append(path: Path, data: bytes, *, size: int) -> int:
    """Append to a file of this size and return its descriptor. A failure leaves the file unchanged.

    Raises:
        OSError: the file cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _OPEN_FLAGS)
    try:
        _write(descriptor, data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        os.close(descriptor)
        raise
    return descriptor


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def close(descriptors: Collection[int], *, synced: bool) -> None:
    """Close these files. With `synced`, first write all their data to the disk, earlier writes included."""
    write_through = getattr(os, "fdatasync", os.fsync)
    try:
        for descriptor in descriptors if synced else ():
            write_through(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def set_aside(path: Path, readable: bytes) -> Path:
    """Rename a damaged file, write its readable part to a new file, and return the damaged file's new path.

    Args:
        path: the file.
        readable: the contents of the new file; if empty, no new file is created.

    Raises:
        OSError: the file cannot be renamed or copied; it is unchanged.
    """
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{moment}-{secrets.token_hex(3)}")
    if not readable:
        path.rename(aside)
    else:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            os.close(create(temporary, readable))
            try:
                os.link(path, aside)
            except OSError:  # The file system does not support hard links.
                shutil.copy2(path, aside)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    logger.warning("%s is damaged; it was renamed to %s, and its readable part is used", path, aside)
    return aside
