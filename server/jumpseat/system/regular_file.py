"""Reads regular files without blocking and up to a maximum size, and rejects all other types of files.

Reading a pipe would wait for a writer, and reading `/dev/zero` would never end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # Opening a pipe must not block. Regular files ignore this flag.
)


def read_regular(
    path: Path,
    max_bytes: int,
    *,
    follow: bool = True,
    check: Callable[[os.stat_result], None] = lambda status: None,
) -> bytes:
    """Return the content of a regular file.

    Args:
        max_bytes: the maximum size of the file.
        follow: whether `path` may be a symbolic link.
        check: called with the status of the opened file, before it is read.

    Raises:
        OSError: the file cannot be read. `strerror` completes the sentence "it cannot be read: …".
    """
    with os.fdopen(open_regular(path, follow=follow, check=check), "rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes // 1024} KiB", str(path))
    return content


def open_regular(
    path: str | Path,
    *,
    follow: bool = True,
    check: Callable[[os.stat_result], None] = lambda status: None,
    directory: int | None = None,
) -> int:
    """Open a regular file and return its descriptor. For `follow` and `check`, see `read_regular`.

    Args:
        directory: a descriptor of the directory at which a relative path starts.

    Raises:
        OSError: see `read_regular`.
    """
    no_follow = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    # Check the opened file, not the path: the file could be replaced between the check and the opening.
    descriptor = os.open(path, _FLAGS | no_follow, dir_fd=directory)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise OSError(errno.EINVAL, f"it is {kind}", str(path))
        check(status)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
