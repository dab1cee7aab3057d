"""The lock for starting or ending a daemon. The kernel releases it if the process that holds it dies."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import fcntl
import os
from pathlib import Path

from jumpseat.hub.failures import CannotShareError


def try_lock(path: Path) -> int | None:
    """Lock this file. Return the descriptor that owns the lock, or None if another process has it.

    Raises:
        CannotShareError: the file cannot be locked.
    """
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        raise CannotShareError(f"{path} cannot be locked ({error.strerror})") from None
    return descriptor
