"""Settings and Copilot accounts of attached clients: what reaches all of them, and what reaches only one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.copilot import configure, make_question, next_notification, table
from tests.daemon import Daemon
from tests.emulator import CopilotEmulator
from tests.hub import Hub

pytestmark = pytest.mark.slow

COPILOT = {"provider": "copilot"}
CHAT = {**make_question(model="copilot:gpt-4.1"), "stream": False}

CLIENTS = 8
CHATS = 50


async def read_notified_methods(client: Daemon, *methods: str) -> list[str]:
    """Return those methods of the notifications so far that are among `methods`.

    The daemon sends its messages in order, so all these notifications precede the response to a new request.
    """
    exchange = await client.request("settings/get", {})
    return [each["method"] for each in exchange.notifications if each["method"] in methods]


@pytest.mark.requirement("9:shared")
async def test_saved_settings_reach_the_other_clients(hub: Hub) -> None:
    async with hub.client() as one, hub.client() as other, hub.client() as third:
        for client in (one, other, third):
            await client.initialize()
        await one.request("settings/save", {"settings": {"max_tokens": 77}})

        for client in (other, third):
            change = await next_notification(client, "settings/didChange")
            assert change["settings"]["max_tokens"] == 77
            assert (await client.request("settings/get", {})).result["settings"]["max_tokens"] == 77


@pytest.mark.requirement("9:not-shared")
async def test_a_token_of_one_clients_environment_does_not_affect_others(
    hub: Hub, emulator: CopilotEmulator
) -> None:
    configure(hub.home, table(emulator))
    token = emulator.issue_token("octocat")
    async with hub.client() as without:
        await without.initialize()
        assert (await without.request("auth/status", COPILOT)).result["state"] == "signed_out"
        async with hub.client(env={"GH_TOKEN": token}) as client:
            await client.initialize()
            assert (await client.request("auth/status", COPILOT)).result["source"] == "env:GH_TOKEN"
            assert (await client.request("chat/start", CHAT)).result["text"] == "You said: Hello"
            assert await read_notified_methods(without, "auth/didChange", "models/didChange") == []
            assert (await without.request("auth/status", COPILOT)).result["state"] == "signed_out"
            assert (await without.request("chat/start", CHAT)).error["code"] == 1000
            client.close_stdin()
            await client.exit_code()
        assert await read_notified_methods(without, "auth/didChange", "models/didChange") == []
        assert (await without.request("chat/start", CHAT)).error["code"] == 1000


async def chat_simultaneously(clients: list[Daemon], count: int) -> list[dict[str, Any]]:
    """Run this many chats of each client, all at once, and return the responses."""

    async def chats(client: Daemon) -> list[dict[str, Any]]:
        ids = {client.start("chat/start", CHAT) for _ in range(count)}
        responses = []
        while len(responses) < len(ids):
            message = await client.read()
            if "id" in message:
                responses.append(message)
        assert {each["id"] for each in responses} == ids
        return responses

    return [each for some in await asyncio.gather(*map(chats, clients)) for each in some]


@pytest.mark.requirement("9:shared")
@pytest.mark.parametrize(
    "count",
    [pytest.param(5), pytest.param(CHATS, marks=pytest.mark.slow)],
)
async def test_many_chats_of_many_clients_at_the_tokens_expiry_cause_one_exchange(
    hub: Hub, emulator: CopilotEmulator, count: int
) -> None:
    configure(hub.home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hub.client()) for _ in range(CLIENTS)]
        for client in clients:
            await client.initialize()
        assert (await clients[0].request("chat/start", CHAT)).result["text"] == "You said: Hello"
        assert emulator.exchanges == 1
        emulator.expire_copilot_tokens()

        responses = await chat_simultaneously(clients, count)

        assert {each.get("result", each)["text"] for each in responses} == {"You said: Hello"}
        assert len(responses) == CLIENTS * count
        assert emulator.exchanges == 2
        assert len(emulator.requests(path="/models")) <= 2
