"""Upstream spellings of Copilot models: in the first chat, after the list was fetched, and in defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, running_daemon, user
from tests.emulator import CopilotEmulator

pytestmark = pytest.mark.requirement("4:upstream-spellings")


def configure(home: Path, emulator: CopilotEmulator, **top: str) -> None:
    """Write a configuration with the emulator as the provider `gh`; sign in, and accept all terms."""
    table = emulator.provider(github_token=emulator.issue_token("octocat"))
    lines = [f"{key} = {json.dumps(value)}" for key, value in top.items()]
    lines += ["[providers.gh]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    for model in ("claude-haiku-4.5", "claude-sonnet-4.6"):
        emulator.set_policy(model, "enabled")
    (home / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")


async def chat(daemon: Daemon, model: str | None = None) -> Any:
    return await daemon.request("chat/start", {"messages": [user("hi")], "model": model})


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gh:claude-haiku-4-5", "claude-haiku-4.5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4.5"),
        ("gh:anthropic/Claude-Sonnet-4.6", "claude-sonnet-4.6"),
        ("gpt-4.1", "gpt-4.1"),
    ],
)
async def test_the_first_chat_resolves_a_spelling_without_requesting_the_list(
    home: Path, emulator: CopilotEmulator, name: str, model: str
) -> None:
    configure(home, emulator, default_provider="gh")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        exchange = await chat(daemon, name)
    assert exchange.deltas[0]["model"] == model
    assert exchange.result["text"]


async def test_a_spelling_is_resolved_after_a_chat_has_fetched_the_list(
    home: Path, emulator: CopilotEmulator
) -> None:
    configure(home, emulator, default_model="gh:claude-sonnet-4-6-20260217")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        before = await chat(daemon, "gh:gpt-4.1-2025-04-14")
        assert before.deltas[0]["model"] == "gpt-4.1-2025-04-14", (
            "the name was changed before the list was known"
        )
        assert (await chat(daemon)).deltas[0]["model"] == "claude-sonnet-4.6"
        after = await chat(daemon, "gh:gpt-4.1-2025-04-14")
        assert after.deltas[0]["model"] == "gpt-4.1"
        assert after.result["text"]
        # The list has this dated name as a model of its own.
        mini = await chat(daemon, "gh:GPT-4o-mini-2024-07-18")
        assert mini.deltas[0]["model"] == "gpt-4o-mini-2024-07-18"
