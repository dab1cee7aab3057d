"""The emulator of GitHub's services on a thread of its own, for tests that are not async."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.copilot import table
from tests.emulator import CopilotEmulator

_WAIT_SECONDS = 20.0


class GitHub:
    """GitHub's services with one account, octocat, which has a paid plan."""

    def __init__(self, emulator: CopilotEmulator, run: Callable[..., Any]) -> None:
        self._emulator, self._run = emulator, run

    @property
    def table(self) -> dict[str, Any]:
        """The provider's table of the configuration."""
        return table(self._emulator)

    @property
    def page(self) -> str:
        """The address at which a user enters the code."""
        return f"{self._emulator.github_url}/login/device"

    def approve(self, code: str) -> None:
        """Enter the code as octocat."""
        self._run(self._emulator.approve, code, "octocat")

    def policies(self) -> list[Any]:
        """Return the bodies of the requests that accept or refuse the terms of a model."""
        seen = self._run(self._emulator.requests)
        return [request.json for request in seen if request.path.endswith("/policy")]


@contextlib.contextmanager
def running_github() -> Iterator[GitHub]:
    """Run the emulator for the length of a `with` block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="github", daemon=True)
    thread.start()

    def run(step: Callable[..., Any], *values: Any) -> Any:
        async def call_step() -> Any:
            result = step(*values)
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(call_step(), loop).result(_WAIT_SECONDS)

    emulator = CopilotEmulator()
    run(emulator.__aenter__)
    try:
        emulator.add_account()
        emulator.devices.interval = 0.05
        yield GitHub(emulator, run)
    finally:
        run(emulator.__aexit__, None, None, None)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_WAIT_SECONDS)
        loop.close()
