"""Log files that users name, which would otherwise grow without end."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

MOST_LOG_BYTES = 8 * 1024 * 1024
"""A longer file is set aside as `NAME.1` when the next session opens it."""

# Without O_NONBLOCK, opening a named pipe waits for its reader.
FLAGS = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
)


def open_log(path: Path) -> int:
    """Open a log for appending; a file that has become long is set aside first, in place of the last one.

    A session that still writes to the long file goes on in it under its new name.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, FLAGS, 0o666)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size <= MOST_LOG_BYTES:
        return descriptor
    # A file that cannot be renamed, because Windows has it open, is continued.
    with suppress(OSError):
        real = path
        while real.is_symlink():  # It could be opened, so its links end somewhere.
            real = real.parent / real.readlink()
        if os.path.samestat(real.stat(), status):  # Else another session has just set it aside.
            real.replace(real.with_name(real.name + ".1"))
        new = os.open(path, FLAGS, 0o666)
        os.close(descriptor)
        return new
    return descriptor
