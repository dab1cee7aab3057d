"""The lives of other processes: whether one still runs, and a child that ends with its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""The option of Linux's prctl(2) for the signal that a process receives when its parent thread ends."""

if sys.platform == "win32":

    def is_alive(process_id: int) -> bool:
        """Whether a process with this id exists."""
        import ctypes

        synchronize, wait_timeout = 0x00100000, 0x00000102
        kernel32 = ctypes.windll.kernel32
        handle = kernel32.OpenProcess(synchronize, False, process_id)
        if not handle:
            return False
        try:
            return bool(kernel32.WaitForSingleObject(handle, 0) == wait_timeout)
        finally:
            kernel32.CloseHandle(handle)

else:

    def is_alive(process_id: int) -> bool:
        """Whether a process with this id exists."""
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def end_with_parent() -> None:
    """Make Linux kill this process, a child, when its parent ends, even if the child is stopped."""
    if sys.platform == "linux":
        import ctypes  # Imported late because the daemon, which also imports this module, does not need it.

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
