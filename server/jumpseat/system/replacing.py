"""Writes the user's files without changing their owner, access rights or links."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

_COPIES_RIGHTS = sys.platform == "linux"
"""Whether Python can copy access lists, which it can only on Linux."""

_NEEDS_WRITING_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY)
"""The errors if a new file cannot replace the old one, or get its owner and access list.

The error for a mount point is EBUSY.
"""


def replace_file(path: Path, content: bytes) -> None:
    """Write a file; an existing file keeps its owner, mode, access list and links.

    The write is atomic if a new file can have the same attributes. Otherwise the file is written in place,
    and its old content is restored after a failure.

    Raises:
        OSError: the file cannot be written, or is read-only; it is unchanged.
    """
    path = path.resolve()
    if not path.exists():
        _write_and_rename(path, content, None)
        return
    check_writable(path)
    old = path.stat()
    if old.st_nlink > 1 or not _COPIES_RIGHTS:
        _write_in_place(path, content)
        return
    try:
        _write_and_rename(path, content, old)
    except OSError as error:
        if error.errno not in _NEEDS_WRITING_IN_PLACE:
            raise
        _write_in_place(path, content)


def check_writable(path: Path) -> None:
    """Check that an existing file can be written, without changing it.

    Raises:
        OSError: the file cannot be written, or is marked read-only, even if the user could still write it.
    """
    if not path.stat().st_mode & _WRITE_BITS:
        raise PermissionError(errno.EACCES, "It is read-only", str(path))
    path.open("r+b").close()


def _write_and_rename(path: Path, content: bytes, old: os.stat_result | None) -> None:
    temporary = path.with_name(f".{path.name}.{token_hex(8)}")
    # The umask applies to a new file, as for files of other programs. A replacement gets its mode below.
    descriptor = os.open(temporary, _NEW_FILE, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if old is not None and sys.platform == "linux":
                _copy_rights(path, descriptor, old)
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


if sys.platform == "linux":

    def _copy_rights(path: Path, descriptor: int, old: os.stat_result) -> None:
        """Copy owner, mode and extended attributes, which include access lists, to an open file."""
        new = os.fstat(descriptor)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        # Set the mode after the owner: changing the owner clears bits of the mode.
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        before, wanted = _attributes(descriptor), _attributes(path)
        for name in before.keys() - wanted.keys():
            os.removexattr(descriptor, name)
        for name, value in wanted.items():
            if before.get(name) != value:
                os.setxattr(descriptor, name, value)

    def _attributes(file: Path | int) -> dict[str, bytes]:
        try:
            return {name: os.getxattr(file, name) for name in os.listxattr(file)}
        except OSError as error:
            if error.errno == errno.ENOTSUP:  # A file system without attributes has no access lists.
                return {}
            raise


def _write_in_place(path: Path, content: bytes) -> None:
    before = path.read_bytes()
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        try:
            _overwrite(descriptor, content)
        except BaseException:
            with suppress(OSError):
                _overwrite(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _overwrite(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)
