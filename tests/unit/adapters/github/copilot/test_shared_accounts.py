"""The parts of a Copilot account that a daemon's sessions share: its tokens, its facts, its models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base.account import AuthStatus
from jumpseat.adapters.github.copilot.adapter import CopilotAdapter
from jumpseat.adapters.github.copilot.shared_token import SharedTokenFile
from jumpseat.adapters.github.sign_in.store import token_store_of
from jumpseat.chat import AuthenticationError, ChatRequest, Message
from jumpseat.config import ProviderConfig, TableOrigin
from jumpseat.http import HttpClient
from jumpseat.system.environment import Environment
from jumpseat.system.paths import Places
from jumpseat.system.secrets import register_secret
from jumpseat.system.shared import Shared
from jumpseat.testing.upstream import Gate
from tests.emulator import CopilotEmulator

EXCHANGE = "/copilot_internal/v2/token"
ACCOUNT = "/copilot_internal/user"
SESSIONS = 8
CHATS = 50
WAIT_SECONDS = 20


class Sessions:
    """The sessions of one daemon, each with its own adapter."""

    def __init__(self, emulator: CopilotEmulator, home: Path) -> None:
        self.emulator = emulator
        self.home = home
        self.shared = Shared(lingering=True)
        self.adapters: list[CopilotAdapter] = []
        self.reported: list[list[AuthStatus]] = []

    def new(self, variables: dict[str, str] | None = None, **table: Any) -> CopilotAdapter:
        config = ProviderConfig(**self.emulator.provider(**table))
        places = Places(self.home / "config.toml", self.home, self.home / "data")
        environment = Environment(variables or {}, self.home, places, self.shared)
        config.origin = TableOrigin(environment=environment)
        http = HttpClient(shared=self.shared).for_provider("copilot", config)
        adapter = CopilotAdapter("copilot", config, http)
        reported: list[AuthStatus] = []
        adapter.account.on_auth_change = reported.append
        self.adapters.append(adapter)
        self.reported.append(reported)
        return adapter

    async def aclose(self) -> None:
        for adapter in self.adapters:
            await adapter.aclose()
            await adapter._http.aclose()
        await self.shared.aclose()


@pytest.fixture
async def sessions(emulator: CopilotEmulator, home: Path, no_proxies: None) -> AsyncIterator[Sessions]:
    made = Sessions(emulator, home)
    yield made
    await made.aclose()


async def token_of(adapter: CopilotAdapter) -> str:
    async with asyncio.timeout(WAIT_SECONDS):
        bearer, _ = await adapter.account.get_bearer()
        return bearer.token.reveal()


async def chat(adapter: CopilotAdapter) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        async for _ in adapter.stream(ChatRequest(messages=[Message.user("Hi")], model="gpt-4.1")):
            pass


@pytest.fixture
def file_reads(monkeypatch: pytest.MonkeyPatch) -> list[SharedTokenFile]:
    """Return a list that records the reads of the file that daemons share."""
    reads: list[SharedTokenFile] = []
    read = SharedTokenFile.read

    async def record_read(file: SharedTokenFile) -> Any:
        reads.append(file)
        return await read(file)

    monkeypatch.setattr(SharedTokenFile, "read", record_read)
    return reads


async def test_sessions_share_one_exchange_when_the_token_expires(
    sessions: Sessions, emulator: CopilotEmulator, file_reads: list[SharedTokenFile]
) -> None:
    token = emulator.issue_token("octocat")
    adapters = [sessions.new(github_token=token) for _ in range(SESSIONS)]

    async def all_tokens() -> set[str]:
        return set(await asyncio.gather(*(token_of(each) for each in adapters for _ in range(CHATS))))

    first = await all_tokens()
    assert (len(first), len(file_reads)) == (1, 1)
    emulator.expire_copilot_tokens()
    bearer, credential = await adapters[0].account.get_bearer()
    await credential.discard_bearer(bearer)
    second = await all_tokens()
    assert (len(second), first & second) == (1, set())
    assert len(emulator.requests(path=EXCHANGE)) == 2
    assert len(file_reads) == 3  # The refusal adds a read: another daemon may have replaced the token.


async def test_sessions_share_one_request_for_the_account_of_a_direct_token(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    token = emulator.issue_token("octocat", kind="fine_grained")
    adapters = [sessions.new(github_token=token) for _ in range(SESSIONS)]
    await asyncio.gather(*(token_of(each) for each in adapters for _ in range(CHATS)))
    assert len(emulator.requests(path=ACCOUNT)) == 1
    assert emulator.exchanges == 0


async def test_a_token_outlives_the_session_that_fetched_it(
    sessions: Sessions, emulator: CopilotEmulator, file_reads: list[SharedTokenFile]
) -> None:
    token = emulator.issue_token("octocat")
    first = sessions.new(github_token=token)
    await chat(first)
    await first.aclose()
    await chat(sessions.new(github_token=token))
    assert len(emulator.requests(path=EXCHANGE)) == 1
    assert len(file_reads) == 1


async def test_the_end_of_a_session_leaves_its_exchange_to_the_others(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    token = emulator.issue_token("octocat")
    gate = Gate()
    emulator.script(EXCHANGE, lambda call: replace(call.honest(), held=gate))
    one, two = sessions.new(github_token=token), sessions.new(github_token=token)
    first, second = asyncio.create_task(token_of(one)), asyncio.create_task(token_of(two))
    await emulator.wait_for(EXCHANGE)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await one.aclose()
    gate.open()
    assert await second
    assert len(emulator.requests(path=EXCHANGE)) == 1


async def test_sign_ins_that_differ_do_not_share_values(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    emulator.add_account("hubot")
    token, other = emulator.issue_token("octocat"), emulator.issue_token("hubot")
    adapters = [
        sessions.new(github_token=token),
        sessions.new(github_token=other),
        sessions.new(github_token=token, copilot_url=emulator.plan_url("individual")),
        sessions.new(github_token=token, client_id="Iv1.another"),
        sessions.new(github_token=token, connect_timeout=5.0),
    ]
    credentials = [(await each.account.get_bearer())[1] for each in adapters]
    assert len(set(map(id, credentials))) == len(credentials)
    # Loopback addresses are reached without the proxy, so this session connects as the first one does.
    same = sessions.new(github_token=token, proxy="http://127.0.0.1:9")
    assert (await same.account.get_bearer())[1] is credentials[0]


async def test_a_token_of_one_clients_environment_does_not_affect_others(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    emulator.add_account("hubot")
    host = emulator.github_url.removeprefix("http://")
    variables = {"GH_TOKEN": emulator.issue_token("octocat"), "GH_HOST": host}
    one, two = sessions.new(variables, host=host), sessions.new(host=host)
    assert (await one.account.auth_status(refresh=True)).source == "env:GH_TOKEN"
    assert (await two.account.auth_status(refresh=True)).state == "signed_out"
    others = {"GH_TOKEN": emulator.issue_token("hubot"), "GH_HOST": host}
    three = sessions.new(others, host=host)
    assert (await three.account.auth_status(refresh=True)).login == "hubot"
    assert [status.login for status in sessions.reported[0]] == ["octocat"]


async def test_a_refused_token_and_a_rejected_sign_in_are_seen_by_all_sessions(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    token = emulator.issue_token("octocat")
    one, two = sessions.new(github_token=token), sessions.new(github_token=token)
    before = await token_of(one)
    await token_of(two)
    emulator.expire_copilot_tokens()
    bearer, credential = await one.account.get_bearer()
    assert await credential.discard_bearer(bearer) == "expired_token"
    assert await token_of(two) != before

    emulator.revoke(token)
    assert (await one.account.auth_status(refresh=True)).state == "expired"
    assert [[status.state for status in reported] for reported in sessions.reported] == [["expired"]] * 2


async def test_account_facts_that_one_session_requests_are_reported_to_the_others(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    token = emulator.issue_token("octocat")
    one, two = sessions.new(github_token=token), sessions.new(github_token=token)
    for adapter in (one, two):
        await token_of(adapter)
    await one.account.auth_status(refresh=True)
    assert [status.plan for status in sessions.reported[1]] == ["individual"]
    assert (await two.account.auth_status()).plan == "individual"
    assert len(emulator.requests(path=ACCOUNT)) == 1


async def test_sessions_of_one_account_and_one_editor_share_the_list_of_models(
    sessions: Sessions, emulator: CopilotEmulator
) -> None:
    token = emulator.issue_token("octocat")
    adapters = [sessions.new(github_token=token) for _ in range(SESSIONS)]
    await asyncio.gather(*(chat(each) for each in adapters for _ in range(5)))
    await adapters[0].recent_models()
    assert len(emulator.requests(path="/models")) == 1
    await adapters[0].list_models()
    assert len(emulator.requests(path="/models")) == 2
    await sessions.new(github_token=token, headers={"x-team": "b"}).recent_models()
    assert len(emulator.requests(path="/models")) == 3


async def sign_in_sessions(sessions: Sessions, number: int) -> list[CopilotAdapter]:
    """Create sessions that share a store with one of jumpseat's own sign-ins."""
    adapters = [sessions.new({"JUMPSEAT_HOME": str(sessions.home)}) for _ in range(number)]
    token = register_secret(sessions.emulator.issue_token("octocat"))
    store = token_store_of(adapters[0]._config.origin.environment)
    await store.write(adapters[0]._hosts, token, login="octocat")
    return adapters


