"""Reading a file that may be of any type: regular files only, bounded, and without waiting.

A pipe would wait for a writer, and `/dev/zero` never ends.
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
    | getattr(os, "O_NONBLOCK", 0)  # Opening a pipe returns at once; no effect on a regular file.
)


def read_regular(
    path: Path,
    most_bytes: int,
    *,
    follow: bool = True,
    check: Callable[[os.stat_result], None] = lambda status: None,
) -> bytes:
    """The content of a regular file.

    Args:
        path: the file.
        most_bytes: a larger file is refused.
        follow: whether `path` may be a symbolic link.
        check: called with the status of the opened file, before it is read.

    Raises:
        OSError: it cannot be read; `strerror` ends the sentence "it cannot be read: …".
    """
    content = first_bytes(path, most_bytes + 1, follow=follow, check=check)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes // 1024} KiB", str(path))
    return content


def first_bytes(
    path: Path,
    count: int,
    *,
    follow: bool = True,
    check: Callable[[os.stat_result], None] = lambda status: None,
) -> bytes:
    """The first bytes of a regular file; fewer if it is shorter. The arguments are those of `read_regular`.

    Raises:
        OSError: as `read_regular`.
    """
    descriptor = open_regular(path, follow=follow, check=check)
    try:
        content = bytearray()
        while len(content) < count and (part := os.read(descriptor, count - len(content))):
            content += part
    finally:
        os.close(descriptor)
    return bytes(content)


def open_regular(
    path: Path, *, follow: bool = True, check: Callable[[os.stat_result], None] = lambda status: None
) -> int:
    """A descriptor of a regular file, for reading. The arguments are those of `read_regular`.

    Raises:
        OSError: as `read_regular`.
    """
    no_follow = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    # The descriptor is checked, not the path: the file cannot be replaced in between.
    descriptor = os.open(path, _FLAGS | no_follow)
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
