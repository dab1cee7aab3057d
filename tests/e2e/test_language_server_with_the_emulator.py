"""The real Copilot language server behind the real daemon, signed in at the emulator: whole conversations."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import Gate
from tests.attempts import is_quick
from tests.copilot import prompted
from tests.daemon import WAIT_SECONDS, user
from tests.e2e.language_server_house import ENTERPRISE, PROVIDER, House, asking, company, house
from tests.emulator import CopilotEmulator, faults
from tests.processes import command_line, descendants, is_gone

pytestmark = [pytest.mark.slow, pytest.mark.requirement("language-server:real-emulator")]

MODEL = "claude-sonnet-4.6"
MESSAGES = "/v1/messages"
"""Where this model is asked."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = {"type": "image", "source": PNG, "mediaType": "image/png"}
"""One pixel."""


@pytest.fixture
async def inside(home: Path, emulator: CopilotEmulator) -> AsyncIterator[House]:
    async with house(home, emulator) as running:
        yield running


async def begun(inside: House, emulator: CopilotEmulator, gate: Gate, **params: Any) -> int:
    """Start a chat whose answer stops after its first words; gives its request's id once they are here."""
    emulator.script(MODEL, faults.gated(gate, after=8))
    request = inside.daemon.start("chat/start", asking("Count to 30", model=MODEL, **params))
    await inside.daemon.read_delta("text_delta")
    return request


def heard(result: Any) -> str:
    """What the model heard from the user; the server puts words of its own around it."""
    found = re.search(r"<userRequest>\n(.*)\n</userRequest>", result["text"], re.DOTALL)
    assert found is not None, result
    return found[1]


def answered(exchange: Any) -> str:
    """The deltas of the text, joined."""
    return "".join(delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta")


@pytest.mark.requirement("language-server:status", "language-server:quotas", "8:auth-status", "8:quotas")
async def test_the_account_its_plan_and_its_quotas_are_the_servers(inside, emulator):
    emulator.account().premium.charge(75)
    status = (await inside.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
    assert {key: status[key] for key in ("provider", "state", "login", "plan", "host")} == {
        "provider": PROVIDER,
        "state": "signed_in",
        "login": "octocat",
        "plan": "individual",
        "host": "github.com",
    }
    quotas = {quota["name"]: quota for quota in status["quotas"]}
    assert quotas["premium_interactions"]["percentRemaining"] == 75
    assert quotas["chat"]["unlimited"]


@pytest.mark.requirement("language-server:models")
async def test_the_models_are_those_that_the_server_offers_for_chats(inside):
    answer = (await inside.daemon.request("models/list", {"provider": PROVIDER})).result
    rows = {row["model"]: row for row in answer["models"]}
    assert answer["errors"] == []
    assert {"gpt-4.1", "gpt-5-mini", MODEL, "gpt-5.3-codex", "gemini-2.5-pro"} <= set(rows)
    assert "gpt-41-copilot" not in rows, "it only completes code"
    assert rows[MODEL]["id"] == f"{PROVIDER}:{MODEL}"
    assert rows[MODEL]["maxContextTokens"] > 0
    assert rows[MODEL]["policy"] == "enabled"
    assert rows[MODEL]["supportsToolUse"] is False
    assert len([row for row in rows.values() if row["isDefault"]]) == 1


@pytest.mark.requirement("language-server:terms", "3:set-policy")
async def test_terms_are_accepted_by_the_server_and_that_is_checked(inside, emulator):
    model = f"{PROVIDER}:claude-haiku-4.5"
    listed = (await inside.daemon.request("models/list", {"provider": PROVIDER})).result["models"]
    before = next(row for row in listed if row["id"] == model)["policy"]
    untouched = emulator.requests(path="/models/claude-haiku-4.5/policy")
    row = (await inside.daemon.request("models/setPolicy", {"model": model, "state": "enabled"})).result
    chat = await inside.ask("Hello", model="claude-haiku-4.5")

    assert (before, row["model"]["policy"]) == ("unconfigured", "enabled")
    assert untouched == []
    (accepted,) = emulator.requests(path="/models/claude-haiku-4.5/policy")
    assert accepted.json == {"status": "enabled"}
    assert heard(chat) == "Hello"


@pytest.mark.requirement("language-server:conversation", "language-server:tools-away", "2:laws", "2:usage")
@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-4.1", "/chat/completions"),
        (MODEL, MESSAGES),
        ("gemini-2.5-pro", "/chat/completions"),
        ("gpt-5.3-codex", "/responses"),
    ],
)
async def test_an_answer_streams_whichever_way_the_server_takes(inside, emulator, model, path):
    # In lines: of some models the server hands on no less.
    question = "One line\nand another"
    chat = await inside.daemon.request("chat/start", asking(question, model=model))

    assert answered(chat) == chat.result["text"]
    assert heard(chat.result) == question
    assert chat.delta_types.count("text_delta") > 1
    assert chat.result["stopReason"] == "end_turn"
    assert chat.result["model"] == model
    assert chat.result["usage"]["inputTokens"] > 0
    assert chat.result["usage"]["outputTokens"] > 0
    (request,) = emulator.requests(path=path)
    assert request.json["model"] == model
    assert not request.json.get("tools"), "the server's own tools read the user's files"
    assert [charge.model for charge in emulator.charges] == [model], "nothing else was asked for"


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize(
    ("model", "path"),
    [("gpt-4.1", "/chat/completions"), (MODEL, MESSAGES), ("gpt-5.3-codex", "/responses")],
)
async def test_the_system_prompt_and_an_image_reach_the_model(inside, emulator, model, path):
    content = [{"type": "text", "text": "What is this?"}, PICTURE]
    params = {"model": f"{PROVIDER}:{model}", "messages": [user(content)], "system": "Speak like a pirate."}
    chat = (await inside.daemon.request("chat/start", params)).result

    assert chat["text"].endswith("I see 1 image.")
    (request,) = emulator.requests(path=path)
    assert PNG.encode() in request.body
    assert request.body.index(b"Speak like a pirate.") < request.body.index(b"What is this?")


