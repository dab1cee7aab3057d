"""Writes the user's files without changing their owner, access rights or links."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path

from jumpseat.system.folder import Folder

_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

_COPIES_RIGHTS = sys.platform != "win32"
"""Whether a new file can have the rights of the old one.

Python cannot copy access lists on Windows. On macOS, it copies the mode and the owner, but not access lists,
which few files have.
"""

_NEEDS_WRITING_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY)
"""The errors that occur if a new file cannot replace the old one, or cannot have its owner or access list.

EBUSY occurs if the old file is a mount point.
"""


class FileChangedError(OSError):
    """Another program has created, changed or removed the file since its status was read."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.ESTALE, "another program has just changed it", name)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file by its path, which may be a link; see `replace_entry`.

    Raises:
        OSError: the file cannot be written, or is read-only. Its content is unchanged.
    """
    path = path.resolve()
    with Folder.open(path.parent) as folder:
        replace_entry(folder, path.name, content, folder.find_status(path.name))


def check_writable(path: Path) -> None:
    """Check that an existing file can be written, without changing it.

    Raises:
        OSError: the file cannot be written, or is marked read-only, even if the user could still write it.
    """
    path = path.resolve()
    with Folder.open(path.parent) as folder:
        check_entry_writable(folder, path.name, path.stat())


def replace_entry(
    folder: Folder, name: str, content: bytes, before: os.stat_result | None, *, umask: int = -1
) -> None:
    """Write a file; an existing file keeps its owner, mode, access list and hard links.

    The write is atomic if a new file can have the same attributes and links. Otherwise the file is written
    in place, and its old content is restored after a failure.

    Args:
        folder: the directory of the file.
        name: the file's name. The file must not be a link.
        content: the new content.
        before: the file's status when its old content was read; None if the file must not exist yet.
        umask: the umask for a new file; -1 for the umask of this process.

    Raises:
        FileChangedError: the file is no longer the one that `before` describes. Nothing is written.
        OSError: the file cannot be written, or is read-only. Its content is unchanged.
    """
    if before is None:
        _write_and_rename(folder, name, content, None, umask)
        return
    check_entry_writable(folder, name, before)
    if before.st_nlink > 1 or not _COPIES_RIGHTS:
        _write_in_place(folder, name, content, before)
        return
    try:
        _write_and_rename(folder, name, content, before, umask)
    except OSError as error:
        if error.errno not in _NEEDS_WRITING_IN_PLACE:
            raise
        _write_in_place(folder, name, content, before)


def check_entry_writable(folder: Folder, name: str, status: os.stat_result) -> None:
    """Check that a file in an open folder can be written; see `check_writable`."""
    if not status.st_mode & _WRITE_BITS:
        raise PermissionError(errno.EACCES, "It is read-only", name)
    os.close(_open_existing(folder, name))


def _open_existing(folder: Folder, name: str) -> int:
    flags = (
        os.O_RDWR
        | getattr(os, "O_BINARY", 0)
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)  # Opening a pipe must not block.
    )
    return os.open(folder.locate(name), flags, dir_fd=folder.descriptor)


def _check_unchanged(folder: Folder, name: str, before: os.stat_result | None) -> None:
    now = folder.find_status(name)
    if (now is None) != (before is None) or (now and before and not _is_same(now, before)):
        raise FileChangedError(name)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return os.path.samestat(one, other) and (one.st_size, one.st_mtime_ns) == (
        other.st_size,
        other.st_mtime_ns,
    )


def _write_and_rename(
    folder: Folder, name: str, content: bytes, before: os.stat_result | None, umask: int
) -> None:
    temporary, descriptor = _create_beside(folder, before, umask)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if sys.platform != "win32":
                if before is not None:
                    _copy_rights(folder, name, descriptor, before)
                elif umask != -1:
                    # `_create_beside` gave access to the owner only.
                    os.fchmod(descriptor, 0o666 & ~umask)
            os.fsync(descriptor)
        _check_unchanged(folder, name, before)
        paths = folder.locate(temporary), folder.locate(name)
        os.replace(*paths, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(folder.locate(temporary), dir_fd=folder.descriptor)
        raise


def _create_beside(folder: Folder, before: os.stat_result | None, umask: int) -> tuple[str, int]:
    """Create a temporary file; return its name and its descriptor."""
    # A temporary name that contains the file's name might be too long.
    temporary = f".jumpseat-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # If the mode of the file is set later, nobody else may read the content before then.
    mode = 0o600 if before is not None or umask != -1 else 0o666
    return temporary, os.open(folder.locate(temporary), flags, mode, dir_fd=folder.descriptor)


if sys.platform != "win32":

    def _copy_rights(folder: Folder, name: str, descriptor: int, before: os.stat_result) -> None:
        """Copy owner, mode and extended attributes, which include access lists, to an open file."""
        new = os.fstat(descriptor)
        if (new.st_uid, new.st_gid) != (before.st_uid, before.st_gid):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        # Set the mode after the owner: changing the owner clears bits of the mode.
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
        if sys.platform == "linux":
            _copy_attributes(folder, name, descriptor)


if sys.platform == "linux":

    def _copy_attributes(folder: Folder, name: str, descriptor: int) -> None:
        old = _open_existing(folder, name)
        try:
            present, wanted = _read_attributes(descriptor), _read_attributes(old)
        finally:
            os.close(old)
        for each in present.keys() - wanted.keys():
            os.removexattr(descriptor, each)
        for each, value in wanted.items():
            if present.get(each) != value:
                os.setxattr(descriptor, each, value)

    def _read_attributes(descriptor: int) -> dict[str, bytes]:
        try:
            return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
        except OSError as error:
            if error.errno == errno.ENOTSUP:  # A file system without attributes has no access lists.
                return {}
            raise


def _write_in_place(folder: Folder, name: str, content: bytes, before: os.stat_result) -> None:
    descriptor = _open_existing(folder, name)
    try:
        if not _is_same(os.fstat(descriptor), before):
            raise FileChangedError(name)
        old = _read_all(descriptor, before.st_size)
        try:
            _overwrite(descriptor, content)
        except BaseException:
            with suppress(OSError):
                _overwrite(descriptor, old)
            raise
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, size: int) -> bytes:
    content = bytearray()
    while part := os.read(descriptor, max(size - len(content), 1)):
        content += part
    return bytes(content)


def _overwrite(descriptor: int, content: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)
