"""Leaves the event loop: `run_blocking` waits for the system, and `compute` keeps a processor busy.

Both run the function in the caller's context, which names the log of its session.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar, TypeVarTuple

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MANY_THREADS = 256
"""The threads of a process that serves many clients. asyncio's pool has six on two processors: one client
whose network drive hangs would keep them from the others."""

# One thread, because each busy thread delays the event loop by up to a switch interval whenever it continues.
_computing = ThreadPoolExecutor(1, "compute")
_turn: ContextVar[asyncio.Lock | None] = ContextVar("jumpseat_compute", default=None)


async def run_blocking(function: Callable[[*Ts], T], /, *args: *Ts, within: float | None = None) -> T:
    """Call a function that waits for a file, a name or a program.

    Without a time limit it runs in the event loop's pool. If the caller is cancelled, it still runs to its
    end, which the end of the process awaits, unless it has not begun.

    With a time limit it runs in a thread of its own, because it may block for ever, and is abandoned after
    the limit or a cancel. Nothing waits for that thread.

    Args:
        function: What to call.
        args: Its arguments.
        within: The time limit in seconds.

    Raises:
        TimeoutError: It takes longer.
        RuntimeError: With a time limit, it raised an exception that would end the event loop, such as
            `SystemExit`. The message is the name of its class.
    """
    if within is None:
        return await asyncio.to_thread(function, *args)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def report(settle: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())
        except RuntimeError:
            logger.debug("%r ended after the event loop was closed", function)

    def run() -> None:
        try:
            result = function(*args)
        except BaseException as error:
            usual = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if usual else RuntimeError(type(error).__name__)
            report(lambda: future.set_exception(failure))
        else:
            report(lambda: future.set_result(result))

    threading.Thread(target=copy_context().run, args=(run,), name="limited", daemon=True).start()
    async with asyncio.timeout(within):
        return await future


async def compute(is_long: bool, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in the one thread for computations, or here if it does not take long.

    If this is cancelled, the function still runs to its end, unless it has not begun.

    Args:
        is_long: Whether it takes more than a few milliseconds.
        function: What to call; may run while the event loop does.
        args: Its arguments.
        kwargs: Its keyword arguments.
    """
    if not is_long:
        return function(*args, **kwargs)
    context = copy_context()
    async with _turn.get() or nullcontext():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_computing, lambda: context.run(function, *args, **kwargs))


@contextmanager
def one_computation_at_a_time() -> Iterator[None]:
    """Run the computations of this context, and of the tasks that it starts, one after the other.

    A session with many computations thus delays one of another session by at most one of its own.
    """
    token = _turn.set(asyncio.Lock())
    try:
        yield
    finally:
        _turn.reset(token)


def allow_many_threads() -> None:
    """Let the running event loop call blocking functions of many clients at a time."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MANY_THREADS, "blocking"))
