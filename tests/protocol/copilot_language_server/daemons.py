"""Helpers of the tests in this folder: a daemon whose only provider, `cls`, is a Copilot language server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.daemon import Daemon, Exchange, running_daemon, user
from tests.fakes.language_server import FakeLanguageServer

KIND = "copilot-language-server"
CLS = {"provider": "cls"}


def configure(home: Path, fake: FakeLanguageServer | None, **more: Any) -> None:
    """Write a configuration whose only provider is `cls`, with the command of the fake if there is one."""
    table = {"kind": KIND, **({} if fake is None else {"command": fake.command}), **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (home / "config.toml").write_text("\n".join(["[providers.cls]", *lines, ""]), "utf-8")


@contextlib.asynccontextmanager
async def start_daemon(
    home: Path, fake: FakeLanguageServer | None, *flags: str, **table: Any
) -> AsyncIterator[Daemon]:
    """Start and initialize a daemon whose only provider is `cls`."""
    configure(home, fake, **table)
    async with running_daemon(home, *flags) as daemon:
        await daemon.initialize()
        yield daemon


async def chat(daemon: Daemon, *messages: Any, **params: Any) -> Exchange:
    asked = {"messages": list(messages) or [user("Hi")], "model": "cls:gpt-4.1", **params}
    return await daemon.request("chat/start", asked)


async def read_notification(daemon: Daemon, method: str) -> Any:
    """Read up to the next notification of this method, and return its params."""
    while (message := await daemon.read()).get("method") != method:
        assert "method" in message, message
    return message["params"]


async def read_row(daemon: Daemon, **params: Any) -> dict[str, Any]:
    """Return the provider's row in `providers/list`."""
    rows = (await daemon.request("providers/list", params)).result["providers"]
    return next(row for row in rows if row["id"] == "cls")
