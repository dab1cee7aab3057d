"""The commands in hints: each client gets its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.copilot import configure, next_notification, sign_in, table
from tests.daemon import WAIT_SECONDS, Daemon, user
from tests.emulator import CopilotEmulator
from tests.hub import Hub

pytestmark = pytest.mark.requirement("1:commands")

COMMANDS = {
    "signIn": ":Jumpseat login",
    "setKey": ":Jumpseat key",
    "installLocal": ":Jumpseat install",
    "openConfiguration": ":Jumpseat config",
    "check": ":checkhealth jumpseat",
}


async def hint_of(daemon: Daemon, method: str, **params: Any) -> str:
    error = (await daemon.request(method, params)).error
    hint: str = error["data"]["hint"]
    return hint


async def test_hints_name_the_commands_of_the_client(daemon: Daemon) -> None:
    await daemon.initialize(commands=COMMANDS)
    hint = await hint_of(daemon, "chat/start", messages=[user("hi")])
    named = ("login", "key", "install", "config")
    # A sentence may begin with "Run", or go on with "run".
    assert [name for name in named if f"un `:Jumpseat {name}`" not in hint] == []
    assert "un `jumpseat" not in hint
    assert (await daemon.request("auth/status")).result["message"].endswith(hint)
    assert await hint_of(daemon, "auth/signIn", provider="local") == (
        "Run `:checkhealth jumpseat` to see what it needs instead."
    )


async def test_a_hint_without_a_client_command_describes_the_step(daemon: Daemon) -> None:
    await daemon.initialize(commands={"signIn": "M-x jumpseat-login", "setKey": None})
    hint = await hint_of(daemon, "chat/start", messages=[user("hi")])
    assert hint.startswith(
        "For GitHub Copilot, run `M-x jumpseat-login`. For a small local model, install the local model. For "
    )
    assert "store an API key" in hint
    rows = (await daemon.request("providers/list")).result["providers"]
    local = next(row for row in rows if row["id"] == "local")
    assert "Install the local model, or set providers.local.model_path" in local["auth"]["message"]
    checks = (await daemon.request("providers/diagnose", {"provider": "local"})).result["checks"]
    texts = " ".join(f"{check['message']} {check.get('hint', '')}" for check in checks)
    assert "nstall the local model" in texts
    assert "`jumpseat" not in texts
    checked = await daemon.request("transcript/check", {"text": "---\nmodel: local:x\n---\n\n## Me\n\nhi\n"})
    assert "`jumpseat" not in str(checked.result)


async def test_the_hint_with_the_command_for_a_key_names_the_provider(daemon: Daemon) -> None:
    await daemon.initialize({"providers": {"work": {"kind": "anthropic"}}}, commands=COMMANDS)
    expected = "Run `:Jumpseat key` for work, or set providers.work.api_key in "
    assert (await hint_of(daemon, "auth/signIn", provider="work")).startswith(expected)


@pytest.mark.parametrize("commands", [None, {}, []])
async def test_a_client_without_commands_gets_hints_for_the_command_line(
    daemon: Daemon, commands: object
) -> None:
    await daemon.initialize(commands=commands)
    assert "run `jumpseat login`" in await hint_of(daemon, "chat/start", messages=[user("hi")])


async def test_an_error_within_a_turn_names_the_commands_of_the_client(
    daemon: Daemon, emulator: CopilotEmulator, home: Path
) -> None:
    configure(home, table(emulator))
    await daemon.initialize(commands=COMMANDS)
    exchange = await daemon.request("chat/start", {"messages": [user("hi")], "model": "copilot:gpt-4.1"})
    assert exchange.error["data"]["hint"] == "Run `:Jumpseat login`."
    assert exchange.deltas[-1]["error"]["data"]["hint"] == "Run `:Jumpseat login`."
    failures = (await daemon.request("models/list", {"provider": "copilot"})).result["errors"]
    assert failures[0]["error"]["data"]["hint"] == "Run `:Jumpseat login`."


@pytest.mark.slow
async def test_each_client_of_a_shared_daemon_gets_its_own_commands(
    hub: Hub, emulator: CopilotEmulator, home: Path
) -> None:
    configure(home, table(emulator))
    async with hub.client() as editor, hub.client() as shell:
        await editor.initialize(commands=COMMANDS)
        await shell.initialize()
        for client, command in ((editor, ":Jumpseat login"), (shell, "jumpseat login")):
            await client.request("auth/status", {"provider": "copilot"})
            hint = await hint_of(client, "chat/start", messages=[user("hi")], model="copilot:gpt-4.1")
            assert hint == f"Run `{command}`."
        await sign_in(shell, emulator)
        async with asyncio.timeout(WAIT_SECONDS):
            # Wait until the editor has noticed the sign-in. Otherwise the sign-out would not be a change.
            while (await next_notification(editor, "auth/didChange"))["state"] != "signed_in":
                pass
            own = (await shell.request("auth/signOut", {})).result
            while (status := await next_notification(editor, "auth/didChange"))["state"] != "signed_out":
                pass
        assert "un `jumpseat login`" in own["message"]
        assert "un `:Jumpseat login`" in status["message"]
