"""Signing in to Copilot and out again, through the real daemon and the emulator."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.copilot import (
    configure,
    copilot_daemon,
    make_question,
    next_notification,
    read_sign_in_prompt,
    sign_in,
    table,
)
from tests.emulator import CopilotEmulator

pytestmark = pytest.mark.slow

COPILOT = {"provider": "copilot"}


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(home, table(running))
        yield running


@pytest.mark.requirement("8:sign-in", "8:device-flow")
async def test_a_user_can_sign_in_with_a_code_and_then_chat(home, emulator):
    async with copilot_daemon(home) as daemon:
        request_id = daemon.start("auth/signIn", {"token": "mine"})
        prompt = await read_sign_in_prompt(daemon)
        emulator.approve(prompt["userCode"])
        status = (await daemon.read_until(request_id)).result
        chat = await daemon.request("chat/start", make_question())

    assert prompt.keys() == {
        "requestId",
        "token",
        "provider",
        "userCode",
        "verificationUri",
        "expiresAt",
        "intervalSeconds",
    }
    assert (prompt["requestId"], prompt["token"], prompt["provider"]) == (request_id, "mine", "copilot")
    assert prompt["verificationUri"] == f"{emulator.github_url}/login/device"
    assert prompt["expiresAt"].endswith("Z")
    assert {key: status[key] for key in ("provider", "state", "login", "plan", "source", "chatEnabled")} == {
        "provider": "copilot",
        "state": "signed_in",
        "login": "octocat",
        "plan": "individual",
        "source": "file",
        "chatEnabled": True,
    }
    assert {quota["name"] for quota in status["quotas"]} == {"chat", "completions", "premium_interactions"}
    assert chat.result["text"] == "You said: Hello"


@pytest.mark.requirement("8:did-change")
async def test_sign_ins_and_sign_outs_are_announced_and_a_sign_out_changes_the_models(home, emulator):
    async with copilot_daemon(home) as daemon:
        request_id = daemon.start("auth/signIn", {})
        emulator.approve((await read_sign_in_prompt(daemon))["userCode"])
        signed_in = await daemon.read_until(request_id)
        signed_out = await daemon.request("auth/signOut", {})

    changes = [
        message["params"]["state"]
        for exchange in (signed_in, signed_out)
        for message in exchange.notifications
        if message["method"] == "auth/didChange"
    ]
    assert changes == ["signed_in", "signed_out"]
    assert "models/didChange" in [message["method"] for message in signed_out.notifications]
    assert signed_out.result["state"] == "signed_out"
    assert "jumpseat login" in signed_out.result["message"]


@pytest.mark.requirement("8:open-browser")
async def test_the_client_is_asked_to_open_the_page_only_if_it_requests_that(home, emulator):
    async with copilot_daemon(home) as daemon:
        request_id = daemon.start("auth/signIn", {"openBrowser": True})
        prompt = await read_sign_in_prompt(daemon)
        request = await daemon.read()
        daemon.send({"jsonrpc": "2.0", "id": request["id"], "result": {"success": True}})
        emulator.approve(prompt["userCode"])
        status = (await daemon.read_until(request_id)).result
        await daemon.request("auth/signOut", {})
        quiet = daemon.start("auth/signIn", {})
        emulator.approve((await read_sign_in_prompt(daemon))["userCode"])
        exchange = await daemon.read_until(quiet)

    assert request["method"] == "window/showDocument"
    assert request["params"] == {"uri": prompt["verificationUri"], "external": True}
    assert status["state"] == "signed_in"
    assert "window/showDocument" not in [message["method"] for message in exchange.notifications]


@pytest.mark.requirement("8:sign-in")
@pytest.mark.parametrize("how", ["deny", "expire"])
async def test_a_denied_or_expired_sign_in_fails_with_1000_and_saves_nothing(home, emulator, how):
    async with copilot_daemon(home) as daemon:
        request_id = daemon.start("auth/signIn", {})
        getattr(emulator, how)((await read_sign_in_prompt(daemon))["userCode"])
        error = (await daemon.read_until(request_id)).error
        status = (await daemon.request("auth/status", COPILOT)).result

    assert (error["code"], error["data"]["kind"]) == (1000, "authentication")
    assert status["state"] == "signed_out"
    assert not (home / "auth" / "sign_ins.json").exists()


@pytest.mark.requirement("8:sign-in")
async def test_a_cancelled_sign_in_stops_polling(home, emulator):
    async with copilot_daemon(home) as daemon:
        request_id = daemon.start("auth/signIn", {})
        await read_sign_in_prompt(daemon)
        await emulator.wait_for("/login/oauth/access_token")
        daemon.notify("$/cancelRequest", {"id": request_id})
        error = (await daemon.read_until(request_id)).error
        (device,) = emulator.devices.devices
        polls = device.polls
        # Another sign-in runs for several intervals. Meanwhile, the cancelled one must not poll.
        request_id = daemon.start("auth/signIn", {})
        prompt = await read_sign_in_prompt(daemon)
        await emulator.wait_for("/login/oauth/access_token", polls + 6)
        emulator.approve(prompt["userCode"])
        await daemon.read_until(request_id)

    assert error["code"] == -32800
    # One poll may have been in flight when the sign-in was cancelled.
    assert device.polls <= polls + 1
    assert emulator.devices.devices[1].state == "used"


@pytest.mark.slow
@pytest.mark.requirement("8:other-process")
async def test_running_daemons_notice_a_sign_in_of_another_process(home, emulator):
    async with copilot_daemon(home) as one, copilot_daemon(home) as other:
        before = (await other.request("auth/status", COPILOT)).result
        await sign_in(one, emulator)
        noticed = await next_notification(other, "auth/didChange")
        chat = await other.request("chat/start", make_question(model="copilot:gpt-4.1"))
        await one.request("auth/signOut", {})
        gone = await next_notification(other, "auth/didChange")
        refused = await other.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert before["state"] == "signed_out"
    assert (noticed["state"], noticed["login"], noticed["plan"]) == ("signed_in", "octocat", "individual")
    assert chat.result["text"] == "You said: Hello"
    assert gone["state"] == "signed_out"
    assert refused.error["code"] == 1000
    assert "jumpseat login" in refused.error["data"]["hint"]


@pytest.mark.requirement("4:default-provider")
async def test_signing_in_makes_copilot_the_default_if_no_default_is_configured(home, emulator):
    async with copilot_daemon(home) as daemon:
        await sign_in(daemon, emulator)
        rows = (await daemon.request("providers/list", {})).result["providers"]
    configure(home, table(emulator), top='default_provider = "local"\n')
    async with copilot_daemon(home) as daemon:
        await daemon.request("auth/signOut", {})
        await sign_in(daemon, emulator)
        other = (await daemon.request("providers/list", {})).result["providers"]

    assert [row["id"] for row in rows if row["isDefault"]] == ["copilot"]
    assert [row["id"] for row in other if row["isDefault"]] == ["local"]


def store_foreign_sign_in(home: Path, emulator: CopilotEmulator, source: str) -> dict[str, str]:
    """Store a sign-in as another program does, and return the environment that it needs."""
    token = emulator.issue_token("octocat")
    directory = home / "xdg" / "github-copilot"
    directory.mkdir(parents=True)
    if source == "hosts.json":
        (directory / source).write_text(json.dumps({"github.com": {"user": "octocat", "oauth_token": token}}))
    elif source == "apps.json":
        entry = {"user": "octocat", "oauth_token": token, "githubAppId": "Iv1.x"}
        (directory / source).write_text(json.dumps({"github.com:Iv1.x": entry}))
    else:
        return {source: token}
    return {}


@pytest.mark.requirement("8:found-sign-ins")
@pytest.mark.parametrize("source", ["hosts.json", "apps.json", "GH_TOKEN", "COPILOT_GITHUB_TOKEN"])
async def test_an_existing_sign_in_is_found_and_its_source_reported(home, emulator, source):
    env = store_foreign_sign_in(home, emulator, source)
    async with copilot_daemon(home, env=env) as daemon:
        status = (await daemon.request("auth/status", COPILOT)).result
        chat = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert (status["state"], status["login"]) == ("signed_in", "octocat")
    assert source in status["source"]
    assert chat.result["text"] == "You said: Hello"


@pytest.mark.requirement("8:credential-host")
async def test_a_workspaces_provider_does_not_use_existing_sign_ins(home, emulator):
    env = store_foreign_sign_in(home, emulator, "GH_TOKEN")
    overlay = {"providers": {"theirs": table(emulator)}}
    async with copilot_daemon(home, env=env, config=overlay) as daemon:
        status = (await daemon.request("auth/status", {"provider": "theirs"})).result
        error = (await daemon.request("chat/start", make_question(model="theirs:gpt-4.1"))).error

    assert status["state"] == "signed_out"
    assert error["code"] == 1000
    assert emulator.seen == []


@pytest.mark.requirement("8:found-sign-ins")
async def test_other_sign_ins_are_not_used_after_a_sign_out(home, emulator):
    store_foreign_sign_in(home, emulator, "hosts.json")
    before = (home / "xdg" / "github-copilot" / "hosts.json").read_bytes()
    async with copilot_daemon(home) as daemon:
        await daemon.request("auth/signOut", {})
        status = (await daemon.request("auth/status", COPILOT)).result
        again = await sign_in(daemon, emulator)

    assert status["state"] == "signed_out"
    assert again["source"] == "file"
    assert (home / "xdg" / "github-copilot" / "hosts.json").read_bytes() == before


@pytest.mark.requirement("8:two-accounts")
async def test_two_tables_can_have_two_accounts(home, emulator):
    emulator.add_account("hubot", "business")
    configure(home, table(emulator), table(emulator))
    async with copilot_daemon(home) as daemon:
        first = await sign_in(daemon, emulator, "octocat")
        second = await sign_in(daemon, emulator, "hubot", provider="copilot2")
        await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        await daemon.request("chat/start", make_question(model="copilot2:gpt-4.1"))
        out = (await daemon.request("auth/signOut", {"provider": "copilot2"})).result
        kept = (await daemon.request("auth/status", COPILOT)).result

    assert [(each["login"], each["plan"]) for each in (first, second)] == [
        ("octocat", "individual"),
        ("hubot", "business"),
    ]
    assert [charge.account.login for charge in emulator.charges] == ["octocat", "hubot"]
    assert (out["state"], kept["state"], kept["login"]) == ("signed_out", "signed_in", "octocat")


@pytest.mark.requirement("8:sign-in")
async def test_a_sign_in_reports_a_token_that_takes_precedence(home, emulator):
    emulator.add_account("hubot")
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with copilot_daemon(home) as daemon:
        status = await sign_in(daemon, emulator, "hubot")

    assert (status["source"], status["login"]) == ("config", "octocat")
    assert "github_token in the configuration takes precedence" in status["message"]


@pytest.mark.requirement("8:no-token-leaks")
@pytest.mark.parametrize("method", ["auth/signOut", "auth/signIn"])
async def test_shared_tokens_are_deleted_with_the_sign_in(home, emulator, method):
    """The process that signs out or in has never used the tokens itself."""
    async with copilot_daemon(home) as daemon, copilot_daemon(home) as other:
        await sign_in(daemon, emulator)
        await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        (shared,) = (home / "auth").glob("copilot_token.*.json")
        await (sign_in(other, emulator) if method == "auth/signIn" else other.request(method, COPILOT))

    assert not shared.exists()


@pytest.mark.requirement("8:sign-out-erases")
async def test_a_sign_out_removes_all_tokens_from_the_state_directory(home, emulator):
    auth = home / "auth"
    async with copilot_daemon(home) as daemon:
        await sign_in(daemon, emulator)
        await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        for path in list(auth.glob("*.json")):
            # A killed write and a system crash may leave such copies.
            for copy in (f"{path.name}.broken-20260101T000000-abcdef", f".{path.name}.0123456789ab"):
                (auth / copy).write_bytes(path.read_bytes()[:-2])
        # A killed daemon may leave the short-lived token of an earlier sign-in to the same provider.
        (shared,) = auth.glob("copilot_token.*.json")
        shared.with_name(f"{shared.stem[:-4]}0000.json").write_bytes(shared.read_bytes())
        status = (await daemon.request("auth/signOut", {})).result

    secrets = [each.value for each in emulator.credentials.all()]
    kept = {path.name: path.read_text("utf-8", "replace") for path in auth.iterdir()}
    assert status["state"] == "signed_out"
    assert [name for name, text in kept.items() if any(secret in text for secret in secrets)] == []


@pytest.mark.requirement("8:auth-status")
@pytest.mark.parametrize(
    ("trouble", "state", "words"),
    [
        (lambda emulator, token: emulator.revoke(token), "expired", "jumpseat login"),
        (lambda emulator, token: emulator.suspend(), "not_authorized", "Ask GitHub Support"),
    ],
    ids=["revoked", "suspended"],
)
async def test_a_sign_in_that_github_rejects_is_reported_with_a_hint(home, emulator, trouble, state, words):
    token = emulator.issue_token("octocat")
    trouble(emulator, token)
    configure(home, table(emulator, github_token="env:THE_TOKEN"))
    async with copilot_daemon(home, env={"THE_TOKEN": token}) as daemon:
        status = (await daemon.request("auth/status", COPILOT)).result
        error = (await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))).error

    assert (status["state"], status["source"]) == (state, "config")
    assert words in status["message"]
    assert error["code"] == {"expired": 1000, "not_authorized": 1001}[state]
    assert error["data"]["hint"]


@pytest.mark.requirement("8:auth-status")
async def test_a_plan_without_chat_is_reported_as_such(home, emulator):
    emulator.account().chat_enabled = False
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with copilot_daemon(home) as daemon:
        status = (await daemon.request("auth/status", COPILOT)).result

    assert (status["state"], status["chatEnabled"]) == ("not_authorized", False)
    assert "settings/copilot" in status["message"]


@pytest.mark.requirement("8:sign-in")
async def test_a_provider_with_a_configured_key_has_no_sign_in(home):
    (home / "config.toml").write_text(
        '[providers.acme]\nkind = "openai"\napi_key = "sk-0123456789abcdef"\n'
        '[providers.free]\nkind = "ollama"\n',
        "utf-8",
    )
    async with copilot_daemon(home) as daemon:
        for method in ("auth/signIn", "auth/signOut"):
            error = (await daemon.request(method, {"provider": "acme"})).error
            assert (error["code"], error["data"]["kind"]) == (1010, "config")
            assert "providers.acme.api_key" in error["data"]["hint"]
            assert (await daemon.request(method, {"provider": "free"})).result["state"] == "not_required"


@pytest.mark.requirement("8:no-token-leaks")
async def test_tokens_never_appear_in_logs_or_messages_and_their_files_are_private(home, emulator):
    async with copilot_daemon(home, "--log-level", "debug") as daemon:
        await sign_in(daemon, emulator)
        chat = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        emulator.expire_copilot_tokens()
        await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        for credential in emulator.credentials.all():
            emulator.revoke(credential.value)
        failed = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
        await daemon.request("shutdown", None)
        daemon.notify("exit")
        await daemon.exit_code()

    secrets = [each.value for each in emulator.credentials.all()]
    assert len(secrets) >= 3
    seen = daemon.log + json.dumps([chat.response, chat.notifications, failed.response])
    assert [secret for secret in secrets if secret in seen] == []
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home / "auth").iterdir()}
    assert {name for name, mode in modes.items() if mode & 0o077} == set()
    assert (home / "auth").stat().st_mode & 0o777 == 0o700
