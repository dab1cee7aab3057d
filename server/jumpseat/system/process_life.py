"""Checks whether another process is still running."""

from __future__ import annotations

import os
import sys

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