@pytest.mark.requirement("language-server:second-turn")
async def test_a_chat_goes_on_in_its_conversation_and_an_edited_one_begins_anew(home, emulator):
    system = "Speak like a pirate."
    async with house(home, emulator, manner="tee") as inside:
        first = await inside.ask("My name is Ada.", system=system)
        before = [user("My name is Ada."), {"role": "assistant", "content": first["content"]}]
        second = await inside.ask("Repeat my first message", messages=before, system=system)
        edited = [user("My name is Grace."), {"role": "assistant", "content": "Hello, Grace."}]
        third = await inside.ask("Repeat my first message", messages=edited, system=system)
        methods = [message.get("method") for message in inside.told()]

    assert [method for method in methods if method in ("conversation/create", "conversation/turn")] == [
        "conversation/create",
        "conversation/turn",
        "conversation/create",
    ]
    assert heard(second).endswith("\nMy name is Ada.")
    # The server puts its words around what is asked now, not around what was asked before.
    assert third["text"].endswith("\nMy name is Grace.")
    asked = emulator.requests(path=MESSAGES)
    roles = [[message["role"] for message in request.json["messages"]] for request in asked]
    assert roles == [["user"], ["user", "assistant", "user"], ["user", "assistant", "user"]]
    assert [str(request.json["messages"][0]).count(system) for request in asked] == [1, 1, 1]
    assert not any(request.json.get("tools") for request in asked)


async def test_two_chats_at_once_do_not_mix(inside, emulator):
    gate = Gate()
    slow = await begun(inside, emulator, gate)
    quick = inside.daemon.start("chat/start", asking("Are you there?", stream=False))
    async with asyncio.timeout(WAIT_SECONDS):
        while (message := await inside.daemon.read()).get("id") != quick:
            assert "id" not in message, "the slow one is held back"
    gate.open()
    ended = (await inside.daemon.read_until(slow)).result
    assert heard(message["result"]) == "Are you there?"
    assert ended["text"].endswith("29 30")


@pytest.mark.requirement("language-server:completion", "language-server:capabilities", "2:degradation")
async def test_a_completion_is_an_answer_in_one_piece_and_says_what_it_cannot_do(home, emulator):
    async with house(home, emulator, chat_api="completion") as inside:
        providers = (await inside.daemon.request("providers/list", {})).result["providers"]
        chat = await inside.daemon.request("chat/start", asking("What is a monad?"))
        picture = (
            await inside.daemon.request("chat/start", asking("Look", messages=[user([PICTURE])]))
        ).error
        tool = {"name": "t", "description": "A tool.", "parameters": {"type": "object"}}
        tools = (await inside.daemon.request("chat/start", asking("Use it", tools=[tool]))).error
        json_mode = await inside.daemon.request("chat/start", asking("Hello", outputMode="json"))

    (row,) = [row for row in providers if row["id"] == PROVIDER]
    capabilities = ("streaming", "toolCalls", "jsonMode", "vision", "thinking")
    assert {row["capabilities"][key] for key in capabilities} == {False}
    assert chat.delta_types.count("text_delta") == 1
    assert answered(chat) == chat.result["text"]
    assert chat.result["text"].startswith("# completion 1 of:")
    asked = emulator.requests(path="/v1/engines/gpt-41-copilot/completions")
    assert "What is a monad?" in asked[0].json["prompt"]
    assert [error["code"] for error in (picture, tools)] == [1004, 1004]
    assert "warning" in json_mode.delta_types
    assert emulator.requests(path=MESSAGES) == []


