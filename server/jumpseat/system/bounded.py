"""Blocking work in a thread of its own, with a time limit.

A keyring, a network file system or a user's own function may block for ever. The event loop's thread pool is
unsuitable: Python waits for its threads when the process ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def in_time(work: Callable[[], T], seconds: float, name: str) -> T:
    """The result of the work, which runs in a thread of its own.

    Args:
        work: may block; it continues after a timeout or a cancel.
        seconds: how long it may take.
        name: the thread's name.

    Raises:
        TimeoutError: it takes longer.
        Exception: as the work raises it. Any other exception becomes a `RuntimeError` that names its class,
            because a `SystemExit` would end the event loop.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def report(settle: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())
        except RuntimeError:
            logger.debug("%s ended after the event loop was closed", name)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            usual = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if usual else RuntimeError(type(error).__name__)
            report(lambda: future.set_exception(failure))
        else:
            report(lambda: future.set_result(result))

    # The caller's context: it names the session's log.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    async with asyncio.timeout(seconds):
        return await future
