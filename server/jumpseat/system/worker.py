"""Runs long computations of all sessions in one thread, so that the event loop serves the other sessions.

There is one thread, because each busy thread delays the event loop by up to a switch interval whenever it
continues. Each session has one computation at a time in it, so that none waits behind all those of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_thread = ThreadPoolExecutor(1, "compute")
_turn: ContextVar[asyncio.Lock | None] = ContextVar("jumpseat_compute", default=None)


@contextmanager
def one_computation_at_a_time() -> Iterator[None]:
    """Within this context, and the tasks that it starts, computations run one after the other."""
    token = _turn.set(asyncio.Lock())
    try:
        yield
    finally:
        _turn.reset(token)


async def compute(is_long: bool, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, in the thread if that takes long.

    If this is cancelled, the function still runs to its end, unless it has not begun.

    Args:
        is_long: whether it takes more than a few milliseconds.
        function: may run while the event loop does.
        args: for the function.
        kwargs: for the function.
    """
    if not is_long:
        return function(*args, **kwargs)
    context = copy_context()
    async with _turn.get() or nullcontext():
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_thread, lambda: context.run(function, *args, **kwargs))