@pytest.mark.requirement("language-server:errors", "6:quota", "6:rate-limit", "6:content-filter", "6:data")
async def test_what_the_service_refuses_is_said_by_kind(inside, emulator):
    async def error_of(*behaviours: Any) -> Any:
        emulator.script(MODEL, *behaviours)
        return (await inside.daemon.request("chat/start", asking("Hello"))).error

    assert (await inside.ask("Hello"))["stopReason"] == "end_turn"
    refusals = {
        1003: [faults.quota_exceeded()],
        1002: [faults.rate_limited(600)],
        1006: [faults.filtered()],
        1001: [faults.forbidden()],
    }
    for code, behaviours in refusals.items():
        error = await error_of(*behaviours)
        assert error["code"] == code, error
        assert error["data"]["provider"] == PROVIDER
        assert error["data"]["hint"]
        assert "Request ID" not in error["message"]
    unknown = (await inside.daemon.request("chat/start", asking("Hello", model="gpt-99"))).error
    assert unknown["code"] == 1004
    assert "gpt-99" in unknown["message"]


@pytest.mark.requirement("language-server:limits", "6:rate-limit", "2:retry")
async def test_a_wait_that_the_server_keeps_itself_is_not_kept_again_by_the_daemon(inside, emulator):
    emulator.script(MODEL, *[faults.rate_limited(1)] * 12)
    chat = await inside.daemon.request("chat/start", asking("Hello"))
    assert chat.error["code"] == 1002
    assert chat.error["data"]["retryable"] is True
    assert "retry" not in chat.delta_types
    assert len(emulator.requests(path=MESSAGES)) == 4, "the server's own tries"


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize("words", ["/help me with this", "/tests", "@github what is this?"])
async def test_what_looks_like_a_command_of_an_editors_reaches_the_model(inside, emulator, words):
    first = await inside.ask(words)
    before = [user(words), {"role": "assistant", "content": first["content"]}]
    second = await inside.ask(words, messages=before)
    assert [heard(chat).lstrip("\u200b") for chat in (first, second)] == [words, words]
    assert len(emulator.charges) == 2


@pytest.mark.requirement("language-server:terms", "6:authorization")
async def test_a_model_whose_terms_nobody_accepted_is_1001(inside, emulator):
    chat = await inside.daemon.request("chat/start", asking("Hello", model="claude-haiku-4.5"))
    assert chat.error["code"] == 1001
    assert f"`jumpseat accept-terms {PROVIDER}:claude-haiku-4.5`" in chat.error["data"]["hint"]
    assert emulator.charges == []


@pytest.mark.requirement("2:thinking")
async def test_an_effort_reaches_the_model_or_a_warning_says_that_it_did_not(inside, emulator):
    chat = await inside.ask("Hello", model="gemini-2.5-pro", thinking="low")
    assert [block["type"] for block in chat["content"]] == ["thinking", "text"]
    (request,) = emulator.requests(path="/chat/completions")
    assert request.json["reasoning_effort"] == "low"
    # Of models that it asks by another route the server drops the effort, and shows no thinking.
    dropped = await inside.daemon.request("chat/start", asking("Hello", thinking="low"))
    (warning,) = [delta for delta in dropped.deltas if delta["type"] == "warning"]
    assert warning["code"] == "thinking_ignored"
    (request,) = emulator.requests(path=MESSAGES)
    assert not {"thinking", "output_config"} & set(request.json)


@pytest.mark.requirement("4:default-provider")
async def test_a_chat_that_names_nothing_goes_to_the_servers_own_default_model(inside):
    chat = (await inside.daemon.request("chat/start", {"messages": [user("Hello")]})).result
    assert (chat["provider"], chat["model"], heard(chat)) == (PROVIDER, "gpt-4.1", "Hello")


