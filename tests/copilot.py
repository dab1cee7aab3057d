"""Runs a daemon whose Copilot is the emulator, and exchanges raw frames with it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from tests.daemon import Daemon, running_daemon
from tests.emulator import CopilotEmulator


def configure(home: Path, *tables: Mapping[str, Any], top: str = "") -> None:
    """Write a configuration: the text `top`, then provider tables named `copilot`, `copilot2` and so on."""
    text = top
    for number, table in enumerate(tables, 1):
        text += f"\n[providers.copilot{number if number > 1 else ''}]\n"
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
    (home / "config.toml").write_text(text, "utf-8")


@contextlib.asynccontextmanager
async def copilot_daemon(
    home: Path, *flags: str, env: Mapping[str, str] | None = None, config: Mapping[str, Any] | None = None
) -> AsyncIterator[Daemon]:
    """Start and initialize a daemon."""
    async with running_daemon(home, *flags, env=env) as daemon:
        await daemon.initialize(config)
        yield daemon


def table(emulator: CopilotEmulator, **more: Any) -> dict[str, Any]:
    """Return a provider table with the emulator's hosts in place of github.com."""
    return emulator.provider(**more)


async def sign_in(daemon: Daemon, emulator: CopilotEmulator, login: str = "octocat", **params: Any) -> Any:
    """Sign in to an account with a code, and return the result of `auth/signIn`."""
    request_id = daemon.start("auth/signIn", params)
    prompt = await read_sign_in_prompt(daemon)
    emulator.approve(prompt["userCode"], login)
    return (await daemon.read_until(request_id)).result


async def read_sign_in_prompt(daemon: Daemon) -> Any:
    """Return the params of the next `auth/prompt`."""
    while (message := await daemon.read()).get("method") != "auth/prompt":
        assert "method" in message, message
    return message["params"]


def make_question(text: str = "Hello", **params: Any) -> dict[str, Any]:
    """Return the params of a chat with one user message."""
    return {"messages": [{"role": "user", "content": text}], **params}


async def next_notification(daemon: Daemon, method: str) -> Any:
    """Return the params of the next notification of this method, and skip other notifications."""
    while (message := await daemon.read()).get("method") != method:
        assert "method" in message, message
    return message["params"]
