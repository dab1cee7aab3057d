"""Runs work for several callers, but never twice at once. All callers during a run share its outcome."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WorkCancelled(asyncio.CancelledError):
    """`aclose` cancelled the work. The caller itself is not cancelled."""


class SingleFlight(Generic[T]):
    """Runs one coroutine at a time. By default, it continues even if its callers are cancelled."""

    def __init__(self, *, ends_with_its_callers: bool = False) -> None:
        """
        Args:
            ends_with_its_callers: whether to cancel the work when its last caller is cancelled.
        """
        self._task: asyncio.Task[T] | None = None
        self._callers = 0
        self._ends_with_its_callers = ends_with_its_callers

    @property
    def is_running(self) -> bool:
        """Whether the work is running."""
        return self._task is not None and not self._task.done()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """Start the work unless it is already running, and return its task."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(work())
            self._task.add_done_callback(_mark_retrieved)
        return self._task

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Start the work unless it is already running, and return its result.

        Raises:
            WorkCancelled: `aclose` was called meanwhile.
            Exception: the work raised this exception. Every caller receives it.
        """
        task = self.start(work)
        self._callers += 1
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and not caller.cancelling():
                raise WorkCancelled from None
            raise
        finally:
            self._callers -= 1
            if self._ends_with_its_callers and not self._callers and not task.done():
                # Make the next caller start the work again instead of joining the cancelled run.
                self._task = None
                task.cancel()

    async def aclose(self) -> None:
        """Cancel the work if it is running, and wait for its end."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


def _mark_retrieved(task: asyncio.Task[Any]) -> None:
    # If all callers are gone when the work fails, asyncio would log "exception was never retrieved".
    if not task.cancelled():
        task.exception()
