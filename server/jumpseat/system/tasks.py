"""Work that must not end halfway if its caller is cancelled."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def run_to_end(task: asyncio.Future[T]) -> tuple[T, bool]:
    """Wait for the end of a task even if the caller is cancelled.

    Returns:
        The result of the task, and whether the caller was cancelled meanwhile. To ignore the cancellation,
        the caller must call `Task.uncancel`.
    """
    was_cancelled = False
    while True:
        try:
            return await asyncio.shield(task), was_cancelled
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            was_cancelled = True
