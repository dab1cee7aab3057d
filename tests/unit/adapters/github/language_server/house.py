"""Language servers made as the adapter makes them, over a script or a program of the test's own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.github.language_server.server import LanguageServer, ServerConnection
from jumpseat.chat import ChatError
from jumpseat.config import ProviderConfig, Values
from tests.fakes.language_server import NEVER, FakeLanguageServer

SECRET = "hunter2-correct-horse-battery"
GITHUB_TOKEN = "ghu_0123456789abcdefghij"
AT_ONCE_SECONDS = 1.0
PATIENCE_SECONDS = 20.0
"""Far more than anything here takes: a loaded machine is slow, a hang is for ever."""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of POSIX")


class House:
    """A server made as the adapter makes it, with everything that it told the adapter."""

    def __init__(self, provider: str, config: ProviderConfig) -> None:
        self.client: ClientInfo | None = ClientInfo("Neovim", "0.11.0")
        self.notifications: list[tuple[str, Any]] = []
        self.now = 1000.0
        self.server = LanguageServer(
            provider,
            config,
            Values(provider, config),
            who=lambda: self.client,
            on_notification=lambda method, params: self.notifications.append((method, params)),
            on_request=self.on_request,
            clock=lambda: self.now,
        )

    async def on_request(self, method: str, params: Any) -> Any:
        return [method, params]

    async def connection(self) -> ServerConnection:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.server.connection()

    async def failure(self) -> ChatError:
        with pytest.raises(ChatError) as caught:
            await self.connection()
        return caught.value


class Houses:
    """Makes them, and closes them at the end."""

    def __init__(self, fake: FakeLanguageServer) -> None:
        self._fake = fake
        self._made: list[House] = []

    def make(self, **table: Any) -> House:
        table.setdefault("command", self._fake.command)
        self._made.append(House("cls", ProviderConfig(kind="copilot-language-server", **table)))
        return self._made[-1]

    async def aclose(self) -> None:
        for house in self._made:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await house.server.aclose()


async def started_request(
    connection: ServerConnection, fake: FakeLanguageServer, seconds: float | None = None
) -> asyncio.Task[Any]:
    """A request that has arrived and is not answered."""
    fake.on("ask", NEVER)
    task = asyncio.ensure_future(connection.request("ask", {}, seconds=seconds))
    await fake.wait_for("ask", len(fake.params("ask")) + 1)
    return task


async def failure_of(task: asyncio.Task[Any]) -> ChatError:
    with pytest.raises(ChatError) as caught:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await task
    return caught.value


def script(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path
