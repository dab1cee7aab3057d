"""Watching the process that started the daemon, which must not outlive it.

stdin closes when a parent dies, unless another process holds the pipe's other end; hence `processId`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

POLL_SECONDS = 1.0
"""Where the system cannot notify, a dead parent is noticed within about this time."""


def watch_process(process_id: int, on_gone: Callable[[], None]) -> asyncio.Task[None] | None:
    """Call `on_gone` once this process is gone; at once if it is gone already.

    Returns the task that polls, for the caller to keep; None where the kernel notifies instead.
    """
    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(process_id)
        except (ProcessLookupError, OverflowError):
            loop.call_soon(on_gone)
            return None
        except OSError:
            pass  # An old kernel or a sandbox refuses pidfds; polling works there.
        else:

            def gone() -> None:
                loop.remove_reader(descriptor)
                os.close(descriptor)
                on_gone()

            loop.add_reader(descriptor, gone)
            return None
    return asyncio.ensure_future(_poll(process_id, on_gone))


async def _poll(process_id: int, on_gone: Callable[[], None]) -> None:
    while _is_alive(process_id):  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(POLL_SECONDS)
    on_gone()


if sys.platform == "win32":

    def _is_alive(process_id: int) -> bool:
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

    def _is_alive(process_id: int) -> bool:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
