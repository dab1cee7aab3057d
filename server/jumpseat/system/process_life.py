"""Finds out whether another process runs and when it started, and makes this process end with its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

_PS_SECONDS = 5.0

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

    def find_start(process_id: int) -> str | None:
        """Return a text that identifies the start of a process; None if no process with this id runs.

        No later process with the same id has the same text.
        """
        import ctypes

        query_limited_information = 0x1000
        kernel32 = ctypes.windll.kernel32
        handle = kernel32.OpenProcess(query_limited_information, False, process_id)
        if not handle:
            return None
        try:
            times = [ctypes.c_ulonglong() for _ in range(4)]
            found = kernel32.GetProcessTimes(handle, *map(ctypes.byref, times))
            return str(times[0].value) if found and is_alive(process_id) else None
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

    def find_start(process_id: int) -> str | None:
        """Return a text that identifies the start of a process; None if no process with this id runs.

        No later process with the same id has the same text. Blocks, except on Linux.
        """
        if sys.platform == "linux":
            try:
                # Field 22 of proc_pid_stat(5). The name in field 2 may contain parentheses and spaces.
                status = Path(f"/proc/{process_id}/stat").read_bytes()
                boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
            except OSError:
                return None
            state, *fields = status.rpartition(b")")[2].split()
            # A zombie has ended, but nobody has asked for its exit code yet.
            return None if state in (b"Z", b"X") else f"{boot} {fields[18].decode()}"
        else:  # noqa: RET505 - mypy checks each branch for its platform
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                shown = subprocess.run(  # noqa: S603 - the system's own program, by its path
                    ["/bin/ps", "-o", "lstart=", "-p", str(process_id)],
                    check=False,
                    capture_output=True,
                    env={"LC_ALL": "C"},
                    timeout=_PS_SECONDS,
                )
                return shown.stdout.decode("ascii", "replace").strip() or None
            return None


def end_with_parent() -> None:
    """On Linux, make the kernel kill this process when its parent ends, even if this process is suspended."""
    if sys.platform == "linux":
        import ctypes  # Imported late because the daemon, which also imports this module, does not need it.

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
