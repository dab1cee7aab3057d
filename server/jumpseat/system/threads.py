"""Runs functions outside the event loop: `run_blocking` is for waiting, `compute` for long computations.

Both run the function in the caller's `contextvars` context, so it logs to the log of the caller's session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar, TypeVarTuple

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MANY_THREADS = 256
"""The maximum number of threads for blocking functions in a process that serves many clients.

asyncio's default on two processors is six. A single client with a hanging network drive could block them all.
"""

# Use only one thread: whenever the event loop wants to continue, each busy thread can delay it by up to one
# switch interval of the interpreter.
_computing = ThreadPoolExecutor(1, "compute")
_lock: ContextVar[asyncio.Lock | None] = ContextVar("jumpseat_compute", default=None)


async def run_blocking(function: Callable[[*Ts], T], /, *args: *Ts, within: float | None = None) -> T:
    """Call a function that waits for a file, a host name or a program.

    Without a time limit, the function runs in the event loop's thread pool. Once it has started, it runs to
    completion even if the caller is cancelled, and the process waits for it before exiting.

    With a time limit, the function runs in a separate thread, because it may block forever. The thread is
    abandoned after the limit or when the caller is cancelled. Nothing waits for that thread.

    Args:
        within: the time limit in seconds.

    Raises:
        TimeoutError: the function took longer.
        RuntimeError: with a time limit, the function raised an exception that must not reach the event loop,
            such as `SystemExit` or `StopIteration`. The message is the name of the exception's class.
    """
    if within is None:
        return await asyncio.to_thread(function, *args)
    future: Future[T] = Future()
    # Otherwise a cancelled caller would cancel the future, and the thread could not set its result.
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            usual = isinstance(error, Exception) and not isinstance(error, StopIteration)
            future.set_exception(error if usual else RuntimeError(type(error).__name__))

    threading.Thread(target=copy_context().run, args=(run,), name="limited", daemon=True).start()
    async with asyncio.timeout(within):
        return await asyncio.wrap_future(future)


async def compute(is_long: bool, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in the thread for computations, or directly if it does not take long.

    Once the function has started, it runs to completion even if the caller is cancelled.

    Args:
        is_long: whether the function takes more than a few milliseconds.
        function: the function, which may run concurrently with the event loop.
    """
    if not is_long:
        return function(*args, **kwargs)
    context = copy_context()
    async with _lock.get() or nullcontext():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_computing, lambda: context.run(function, *args, **kwargs))


@contextmanager
def one_computation_at_a_time() -> Iterator[None]:
    """Run the computations of this context, and of the tasks that it starts, one after another.

    Thus, a session with many computations delays another session by at most one computation.
    """
    token = _lock.set(asyncio.Lock())
    try:
        yield
    finally:
        _lock.reset(token)


def allow_many_threads() -> None:
    """Allow the running event loop to call blocking functions for many clients at the same time."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MANY_THREADS, "blocking"))
