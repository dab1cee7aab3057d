"""Run `LanguageServer` over the fake server, or over a program that the test writes."""

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
from tests.environments import here
from tests.fakes.language_server import NEVER, FakeLanguageServer

SECRET = "hunter2-correct-horse-battery"
GITHUB_TOKEN = "ghu_0123456789abcdefghij"
AT_ONCE_SECONDS = 1.0
"""The time limit for a reaction that does not wait for anything."""

PATIENCE_SECONDS = 20.0
"""A time limit far longer than any step needs on a loaded machine."""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals and process groups")


class Harness:
    """One `LanguageServer`, created as the adapter creates it, and the notifications that it sent."""

    def __init__(self, provider: str, config: ProviderConfig) -> None:
        self.environment = config.origin.environment
        self.client: ClientInfo | None = ClientInfo("Neovim", "0.11.0")
        self.notifications: list[tuple[str, Any]] = []
        self.now = 1000.0
        self.server = LanguageServer(
            provider,
            config,
            Values(provider, config),
            client=lambda: self.client,
            on_notification=lambda method, params: self.notifications.append((method, params)),
            on_request=self.on_request,
            clock=lambda: self.now,
        )

    async def on_request(self, method: str, params: Any) -> Any:
        return [method, params]

    async def connect(self) -> ServerConnection:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.server.connect()

    async def failure(self) -> ChatError:
        """Connect, and return the error with which the connection fails."""
        with pytest.raises(ChatError) as caught:
            await self.connect()
        return caught.value


class Harnesses:
    """Creates harnesses over one fake, and closes them."""

    def __init__(self, fake: FakeLanguageServer) -> None:
        self._fake = fake
        self._harnesses: list[Harness] = []

    def make(self, **table: Any) -> Harness:
        table.setdefault("command", self._fake.command)
        self._harnesses.append(
            Harness(
                "cls",
                ProviderConfig(kind="copilot-language-server", **table).set_environment(here()),
            )
        )
        return self._harnesses[-1]

    async def aclose(self) -> None:
        for harness in self._harnesses:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await harness.server.aclose()


async def start_request(
    connection: ServerConnection, fake: FakeLanguageServer, seconds: float | None = None
) -> asyncio.Task[Any]:
    """Start a request that the fake receives and does not answer."""
    fake.on("ask", NEVER)
    task = asyncio.ensure_future(connection.request("ask", {}, seconds=seconds))
    await fake.wait_for("ask", len(fake.params("ask")) + 1)
    return task


async def failure_of(task: asyncio.Task[Any]) -> ChatError:
    """Wait for a task that fails, and return its error."""
    with pytest.raises(ChatError) as caught:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await task
    return caught.value


def script(path: Path, text: str) -> Path:
    """Write an executable script, and return its path."""
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path
