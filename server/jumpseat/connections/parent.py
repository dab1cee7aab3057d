"""Watches the process that started the daemon, because the daemon must not outlive it.

Usually stdin closes when that process dies. But if another process has inherited the other end of stdin's
pipe, stdin stays open. So clients send their `processId`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from jumpseat.system.process_life import is_alive

POLL_SECONDS = 1.0
"""The polling interval on systems that cannot report the end of a process."""


def watch_process(process_id: int, on_exit: Callable[[], None]) -> Callable[[], None]:
    """Call `on_exit` when the process with this id ends, or soon if it has already ended.

    Return a function that stops watching. Calling it twice, or after `on_exit`, has no effect.
    """
    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(process_id)
        except (ProcessLookupError, OverflowError):
            return loop.call_soon(on_exit).cancel
        except OSError:
            pass  # Old kernels and sandboxes may refuse pidfds; polling works there.
        else:
            return _watch_descriptor(loop, descriptor, on_exit)
    polling = asyncio.ensure_future(_poll(process_id, on_exit))

    def stop_polling() -> None:
        polling.cancel()

    return stop_polling


def _watch_descriptor(
    loop: asyncio.AbstractEventLoop, descriptor: int, on_exit: Callable[[], None]
) -> Callable[[], None]:
    watching = True

    def stop_watching() -> None:
        nonlocal watching
        if watching:
            watching = False
            loop.remove_reader(descriptor)
            os.close(descriptor)

    def on_readable() -> None:
        stop_watching()
        on_exit()

    loop.add_reader(descriptor, on_readable)
    return stop_watching


async def _poll(process_id: int, on_exit: Callable[[], None]) -> None:
    while is_alive(process_id):  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(POLL_SECONDS)
    on_exit()
