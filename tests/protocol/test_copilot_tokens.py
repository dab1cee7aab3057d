"""The life of Copilot's tokens through the real daemon: kinds, exchange, expiry, hosts, concurrency."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.copilot import configure, copilot_daemon, make_question, table
from tests.emulator import CopilotEmulator, faults

pytestmark = pytest.mark.slow

CHAT = make_question(model="copilot:gpt-4.1")
EXCHANGE = "/copilot_internal/v2/token"


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        configure(home, table(running, github_token=running.issue_token("octocat")))
        yield running


@pytest.mark.requirement("8:single-flight")
async def test_fifty_concurrent_chats_cause_one_exchange(home, emulator):
    async with copilot_daemon(home) as daemon:
        ids = [daemon.start("chat/start", {**CHAT, "stream": False}) for _ in range(50)]
        answers = {}
        while len(answers) < len(ids):
            message = await daemon.read()
            if "id" in message:
                answers[message["id"]] = message

    assert {message["result"]["text"] for message in answers.values()} == {"You said: Hello"}
    assert emulator.exchanges == 1
    assert len(emulator.requests(path="/models")) == 1


async def test_the_api_version_is_sent_to_copilots_api_but_not_to_github(home, emulator):
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)

    versions = {request.path: request.headers.get("x-github-api-version") for request in emulator.requests()}
    assert versions[EXCHANGE] is None
    assert versions["/models"] == versions["/chat/completions"] == "2026-08-01"


@pytest.mark.requirement("8:one-exchange-for-all-daemons")
async def test_daemons_that_start_together_share_one_exchange(home, emulator):
    async with contextlib.AsyncExitStack() as stack:
        daemons = [await stack.enter_async_context(copilot_daemon(home)) for _ in range(4)]
        exchanges = await asyncio.gather(*(daemon.request("chat/start", CHAT) for daemon in daemons))

    assert [each.result["text"] for each in exchanges] == ["You said: Hello"] * 4
    assert emulator.exchanges == 1


@pytest.mark.requirement("8:token-expires")
async def test_a_token_that_expires_between_chats_is_replaced_without_a_retry_event(home, emulator):
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        emulator.expire_copilot_tokens()
        second = await daemon.request("chat/start", CHAT)
        third = await daemon.request("chat/start", CHAT)

    assert second.result["text"] == third.result["text"] == "You said: Hello"
    assert second.delta_types[0] == "start"
    assert "retry" not in second.delta_types
    assert emulator.exchanges == 2


@pytest.mark.requirement("8:no-refresh-storm")
async def test_a_daemon_uses_the_new_token_that_another_daemon_has_requested(home, emulator):
    async with copilot_daemon(home) as one, copilot_daemon(home) as other:
        for daemon in (one, other):
            await daemon.request("chat/start", CHAT)
        emulator.expire_copilot_tokens()
        chats = [await daemon.request("chat/start", CHAT) for daemon in (one, other)]
        emulator.expire_copilot_tokens()
        # The token was replaced less than a minute ago, so no daemon may replace it again.
        errors = [(await daemon.request("chat/start", CHAT)).error for daemon in (one, other)]

    assert [chat.result["text"] for chat in chats] == ["You said: Hello"] * 2
    assert [(error["code"], error["data"]["retryable"]) for error in errors] == [(1000, True)] * 2
    assert emulator.exchanges == 2


@pytest.mark.requirement("8:no-refresh-storm")
async def test_a_service_that_refuses_every_token_gets_few_requests(home, emulator):
    emulator.script("/chat/completions", *[faults.reject_token()] * 100)
    async with copilot_daemon(home) as daemon:
        errors = [(await daemon.request("chat/start", CHAT)).error for _ in range(10)]

        status = (await daemon.request("auth/status", {"provider": "copilot"})).result

    assert {error["code"] for error in errors} == {1000}
    # GitHub has just issued the token, so the sign-in is not at fault.
    assert {error["data"]["retryable"] for error in errors} == {True}
    assert {0 < error["data"]["retryAfter"] <= 60 for error in errors} == {True}
    assert "login" not in json.dumps(errors)
    assert status["state"] == "signed_in"
    assert emulator.exchanges == 2


@pytest.mark.requirement("8:no-refresh-storm")
async def test_an_exchange_that_is_refused_is_not_repeated_by_every_chat(home, emulator):
    emulator.suspend()
    async with copilot_daemon(home) as daemon:
        errors = [(await daemon.request("chat/start", CHAT)).error for _ in range(20)]

    assert {error["code"] for error in errors} == {1001}
    assert len(emulator.requests(path=EXCHANGE)) <= 3


@pytest.mark.requirement("8:token-kinds")
@pytest.mark.parametrize(
    ("kind", "exchanged"), [("ghu", True), ("gho", False), ("github_pat", False)], ids=lambda each: str(each)
)
async def test_each_kind_of_token_is_either_exchanged_or_sent_directly(home, emulator, kind, exchanged):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat", kind=kind)))
    async with copilot_daemon(home) as daemon:
        chat = await daemon.request("chat/start", CHAT)

    assert chat.result["text"] == "You said: Hello"
    assert (emulator.exchanges == 1) == exchanged
    seen = emulator.token_kinds_seen_by("copilot-individual")
    assert seen == {"copilot" if exchanged else kind}


@pytest.mark.requirement("8:token-kinds")
async def test_a_classic_personal_token_is_refused_before_it_is_sent_anywhere(home, emulator):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat", kind="ghp")))
    async with copilot_daemon(home) as daemon:
        error = (await daemon.request("chat/start", CHAT)).error
        status = (await daemon.request("auth/status", {"provider": "copilot"})).result

    assert error["code"] == 1000
    assert "classic" in error["message"]
    assert status["state"] == "signed_out"
    assert emulator.seen == []


@pytest.mark.requirement("8:token-fallback")
async def test_a_token_that_cannot_be_exchanged_is_sent_directly_from_then_on(home, emulator):
    emulator.credentials.exchange_apps.clear()
    async with copilot_daemon(home) as daemon:
        chats = [await daemon.request("chat/start", CHAT) for _ in range(3)]

    assert [chat.result["text"] for chat in chats] == ["You said: Hello"] * 3
    assert len(emulator.requests(path=EXCHANGE)) == 1
    assert emulator.token_kinds_seen_by("copilot-individual") == {"ghu"}


@pytest.mark.requirement("8:host-moves")
async def test_chats_follow_an_account_that_moves_to_another_host(home, emulator):
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        emulator.set_plan("business")
        # The old host reports that it no longer serves this token.
        emulator.script("/chat/completions", Reply.raw(b"Misdirected Request\n", 421))
        chat = await daemon.request("chat/start", CHAT)

    assert chat.result["text"] == "You said: Hello"
    assert len(emulator.requests("copilot-business", "/chat/completions")) == 1
    assert emulator.exchanges == 2


@pytest.mark.requirement("7:host")
async def test_each_credential_is_sent_to_its_own_hosts_only(home, emulator):
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        await daemon.request("auth/status", {"provider": "copilot", "refresh": True})
        await daemon.request("models/list", {"provider": "copilot", "refresh": True})

    assert emulator.token_kinds_seen_by("api") == {"ghu"}
    assert emulator.token_kinds_seen_by("copilot-individual") == {"copilot"}
    for plane in ("github", "copilot", "copilot-business", "proxy", "telemetry"):
        assert emulator.token_kinds_seen_by(plane) == set()


@pytest.mark.requirement("7:host")
async def test_credentials_are_not_sent_to_an_api_host_of_another_domain(home, emulator, upstream):
    emulator.state.origins["copilot-individual"] = "http://copilot.attacker.example"
    async with copilot_daemon(home) as daemon:
        error = (await daemon.request("chat/start", CHAT)).error

    assert (error["code"], error["data"]["kind"]) == (1010, "config")
    assert "copilot_url" in error["data"]["hint"]


@pytest.mark.requirement("8:expired-sign-in")
async def test_a_revoked_sign_in_is_1000_with_the_command_that_fixes_it(home, emulator):
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        for credential in emulator.credentials.all():
            emulator.revoke(credential.value)
        emulator.expire_copilot_tokens()
        error = (await daemon.request("chat/start", CHAT)).error
        status = (await daemon.request("auth/status", {"provider": "copilot"})).result

    assert (error["code"], error["data"]["kind"]) == (1000, "authentication")
    assert "jumpseat login" in error["data"]["hint"]
    assert status["state"] == "expired"


def revoke(emulator):
    for credential in emulator.credentials.all():
        if credential.kind != "copilot":  # As with GitHub, short-lived tokens remain valid.
            emulator.revoke(credential.value)


def remove_the_seat(emulator):
    emulator.account().blocked = "no_copilot_access"


@pytest.mark.requirement("8:status-and-chat-agree")
@pytest.mark.parametrize("first", ["chat", "status"])
@pytest.mark.parametrize(
    ("trouble", "code", "state"), [(revoke, 1000, "expired"), (remove_the_seat, 1001, "not_authorized")]
)
@pytest.mark.parametrize("way", ["exchange", "direct", "direct after a failed exchange"])
async def test_status_and_chat_agree_on_a_lost_sign_in_and_on_a_lost_seat(
    home, emulator, first, trouble, code, state, way
):
    if way == "direct":
        configure(home, table(emulator, github_token=emulator.issue_token("octocat", kind="gho")))
    if way == "direct after a failed exchange":
        emulator.credentials.exchange_apps.clear()
    async with copilot_daemon(home) as daemon:

        async def ask_chat() -> int | None:
            response = (await daemon.request("chat/start", CHAT)).response
            return response["error"]["code"] if "error" in response else None

        async def status(**params: bool) -> str:
            return (await daemon.request("auth/status", {"provider": "copilot", **params})).result["state"]

        assert await ask_chat() is None
        trouble(emulator)
        if first == "status":
            assert await status(refresh=True) == state
        elif (code_of_chat := await ask_chat()) is None:
            # The short-lived token is used until a request to GitHub reports the lost sign-in.
            assert way == "exchange"
            assert await status(refresh=True) == state
        else:
            assert code_of_chat == code
        for _ in range(2):
            assert (await status(), await ask_chat(), await status(refresh=True)) == (state, code, state)


@pytest.mark.requirement("8:status-and-chat-agree")
@pytest.mark.parametrize("way", ["exchange", "direct"])
async def test_a_sign_in_revoked_after_a_lost_seat_is_reported_by_status_and_chat(home, emulator, way):
    if way == "direct":
        configure(home, table(emulator, github_token=emulator.issue_token("octocat", kind="gho")))
    async with copilot_daemon(home) as daemon:

        async def findings() -> tuple[int, str]:
            code = (await daemon.request("chat/start", CHAT)).error["code"]
            return code, (await daemon.request("auth/status", {"provider": "copilot"})).result["state"]

        remove_the_seat(emulator)
        assert await findings() == (1001, "not_authorized")
        revoke(emulator)
        refreshed = await daemon.request("auth/status", {"provider": "copilot", "refresh": True})

        assert refreshed.result["state"] == "expired"
        assert [await findings() for _ in range(2)] == [(1000, "expired")] * 2


@pytest.mark.requirement("8:status-and-chat-agree")
async def test_a_seat_that_is_assigned_again_is_noticed_by_status_and_chat(home, emulator):
    async with copilot_daemon(home) as daemon:
        remove_the_seat(emulator)
        assert (await daemon.request("chat/start", CHAT)).error["code"] == 1001
        emulator.account().blocked = None
        status = (await daemon.request("auth/status", {"provider": "copilot", "refresh": True})).result
        chat = await daemon.request("chat/start", CHAT)

    assert status["state"] == "signed_in"
    assert chat.result["text"] == "You said: Hello"
