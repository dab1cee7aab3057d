"""Opens log files that the user names, and limits their size."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

MAX_LOG_BYTES = 8 * 1024 * 1024
"""The size above which a file is renamed to `NAME.1` when the next session opens it."""

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
    """Open a log file for appending. A long file is renamed first, and replaces the previous `NAME.1`.

    Sessions that have the long file open continue to write to it under its new name.

    Raises:
        OSError: the file cannot be opened.
    """
    descriptor = os.open(path, FLAGS, 0o666)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size <= MAX_LOG_BYTES:
        return descriptor
    # Windows cannot rename a file that is open. In that case, append to it.
    with suppress(OSError):
        real = path
        while real.is_symlink():  # This terminates: the file could be opened, so its links are not circular.
            real = real.parent / real.readlink()
        if os.path.samestat(real.stat(), status):  # Otherwise another session has just renamed it.
            real.replace(real.with_name(real.name + ".1"))
        new = os.open(path, FLAGS, 0o666)
        os.close(descriptor)
        return new
    return descriptor
