"""The real Copilot language server behind the real daemon, signed out and without a route to GitHub."""

from __future__ import annotations

import pytest

from tests.e2e.language_server_harness import PROVIDER, chat_params, running_harness
from tests.processes import descendants, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.requirement("language-server:real-signed-out")]

LOGIN = f"jumpseat login {PROVIDER}"


@pytest.mark.requirement(
    "language-server:not-ready", "language-server:status", "8:auth-status", "6:authentication"
)
@pytest.mark.parametrize("chat_api", ["auto", "conversation", "completion"])
async def test_every_request_reports_the_missing_sign_in_and_how_to_fix_it(home, chat_api):
    async with running_harness(home, None, chat_api=chat_api) as harness:
        daemon = harness.daemon
        status = (await daemon.request("auth/status", {"provider": PROVIDER})).result
        refreshed = (await daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result
        models = (await daemon.request("models/list", {"provider": PROVIDER})).result
        chat = await daemon.request("chat/start", chat_params("Hello"))

    assert (status["state"], refreshed["state"]) == ("signed_out", "signed_out")
    assert LOGIN in status["message"]
    assert models["models"] == []
    (failure,) = models["errors"]
    for error in (failure["error"], chat.error):
        assert (error["code"], error["data"]["kind"]) == (1000, "authentication")
        assert LOGIN in error["data"]["hint"]
        assert error["data"]["retryable"] is False
    assert chat.delta_types == ["start", "done"]


@pytest.mark.requirement("8:sign-in-errors")
async def test_a_sign_in_that_cannot_reach_github_fails_and_names_github(home):
    async with running_harness(home, None) as harness:
        error = (await harness.daemon.request("auth/signIn", {"provider": PROVIDER})).error
        status = (await harness.daemon.request("auth/status", {"provider": PROVIDER})).result

    assert error["code"] == 1000
    assert "github.com" in error["message"]
    assert status["state"] == "signed_out"
    assert "github.com:443" in harness.proxy.refused


@pytest.mark.requirement("language-server:shutdown", "1:exit-code")
@pytest.mark.parametrize("launch", ["direct", "npm"])
async def test_a_shutdown_leaves_no_process(home, launch):
    async with running_harness(home, None, launch=launch) as harness:
        daemon = harness.daemon
        await daemon.request("auth/status", {"provider": PROVIDER})
        started = descendants(daemon.process.pid)
        await daemon.request("shutdown")
        daemon.notify("exit")
        assert await daemon.exit_code() == 0
        assert len(started) == (1 if launch == "direct" else 2)
        assert all([await wait_until_gone(pid) for pid in started])


@pytest.mark.requirement("language-server:initialize", "language-server:shutdown")
async def test_the_server_gets_the_editors_name_and_a_shutdown_request(home):
    async with running_harness(home, None, launch="tee") as harness:
        await harness.daemon.request("auth/status", {"provider": PROVIDER})
        opened = harness.read_messages()
        await harness.daemon.request("shutdown")
        harness.daemon.notify("exit")
        await harness.daemon.exit_code()
        later = harness.read_messages()[len(opened) :]

    assert [message.get("method") for message in opened[:3]] == [
        "initialize",
        "initialized",
        "workspace/didChangeConfiguration",
    ]
    options = opened[0]["params"]["initializationOptions"]
    assert options["editorInfo"] == {"name": "tests", "version": "0"}
    assert options["editorPluginInfo"]["name"] == "jumpseat"
    assert opened[0]["params"]["processId"] == harness.daemon.process.pid
    assert opened[2]["params"]["settings"] == {"telemetry": {"telemetryLevel": "off"}}
    assert later[0]["method"] == "shutdown"
