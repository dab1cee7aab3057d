"""Helpers for tests whose peer is a real program."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from jumpseat.wire import PeerClosed, RpcError
from jumpseat.wire.child import FramedChild, start_child
from tests.fakes.language_server import NEVER, FakeLanguageServer

AT_ONCE_SECONDS = 1.0
"""The time limit between a program's death and the failure of the requests that wait for it."""

PATIENCE_SECONDS = 20.0
"""A timeout that is far longer than any test needs, even on a busy machine."""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals and process groups")


class Handlers:
    """The handlers of a child, which record their calls."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, Any]] = []
        self.log: list[str] = []
        self.logged = asyncio.Event()

    def on_notification(self, method: str, params: Any) -> None:
        self.notifications.append((method, params))

    async def on_request(self, method: str, params: Any) -> Any:
        if method == "refused":
            raise RpcError(7, "No.")
        return [method, params]

    def on_log(self, line: str) -> None:
        self.log.append(line)
        self.logged.set()

    async def wait_for_log(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.log) < count:
                self.logged.clear()
                await self.logged.wait()

    async def start(self, argv: list[str], env: Mapping[str, str] | None = None, **more: Any) -> FramedChild:
        return await start_child(
            argv,
            env=dict(os.environ) if env is None else env,
            on_notification=self.on_notification,
            on_request=self.on_request,
            on_log=self.on_log,
            **more,
        )


async def wait_bounded(awaitable: Any, seconds: float = PATIENCE_SECONDS) -> Any:
    async with asyncio.timeout(seconds):
        return await awaitable


async def start_request(child: FramedChild, fake: FakeLanguageServer) -> asyncio.Task[Any]:
    """Start a request, and wait until it has arrived; the program does not answer it."""
    fake.on("ask", NEVER)
    task = asyncio.ensure_future(child.peer.request("ask"))
    await fake.wait_for("ask")
    return task


async def wait_for_failure(task: asyncio.Task[Any]) -> str:
    with pytest.raises(PeerClosed) as caught:
        await wait_bounded(task)
    return str(caught.value)


def python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]
