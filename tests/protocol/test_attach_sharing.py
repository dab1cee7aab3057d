"""Clients of one shared daemon: the things that they share, and those that they do not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import configure, next_notification, sign_in, table
from tests.daemon import WAIT_SECONDS, Daemon, provider, user
from tests.emulator import CopilotEmulator
from tests.hub import Hub

pytestmark = pytest.mark.slow

MODELS = "/v1/models"
EXCHANGE = "/copilot_internal/v2/token"


def models(*names: str) -> Reply:
    return Reply.json({"data": [{"id": name} for name in names]})


async def list_models(client: Daemon, **params: Any) -> list[str]:
    rows = (await client.request("models/list", {"provider": "fake", **params})).result["models"]
    return [row["model"] for row in rows]


async def chat(client: Daemon, **params: Any) -> str:
    exchange = await client.request("chat/start", {"messages": [user("hi")], **params})
    text: str = exchange.result["text"]
    return text


@pytest.mark.requirement("9:shared")
async def test_clients_of_one_provider_use_one_connection_and_one_list(
    hub: Hub, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["hello"])))
    upstream.script(models("m"), models("m", "n"), path=MODELS)
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            await client.initialize(provider(upstream.base_url))
            assert await chat(client) == "hello"
            assert await list_models(client) == ["m"]
        assert upstream.accepted == 1

        assert await list_models(first, refresh=True) == ["m", "n"]
        async with asyncio.timeout(WAIT_SECONDS):
            assert await next_notification(second, "models/didChange") == {"provider": "fake"}
        assert await list_models(second) == ["m", "n"]
    assert [request.path for request in upstream.requests].count(MODELS) == 2


@pytest.mark.requirement("9:shared")
async def test_clients_of_one_account_cause_one_exchange_and_a_sign_out_reaches_both(
    hub: Hub, emulator: CopilotEmulator, home: Path
) -> None:
    configure(home, table(emulator))
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            await client.initialize()
            await client.request("auth/status", {"provider": "copilot"})
        await sign_in(first, emulator)
        async with asyncio.timeout(WAIT_SECONDS):
            while (await next_notification(second, "auth/didChange"))["state"] != "signed_in":
                pass
        for client in (first, second):
            assert await chat(client, model="copilot:gpt-4.1")
        assert len(emulator.requests(path=EXCHANGE)) == 1

        await first.request("auth/signOut", {})
        async with asyncio.timeout(WAIT_SECONDS):
            while (await next_notification(second, "auth/didChange"))["state"] != "signed_out":
                pass


@pytest.mark.requirement("9:not-shared")
async def test_a_key_of_one_clients_environment_is_not_used_for_others(
    hub: Hub, upstream: FakeUpstream, home: Path
) -> None:
    upstream.default(models("m"))
    (home / "config.toml").write_text(
        f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\napi_key = "env:FAKE_KEY"\n'
    )
    keys = ("key-of-the-first", "key-of-the-second")
    async with hub.client(env={"FAKE_KEY": keys[0]}) as first, hub.client(env={"FAKE_KEY": keys[1]}) as other:
        for client in (first, other):
            await client.initialize()
            assert await list_models(client) == ["m"]
    assert [request.headers["authorization"] for request in upstream.requests] == [
        f"Bearer {key}" for key in keys
    ]
