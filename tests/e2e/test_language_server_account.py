"""The account, the models and the sign-in of the real Copilot language server behind the real daemon."""

from __future__ import annotations

from typing import Any

import pytest

from tests.copilot import read_sign_in_prompt
from tests.e2e.language_server_harness import (
    ENTERPRISE,
    MODEL,
    PROVIDER,
    chat_params,
    enterprise_harness,
    find_echo,
    running_harness,
)
from tests.emulator import faults
from tests.processes import command_line, descendants

pytestmark = [pytest.mark.slow, pytest.mark.requirement("language-server:real-emulator")]


@pytest.mark.requirement("language-server:status", "language-server:quotas", "8:auth-status", "8:quotas")
async def test_the_server_reports_the_login_the_plan_and_the_quotas(harness, emulator):
    emulator.account().premium.charge(75)
    status = (await harness.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
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
async def test_the_servers_chat_models_are_listed(harness):
    answer = (await harness.daemon.request("models/list", {"provider": PROVIDER})).result
    rows = {row["model"]: row for row in answer["models"]}
    assert answer["errors"] == []
    assert {"gpt-4.1", "gpt-5-mini", MODEL, "gpt-5.3-codex", "gemini-2.5-pro"} <= set(rows)
    completion = rows["gpt-41-copilot"]
    assert (completion["supportsInfill"], completion["pickerEnabled"]) == (True, False)
    assert rows[MODEL]["id"] == f"{PROVIDER}:{MODEL}"
    assert rows[MODEL]["maxContextTokens"] > 0
    assert rows[MODEL]["policy"] == "enabled"
    assert rows[MODEL]["supportsToolUse"] is False
    assert len([row for row in rows.values() if row["isDefault"]]) == 1


@pytest.mark.requirement("language-server:terms", "3:set-policy")
async def test_accepted_terms_are_sent_to_github_and_the_model_answers(harness, emulator):
    model = f"{PROVIDER}:claude-haiku-4.5"
    listed = (await harness.daemon.request("models/list", {"provider": PROVIDER})).result["models"]
    before = next(row for row in listed if row["id"] == model)["policy"]
    untouched = emulator.requests(path="/models/claude-haiku-4.5/policy")
    row = (await harness.daemon.request("models/setPolicy", {"model": model, "state": "enabled"})).result
    chat = await harness.ask("Hello", model="claude-haiku-4.5")

    assert (before, row["model"]["policy"]) == ("unconfigured", "enabled")
    assert untouched == []
    (accepted,) = emulator.requests(path="/models/claude-haiku-4.5/policy")
    assert accepted.json == {"status": "enabled"}
    assert find_echo(chat) == "Hello"


@pytest.mark.requirement("language-server:expired-token", "8:token-expires")
async def test_a_token_that_expires_between_two_chats_is_replaced(harness, emulator):
    await harness.ask("Hello")
    emulator.expire_copilot_tokens()
    chat = await harness.daemon.request("chat/start", chat_params("Again"))
    assert find_echo(chat.result) == "Again"
    assert chat.delta_types.count("response") == 1


@pytest.mark.requirement("8:expired-sign-in", "6:authentication")
async def test_a_revoked_sign_in_is_error_1000_with_the_command_that_fixes_it(harness, emulator):
    await harness.ask("Hello")
    for credential in emulator.credentials.all():
        credential.revoked = True
    emulator.expire_copilot_tokens()
    chats = [await harness.daemon.request("chat/start", chat_params("Again")) for _ in range(2)]
    status = (await harness.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
    assert [chat.error["code"] for chat in chats] == [1000, 1000]
    assert all("jumpseat login" in chat.error["data"]["hint"] for chat in chats)
    assert status["state"] == "expired"
    states = [
        note["params"]["state"] for note in chats[0].notifications if note["method"] == "auth/didChange"
    ]
    assert states == ["expired"]


@pytest.mark.requirement("6:authorization")
async def test_an_account_without_copilot_is_error_1001(home, emulator):
    emulator.suspend()
    async with running_harness(home, emulator) as harness:
        status = (await harness.daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
        chat = (await harness.daemon.request("chat/start", chat_params("Hello"))).error
    assert status["state"] == "not_authorized"
    assert chat["code"] == 1001
    assert "octocat" in chat["message"]


@pytest.mark.requirement("language-server:sign-in", "8:sign-in", "8:device-flow", "8:did-change")
async def test_a_person_signs_in_with_a_code_over_tls_and_a_proxy_and_stays_signed_in(
    home, emulator, authority
):
    emulator.devices.interval = 0.2
    where = {"provider": PROVIDER}
    async with enterprise_harness(home, emulator, authority) as harness:
        daemon = harness.daemon
        before = (await daemon.request("auth/status", where)).result
        request = daemon.start("auth/signIn", where)
        prompt = await read_sign_in_prompt(daemon)
        emulator.approve(prompt["userCode"])
        signed_in = await daemon.read_until(request)
        chat = await harness.ask("Hello")
    assert (before["state"], before["host"]) == ("signed_out", ENTERPRISE)
    assert prompt["verificationUri"] == f"https://{ENTERPRISE}/login/device"
    assert prompt["provider"] == PROVIDER
    assert (signed_in.result["state"], signed_in.result["login"]) == ("signed_in", "octocat")
    assert "auth/didChange" in [message["method"] for message in signed_in.notifications]
    assert find_echo(chat) == "Hello"


@pytest.mark.requirement("language-server:sign-in-cancel", "language-server:sign-out", "8:sign-in")
async def test_a_sign_in_can_be_cancelled_and_denied_and_a_user_can_sign_out(home, emulator, authority):
    emulator.devices.interval = 0.2
    where = {"provider": PROVIDER}
    async with enterprise_harness(home, emulator, authority) as harness:
        daemon = harness.daemon
        request = daemon.start("auth/signIn", where)
        code = (await read_sign_in_prompt(daemon))["userCode"]
        daemon.notify("$/cancelRequest", {"id": request})
        cancelled = (await daemon.read_until(request)).error
        emulator.approve(code)
        # If the cancelled sign-in still polled, it would use up the approval during the second sign-in.
        request = daemon.start("auth/signIn", where)
        emulator.deny((await read_sign_in_prompt(daemon))["userCode"])
        denied = (await daemon.read_until(request)).error
        given_up = emulator.devices.devices[0]
        afterwards = (await daemon.request("auth/status", {**where, "refresh": True})).result
        request = daemon.start("auth/signIn", where)
        emulator.approve((await read_sign_in_prompt(daemon))["userCode"])
        signed_in = (await daemon.read_until(request)).result
        signed_out = (await daemon.request("auth/signOut", where)).result
    assert denied["code"] == 1000
    assert "denied" in denied["message"]
    assert cancelled["code"] == -32800
    assert (given_up.user_code, given_up.state) == (code, "approved"), (
        "the cancelled sign-in was polled again"
    )
    states = [status["state"] for status in (afterwards, signed_in, signed_out)]
    assert states == ["signed_out", "signed_in", "signed_out"]


@pytest.mark.requirement(
    "language-server:no-secrets", "6:no-secrets", "8:no-token-leaks", "8:credential-host"
)
async def test_credentials_do_not_leave_the_language_server(home, emulator):
    async with running_harness(home, emulator, "--log-level", "debug") as harness:
        daemon = harness.daemon
        seen: list[Any] = [
            await daemon.request("auth/status", {"provider": PROVIDER, "refresh": True}),
            await daemon.request("models/list", {"provider": PROVIDER, "refresh": True}),
            await daemon.request("chat/start", chat_params("Hello")),
        ]
        emulator.script(MODEL, faults.reject_token())
        seen.append(await daemon.request("chat/start", chat_params("Hello")))
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
    assert emulator.token_kinds_seen_by("copilot-individual") == {"copilot"}
    assert emulator.token_kinds_seen_by("api") == {"ghu"}
