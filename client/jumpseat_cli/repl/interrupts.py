"""Ctrl-C in a conversation: it stops the current work, but never ends the conversation."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self

from jumpseat_cli.terminal.styles import note

ENDING_SECONDS = 2.0
"""How long to wait for cancelled work when the conversation ends."""


class Interrupts:
    """A `with` block that handles SIGINT. While prompt_toolkit reads input, prompt_toolkit handles it."""

    def __init__(self, on_idle: Callable[[], None]) -> None:
        """
        Args:
            on_idle: called on Ctrl-C if no work is running.
        """
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Future[None] | None = None
        self._stop: Callable[[], None] | None = None
        self._before: Any = signal.SIG_DFL

    def __enter__(self) -> Self:
        # The event loop's own signal handlers exist only on POSIX.
        self._before = signal.signal(signal.SIGINT, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work, which Ctrl-C cancels, unless `stopped_by` has set another function for Ctrl-C."""
        self._task = asyncio.ensure_future(work)
        try:
            with suppress(asyncio.CancelledError):
                await asyncio.wait({self._task})
            if not self._task.done():  # `wait` was cancelled, because the conversation is ending.
                self._task.cancel()
                # Wait, because work that is asking the user something has to restore the terminal's modes.
                await asyncio.wait({self._task}, timeout=ENDING_SECONDS)
                raise asyncio.CancelledError
            if self._task.cancelled():
                note("Stopped.")
            else:
                self._task.result()
        finally:
            self._task = self._stop = None

    @contextmanager
    def stopped_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """Set the function that the first Ctrl-C calls. A second Ctrl-C cancels the work immediately."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    def _handle_signal(self, number: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._handle_interrupt)

    def _handle_interrupt(self) -> None:
        if self._task is None:
            self._on_idle()
        elif self._stop is not None:
            stop, self._stop = self._stop, None
            stop()
        else:
            self._task.cancel()