async def test_a_sign_out_in_one_session_counts_for_all(sessions: Sessions, home: Path) -> None:
    one, two = await sign_in_sessions(sessions, 2)
    for adapter in (one, two):
        await token_of(adapter)
    await one.account.sign_out()
    with pytest.raises(AuthenticationError, match="No account is signed in"):
        await token_of(two)
    await two.account.handle_file_change()
    assert [status.state for status in sessions.reported[1]] == ["signed_out"]
    assert list((home / "auth").glob("copilot_token.*.json")) == []


async def test_a_chat_waiting_for_a_token_fails_if_another_session_signs_out(
    sessions: Sessions, emulator: CopilotEmulator, home: Path
) -> None:
    one, two = await sign_in_sessions(sessions, 2)
    emulator.script(EXCHANGE, lambda call: replace(call.honest(), held=Gate()))
    waiting = asyncio.create_task(token_of(two))
    await emulator.wait_for(EXCHANGE)
    await one.account.find_credential()  # Both sessions now use the sign-in.
    async with asyncio.timeout(WAIT_SECONDS):
        await one.account.sign_out()
        with pytest.raises(AuthenticationError, match="No account is signed in"):
            await waiting
    assert len(emulator.requests(path=EXCHANGE)) == 1
    assert list((home / "auth").glob("copilot_token.*.json")) == []
