"""Claims this process's stdin and stdout for the wire.

After `claim_stdio`, only the returned descriptors reach the other side. The output of a stray `print()`, a
native library or a child process goes to stderr and cannot corrupt a frame.
"""

from __future__ import annotations

import os
import sys


def claim_stdio() -> tuple[int, int]:
    """Move descriptors 0 and 1 to private ones, and return `(read_fd, write_fd)`.

    Descriptor 0 and `sys.stdin` then refer to the null device. Descriptor 1 and `sys.stdout` then refer to
    stderr, or to the null device if there is no stderr. The private descriptors are in binary mode and are
    not inherited by children. Call this function once, before anything writes to stdout.

    Raises:
        OSError: stdin or stdout is closed.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    # A child would inherit a descriptor below 3 as a standard stream.
    private = [_duplicate_above_standard(fd) for fd in (0, 1)]
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(null, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(null, 1)
    finally:
        if null > 2:
            os.close(null)
    _rebind_streams()
    if sys.platform == "win32":
        import msvcrt

        for fd in private:
            msvcrt.setmode(fd, os.O_BINARY)
    return private[0], private[1]


def _duplicate_above_standard(fd: int) -> int:
    """Create a non-inheritable duplicate of `fd` whose number is above 2."""
    too_low = []
    try:
        while (duplicate := os.dup(fd)) <= 2:
            too_low.append(duplicate)
    finally:
        for low in too_low:
            os.close(low)
    return duplicate


def _rebind_streams() -> None:
    """Replace `sys.stdin` and `sys.stdout`, discarding the buffers of the old streams."""
    # The old streams stay open on the same descriptors, because other code may use them.
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - lives on
    sys.stdout = open(  # noqa: SIM115 - lives as long as the process
        1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
