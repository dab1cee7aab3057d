"""Many callers, one piece of work: whoever asks while it runs gets its result, or its failure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs one coroutine at a time. A caller that is cancelled leaves the work to the others."""

    def __init__(self, *, ends_with_its_callers: bool = False) -> None:
        """
        Args:
            ends_with_its_callers: cancel the work when the last one who waited for it is cancelled.
        """
        self._task: asyncio.Task[T] | None = None
        self._callers = 0
        self._ends_with_its_callers = ends_with_its_callers

    @property
    def is_running(self) -> bool:
        """Whether there is work under way."""
        return self._task is not None and not self._task.done()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        """The work under way, begun now if there is none."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(work())
            self._task.add_done_callback(_seen)
        return self._task

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the work under way, begun now if there is none.

        Raises:
            Exception: whatever the work raises, for every caller.
        """
        task = self.start(work)
        self._callers += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._callers -= 1
            if self._ends_with_its_callers and not self._callers and not task.done():
                # Whoever comes now begins anew, and does not join what is being cancelled.
                self._task = None
                task.cancel()

    async def aclose(self) -> None:
        """Cancel what is under way and wait for its end."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


def _seen(task: asyncio.Task[Any]) -> None:
    # Every caller may be gone by the time that it fails; that is no "exception was never retrieved".
    if not task.cancelled():
        task.exception()
