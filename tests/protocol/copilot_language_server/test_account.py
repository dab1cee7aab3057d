"""Sign-in, account and models of the Copilot language server, as a client sees them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.github.language_server.identity import STATUS_SECONDS
from tests.daemon import Daemon, running_daemon
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.fakes.language_server_answers import DEVICE_FLOW, MODELS
from tests.protocol.copilot_language_server.daemons import CLS, chat, configure, read_notification, read_row

pytestmark = pytest.mark.slow


@pytest.mark.requirement("language-server:sign-in", "language-server:sign-out", "language-server:did-change")
async def test_a_person_can_sign_in_with_a_code_then_chat_and_then_sign_out(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.status = {"status": "NotSignedIn"}
    approved = asyncio.Event()

    async def confirm(params: Any) -> Any:
        await approved.wait()
        fake.status = {"status": "OK", "user": "octocat"}
        return fake.status

    fake.on("signInConfirm", confirm)
    before = (await served.request("auth/status", CLS)).result
    request_id = served.start("auth/signIn", {**CLS, "token": "mine"})
    prompt = await read_notification(served, "auth/prompt")
    approved.set()
    signing_in = await served.read_until(request_id)
    answer = await chat(served)
    out = (await served.request("auth/signOut", CLS)).result

    assert before["state"] == "signed_out"
    assert "jumpseat login cls" in before["message"]
    assert (prompt["requestId"], prompt["token"], prompt["provider"]) == (request_id, "mine", "cls")
    assert (prompt["userCode"], prompt["verificationUri"]) == (
        DEVICE_FLOW["userCode"],
        DEVICE_FLOW["verificationUri"],
    )
    assert prompt["expiresAt"].endswith("Z")
    assert (signing_in.result["state"], signing_in.result["login"]) == ("signed_in", "octocat")
    changes = [each for each in signing_in.notifications if each["method"] == "auth/didChange"]
    assert [change["params"]["state"] for change in changes][:1] == ["signed_in"]
    assert answer.result["text"] == "You said: Hi"
    assert out["state"] == "signed_out"


@pytest.mark.requirement("language-server:sign-in-cancel")
async def test_a_sign_in_that_a_person_cancels_is_cancelled_at_the_server(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.status = {"status": "NotSignedIn"}

    async def flow(params: Any) -> Any:
        code = {key: DEVICE_FLOW[key] for key in ("userCode", "verificationUri", "expiresIn")}
        fake.notify("signInWithDeviceFlowProgress", code)
        await asyncio.Event().wait()

    fake.on("signInWithDeviceFlow", flow)
    request_id = served.start("auth/signIn", CLS)
    prompt = await read_notification(served, "auth/prompt")

    served.notify("$/cancelRequest", {"id": request_id})
    error = (await served.read_until(request_id)).error

    assert prompt["intervalSeconds"] == 5
    assert error["code"] == -32800
    await fake.wait_for("$/cancelRequest")


@pytest.mark.requirement("language-server:sign-in-page")
async def test_a_foreign_sign_in_page_is_not_shown(served: Daemon, fake: FakeLanguageServer) -> None:
    fake.status = {"status": "NotSignedIn"}
    fake.on("signIn", {**DEVICE_FLOW, "verificationUri": "https://github.com.evil.example/login/device"})

    exchange = await served.request("auth/signIn", CLS)

    assert exchange.error["code"] == 1009
    assert "evil" not in json.dumps([exchange.response, exchange.notifications])
    assert "auth/prompt" not in [each["method"] for each in exchange.notifications]


@pytest.mark.requirement("language-server:did-change")
async def test_a_change_of_the_account_is_reported_as_a_change_of_the_models_too(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    await served.request("auth/status", CLS)
    await served.request("models/list", CLS)
    fake.status = {"status": "NotSignedIn"}
    row = {"category": "auth", "kind": "Error", "message": "Gone.", "result": fake.status}

    fake.notify("didChangeStatus/v2", {"statuses": [row]})

    assert await read_notification(served, "models/didChange") == CLS
    change = await read_notification(served, "auth/didChange")
    assert (change["provider"], change["state"]) == ("cls", "signed_out")
    assert "Gone." in change["message"]


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize(
    ("status", "code"),
    [({"status": "NotSignedIn"}, 1000), ({"status": "NotAuthorized", "user": "octocat"}, 1001)],
)
async def test_a_chat_without_access_is_rejected_with_the_command_that_fixes_it(
    served: Daemon, fake: FakeLanguageServer, status: dict[str, Any], code: int
) -> None:
    fake.status = status

    error = (await chat(served)).error

    assert error["code"] == code
    assert "`jumpseat login cls`" in error["data"]["hint"]
    assert "conversation/create" not in fake.methods


@pytest.mark.slow  # Waits for the time limit of `providers/list`. A unit test has a shorter one.
@pytest.mark.requirement("language-server:status-silence")
async def test_a_server_that_never_answers_delays_only_the_first_list_of_providers(
    home: Path, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    configure(home, fake)
    async with running_daemon(home) as daemon:
        began = time.monotonic()
        await daemon.initialize()
        initialized = time.monotonic() - began
        row = await read_row(daemon)
        began = time.monotonic()
        again = await read_row(daemon)
        waited = time.monotonic() - began

    assert initialized < STATUS_SECONDS
    assert (row["configured"], row["auth"]["state"]) == (False, "signed_out")
    assert "has not answered within 5 s" in row["auth"]["message"]
    assert again["auth"] == row["auth"]
    assert waited < STATUS_SECONDS, "the daemon waited for the silent server again"


@pytest.mark.requirement("language-server:models")
async def test_the_list_has_the_facts_for_a_model_picker(served: Daemon, fake: FakeLanguageServer) -> None:
    fake.on("copilot/models", [*MODELS, {"name": "broken"}])

    rows = (await served.request("models/list", CLS)).result["models"]

    rows = [row for row in rows if row["pickerEnabled"]]
    assert [row["model"] for row in rows] == ["gpt-4.1", "claude-sonnet-4.6"]
    claude = rows[1]
    assert (claude["maxContextTokens"], claude["maxPromptTokens"]) == (200_000, 168_000)
    assert claude["thinkingLevels"] == ["low", "medium", "high"]
    assert (claude["policy"], claude["billing"]) == ("unconfigured", {"isPremium": True, "multiplier": 1})
    assert (claude["supportsVision"], claude["supportsToolUse"], claude["supportsJson"]) == (
        True,
        False,
        False,
    )
    assert [row["isDefault"] for row in rows] == [True, False]


@pytest.mark.requirement("language-server:terms")
async def test_terms_are_accepted_only_at_a_clients_request_and_the_effect_is_checked(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    accepted = [
        {**row, "modelPolicy": {"state": "enabled"}} if "modelPolicy" in row else row for row in MODELS
    ]
    asked = {"model": "cls:claude-sonnet-4.6", "state": "enabled"}
    await served.request("models/list", CLS)
    untouched = fake.params("copilot/setModelPolicy")
    refused = (await served.request("models/setPolicy", asked)).error
    fake.on("copilot/models", list(MODELS), accepted)
    row = (await served.request("models/setPolicy", asked)).result["model"]
    without_terms = (await served.request("models/setPolicy", {**asked, "model": "cls:gpt-4.1"})).error

    assert untouched == []
    assert refused["code"] == 1001
    assert (row["id"], row["policy"]) == ("cls:claude-sonnet-4.6", "enabled")
    assert without_terms["code"] == 1004