@pytest.mark.requirement("2:retry", "6:server")
async def test_a_service_that_fails_is_asked_again_by_the_daemon_too(inside, emulator):
    # The server itself asks twice.
    emulator.script(MODEL, faults.server_error(), faults.server_error())
    chat = await inside.daemon.request("chat/start", asking("Hello"))
    (retry,) = [delta for delta in chat.deltas if delta["type"] == "retry"]
    assert retry["error"]["code"] == 1007
    assert heard(chat.result) == "Hello"


@pytest.mark.requirement("language-server:expired-token", "8:token-expires")
async def test_a_token_that_expires_between_two_chats_goes_unnoticed(inside, emulator):
    await inside.ask("Hello")
    emulator.expire_copilot_tokens()
    chat = await inside.daemon.request("chat/start", asking("Again"))
    assert heard(chat.result) == "Again"
    assert chat.delta_types.count("response") == 1


@pytest.mark.requirement("8:expired-sign-in", "6:authentication")
async def test_a_revoked_sign_in_is_1000_with_the_command_that_mends_it(inside, emulator):
    await inside.ask("Hello")
    for credential in emulator.credentials.all():
        credential.revoked = True
    emulator.expire_copilot_tokens()
    chats = [await inside.daemon.request("chat/start", asking("Again")) for _ in range(2)]
    status = (await inside.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
    assert [chat.error["code"] for chat in chats] == [1000, 1000]
    assert all("jumpseat login" in chat.error["data"]["hint"] for chat in chats)
    assert status["state"] == "expired"
    told = [note["params"]["state"] for note in chats[0].notifications if note["method"] == "auth/didChange"]
    assert told == ["expired"]


@pytest.mark.requirement("6:authorization")
async def test_an_account_without_copilot_is_1001(home, emulator):
    emulator.suspend()
    async with house(home, emulator) as inside:
        status = (await inside.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
        chat = (await inside.daemon.request("chat/start", asking("Hello"))).error
    assert status["state"] == "not_authorized"
    assert chat["code"] == 1001
    assert "octocat" in chat["message"]


@pytest.mark.requirement("language-server:cancel", "2:cancel-request")
async def test_a_cancel_drops_the_upstream_connection_at_once(inside, emulator):
    request = await begun(inside, emulator, Gate())
    inside.daemon.notify("$/cancelRequest", {"id": request})
    ended = await inside.daemon.read_until(request)
    upstream = await emulator.wait_for(MESSAGES)
    async with asyncio.timeout(WAIT_SECONDS):
        await upstream.disconnected.wait()
    assert ended.error["code"] == -32800
    assert ended.error["data"]["partial"]["text"].startswith("1")
    assert ended.deltas[-1]["stopReason"] == "cancelled"
    assert heard(await inside.ask("Still there?")) == "Still there?"


@pytest.mark.requirement("language-server:crash", "2:error-in-mid-stream", "6:protocol")
@pytest.mark.parametrize("manner", ["direct", "npm"])
async def test_a_server_that_is_killed_in_mid_chat_costs_that_chat_alone(home, emulator, manner):
    async with house(home, emulator, manner=manner) as inside:

        async def seconds_until_it_is_told() -> float:
            request = await begun(inside, emulator, Gate())
            started = descendants(inside.daemon.process.pid)
            killed = time.monotonic()
            os.kill(started[0], signal.SIGKILL)
            ended = await inside.daemon.read_until(request)
            took = time.monotonic() - killed
            again = await inside.ask("Still there?")

            assert ended.error["code"] == 1009
            assert ended.error["data"]["partial"]["text"].startswith("1")
            assert "signal 9" in ended.error["message"]
            assert heard(again) == "Still there?"
            last = emulator.requests(path=MESSAGES)[-1].json
            assert not last.get("tools"), "the new one has its tools again"
            assert all([await is_gone(pid) for pid in started]), "npm's entry had started the server"
            return took

        await is_quick(seconds_until_it_is_told, within=1)


@pytest.mark.requirement("language-server:shutdown", "1:stdin-eof")
@pytest.mark.parametrize("manner", ["direct", "npm"])
async def test_a_daemon_that_is_killed_in_mid_chat_leaves_no_process(home, emulator, manner):
    async with house(home, emulator, manner=manner) as inside:
        await begun(inside, emulator, Gate())
        started = descendants(inside.daemon.process.pid)
        inside.daemon.process.kill()
        await inside.daemon.exit_code()
        assert len(started) == (1 if manner == "direct" else 2)
        assert all([await is_gone(pid) for pid in started])


@pytest.mark.requirement("language-server:shutdown", "1:exit-code", "1:shutdown-cancels")
async def test_a_daemon_that_is_shut_down_in_mid_chat_leaves_no_process(inside, emulator):
    await begun(inside, emulator, Gate())
    started = descendants(inside.daemon.process.pid)
    shutdown = inside.daemon.start("shutdown")
    while (await inside.daemon.read()).get("id") != shutdown:
        pass
    inside.daemon.notify("exit")
    assert await inside.daemon.exit_code() == 0
    assert all([await is_gone(pid) for pid in started])


@pytest.mark.requirement("language-server:sign-in", "8:sign-in", "8:device-flow", "8:did-change")
async def test_a_person_signs_in_with_a_code_over_tls_and_a_proxy_and_stays_signed_in(
    home, emulator, authority
):
    emulator.devices.interval = 0.2
    where = {"provider": PROVIDER}
    async with company(home, emulator, authority) as inside:
        daemon = inside.daemon
        before = (await daemon.request("auth/status", where)).result
        request = daemon.start("auth/signIn", where)
        prompt = await prompted(daemon)
        emulator.approve(prompt["userCode"])
        signed_in = await daemon.read_until(request)
        chat = await inside.ask("Hello")
    assert (before["state"], before["host"]) == ("signed_out", ENTERPRISE)
    assert prompt["verificationUri"] == f"https://{ENTERPRISE}/login/device"
    assert prompt["provider"] == PROVIDER
    assert (signed_in.result["state"], signed_in.result["login"]) == ("signed_in", "octocat")
    assert "auth/didChange" in [message["method"] for message in signed_in.notifications]
    assert heard(chat) == "Hello"


@pytest.mark.requirement("language-server:sign-in", "language-server:sign-out", "8:sign-in")
async def test_a_sign_in_can_be_given_up_refused_and_undone(home, emulator, authority):
    emulator.devices.interval = 0.2
    where = {"provider": PROVIDER}
    async with company(home, emulator, authority) as inside:
        daemon = inside.daemon
        request = daemon.start("auth/signIn", where)
        code = (await prompted(daemon))["userCode"]
        daemon.notify("$/cancelRequest", {"id": request})
        cancelled = (await daemon.read_until(request)).error
        emulator.approve(code)
        # This one is polled for as long as the first would have been.
        request = daemon.start("auth/signIn", where)
        emulator.deny((await prompted(daemon))["userCode"])
        denied = (await daemon.read_until(request)).error
        given_up = emulator.devices.devices[0]
        afterwards = (await daemon.request("auth/status", {**where, "refresh": True})).result
        request = daemon.start("auth/signIn", where)
        emulator.approve((await prompted(daemon))["userCode"])
        signed_in = (await daemon.read_until(request)).result
        signed_out = (await daemon.request("auth/signOut", where)).result
    assert denied["code"] == 1000
    assert "denied" in denied["message"]
    assert cancelled["code"] == -32800
    assert (given_up.user_code, given_up.state) == (code, "approved"), "nobody has asked for its token"
    states = [status["state"] for status in (afterwards, signed_in, signed_out)]
    assert states == ["signed_out", "signed_in", "signed_out"]


@pytest.mark.requirement(
    "language-server:no-secrets", "6:no-secrets", "8:no-token-leaks", "8:credential-host"
)
async def test_no_credential_leaves_the_server(home, emulator):
    async with house(home, emulator, "--log-level", "debug") as inside:
        daemon = inside.daemon
        seen: list[Any] = [
            await daemon.request("auth/status", {"provider": PROVIDER, "refresh": True}),
            await daemon.request("models/list", {"provider": PROVIDER, "refresh": True}),
            await daemon.request("chat/start", asking("Hello")),
        ]
        emulator.script(MODEL, faults.unauthorized())
        seen.append(await daemon.request("chat/start", asking("Hello")))
        (child,) = descendants(daemon.process.pid)
        shown = command_line(child)
        log = await daemon.whole_log()
    secrets = [credential.value for credential in emulator.credentials.all()]
    assert {credential.kind for credential in emulator.credentials.all()} == {"ghu", "copilot"}
    assert "octocat" in repr(seen)
    for secret in secrets:
        assert secret not in log
        assert secret not in repr(seen)
        assert secret not in shown
    assert emulator.credentials_seen_by("copilot-individual") == {"copilot"}
    assert emulator.credentials_seen_by("api") == {"ghu"}
