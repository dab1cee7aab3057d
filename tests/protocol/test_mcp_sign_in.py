"""Signing in to MCP servers, through the real daemon."""

from __future__ import annotations

import urllib.error
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.copilot import next_notification
from tests.daemon import Daemon, running_daemon
from tests.fakes.mcp_http import AuthorizationServer, McpEndpoint, visit
from tests.protocol.test_mcp import chat, find_row, initialize, script_call

FAKE = {"provider": "mcp:fake"}

pytestmark = [pytest.mark.slow, pytest.mark.requirement("12:mcp-oauth")]


@pytest.fixture
async def authorization(home: Path) -> AsyncIterator[AuthorizationServer]:
    """Configure the MCP server `fake`, and return its authorization server."""
    async with FakeUpstream() as issuer, FakeUpstream() as tool_server:
        endpoint = McpEndpoint(tool_server)
        table = f'[tools]\nallow = ["fake/*"]\n[mcp.fake]\nurl = "{endpoint.url}"\n'
        (home / "config.toml").write_text(table, "utf-8")
        yield AuthorizationServer(issuer, endpoint)


async def sign_in(daemon: Daemon, authorization: AuthorizationServer) -> Any:
    """Sign in, and return the result of `auth/signIn`."""
    request_id = daemon.start("auth/signIn", FAKE)
    prompt = await next_notification(daemon, "auth/prompt")
    await visit(authorization.approve(prompt["verificationUri"]))
    return (await daemon.read_until(request_id)).result


async def test_a_sign_in_shows_a_page_without_a_code(
    daemon: Daemon, upstream: FakeUpstream, authorization: AuthorizationServer
) -> None:
    await initialize(daemon, upstream)
    host = authorization.upstream.origin.removeprefix("http://")
    assert (await daemon.request("auth/status", FAKE)).result == {
        "provider": "mcp:fake",
        "state": "signed_out",
        "message": "There is no sign-in to the server fake.",
    }
    request_id = daemon.start("auth/signIn", {**FAKE, "token": "t1", "openBrowser": True})
    prompt = await next_notification(daemon, "auth/prompt")
    page = prompt["verificationUri"]
    assert page.startswith(f"{authorization.upstream.origin}/authorize?")
    assert prompt == {
        "requestId": request_id,
        "token": "t1",
        "provider": "mcp:fake",
        "verificationUri": page,
        "host": host,
        "expiresAt": prompt["expiresAt"],
    }
    request = await daemon.read()
    assert (request["method"], request["params"]) == ("window/showDocument", {"uri": page, "external": True})
    await visit(authorization.approve(page))
    exchange = await daemon.read_until(request_id)
    status = exchange.result
    assert status == {
        "provider": "mcp:fake",
        "state": "signed_in",
        "host": host,
        "expiresAt": status["expiresAt"],
    }
    assert await next_notification(daemon, "auth/didChange") == status

    rows = (await daemon.request("providers/list", {})).result["providers"]
    assert [row["id"] for row in rows if row["isDefault"]] == ["fake"]
    script_call(upstream, "fake__echo", a="hello")
    answer = (await chat(daemon)).result
    assert answer["content"][1]["content"] == '{"a": "hello"}'


async def test_a_turn_without_a_valid_token_continues_and_does_not_open_a_browser(
    daemon: Daemon, upstream: FakeUpstream, authorization: AuthorizationServer
) -> None:
    await initialize(daemon, upstream)
    await sign_in(daemon, authorization)
    assert (await next_notification(daemon, "auth/didChange"))["state"] == "signed_in"
    await daemon.request("mcp/restart", {"server": "fake"})
    authorization.revoke()
    authorization.refresh_tokens.clear()
    script_call(upstream, "fake__echo")
    exchange = await chat(daemon)
    assert exchange.result["text"] == "Done."
    assert exchange.result["content"][1]["isError"]
    assert exchange.result["content"][1]["content"] == "The server fake needs a sign-in."
    assert not {"auth/prompt", "window/showDocument"} & {note["method"] for note in exchange.notifications}
    row = await find_row(daemon)
    assert (row["state"], row["error"]) == ("needs_sign_in", "The server fake needs a sign-in.")
    assert (await daemon.request("auth/status", FAKE)).result["state"] == "expired"


@pytest.mark.slow
async def test_running_daemons_notice_a_sign_in_of_another_process(
    home: Path, upstream: FakeUpstream, authorization: AuthorizationServer
) -> None:
    async with running_daemon(home) as one, running_daemon(home) as other:
        await initialize(one, upstream)
        await initialize(other, upstream)
        assert (await other.request("auth/status", FAKE)).result["state"] == "signed_out"
        await sign_in(one, authorization)
        assert (await next_notification(other, "auth/didChange"))["state"] == "signed_in"
        script_call(upstream, "fake__echo")
        assert "isError" not in (await chat(other)).result["content"][1]
        assert (await one.request("auth/signOut", FAKE)).result["state"] == "signed_out"
        assert (await next_notification(other, "auth/didChange"))["state"] == "signed_out"
        script_call(upstream, "fake__echo")
        assert (await chat(other)).result["content"][1]["content"] == "The server fake needs a sign-in."


async def test_a_cancelled_sign_in_closes_its_port(
    daemon: Daemon, upstream: FakeUpstream, authorization: AuthorizationServer
) -> None:
    await initialize(daemon, upstream)
    request_id = daemon.start("auth/signIn", FAKE)
    prompt = await next_notification(daemon, "auth/prompt")
    daemon.notify("$/cancelRequest", {"id": request_id})
    assert (await daemon.read_until(request_id)).error["code"] == -32800
    with pytest.raises(urllib.error.URLError):
        await visit(authorization.approve(prompt["verificationUri"]))


async def test_errors_name_the_server_and_the_parameter(
    daemon: Daemon, upstream: FakeUpstream, authorization: AuthorizationServer
) -> None:
    await initialize(daemon, upstream)
    for method in ("auth/status", "auth/signIn", "auth/signOut"):
        error = (await daemon.request(method, {"provider": "mcp:fak"})).error
        assert (error["code"], error["data"]["errors"][0]["path"]) == (-32602, "provider")
        assert "did you mean" in error["data"]["errors"][0]["message"]
        built_in = (await daemon.request(method, {"provider": "mcp:memory"})).error
        assert built_in["code"] == -32602
    authorization.overrides = {"authorization_endpoint": "https://elsewhere.example/authorize"}
    error = (await daemon.request("auth/signIn", FAKE)).error
    assert (error["code"], error["data"]["provider"]) == (1009, "mcp:fake")
