"""Work that may block, on a thread that nobody has to wait for.

A keyring, a command, a file of a network and a user's own function may take for ever. The loop's pool is
not for them: its threads are waited for when the process ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def in_time(work: Callable[[], T], seconds: float, name: str) -> T:
    """The result of the work, which runs on a thread of its own.

    Args:
        work: blocks; it goes on if nobody waits for it any more.
        seconds: how long it may take.
        name: that of the thread.

    Raises:
        TimeoutError: it takes longer.
        Exception: as the work raises it; anything else than an `Exception` comes as a `RuntimeError` that
            names its class, because a `SystemExit` would end the loop.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(settle: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())
        except RuntimeError:
            logger.debug("%s answered after the loop was closed", name)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            usual = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if usual else RuntimeError(type(error).__name__)
            tell(lambda: future.set_exception(failure))
        else:
            tell(lambda: future.set_result(result))

    threading.Thread(target=run, name=name, daemon=True).start()
    async with asyncio.timeout(seconds):
        return await future
