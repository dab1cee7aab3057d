"""Servers over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest

from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.fakes.mcp_http import McpEndpoint, hold, text
from tests.unit.tools.mcp.clients import Client

Connect = Callable[..., Client]

pytestmark = pytest.mark.requirement("12:mcp-http")


@pytest.fixture(params=[False, True], ids=["json", "events"])
async def endpoint(request: pytest.FixtureRequest) -> AsyncIterator[McpEndpoint]:
    """A server that answers with JSON, or with event streams."""
    async with FakeUpstream() as upstream:
        yield McpEndpoint(upstream, streams=request.param)


def make_config(endpoint: McpEndpoint, **more: str) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in more.items())
    return f'[tools]\nallow = ["fake/*"]\n[mcp.fake]\nurl = "{endpoint.url}"\n{lines}'


async def test_tools_are_listed_and_called_in_one_session(connect: Connect, endpoint: McpEndpoint) -> None:
    client = connect(make_config(endpoint))
    async with client.turn("fake/*") as turn:
        assert turn.names == ["fake__echo", "fake__wait"]
        assert json.loads((await turn.call("fake__echo", a="ä")).text) == {"a": "ä"}
        endpoint.on_call = lambda name, arguments, request: text("no\0 nul")
        assert (await turn.call("fake__echo", b=1)).text == "no\ufffd nul"

    assert endpoint.methods.count("initialize") == 1
    assert client.status("fake").state == "running"


async def test_the_configured_headers_are_sent(
    connect: Connect, endpoint: McpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "one-two-three-four")
    headers = '{ Authorization = "Bearer ${key}", X-Team = "blue" }'
    client = connect(make_config(endpoint, headers=headers, env='{ key = "env:KEY" }'))
    await client.call("fake__echo")

    for request in endpoint.upstream.requests:
        assert request.headers["authorization"] == "Bearer one-two-three-four"
        assert request.headers["x-team"] == "blue"
        assert "jumpseat-endpoint" not in request.headers


@pytest.mark.requirement("12:mcp-environment")
async def test_headers_are_not_sent_to_the_host_of_a_redirect(
    connect: Connect, endpoint: McpEndpoint
) -> None:
    async with FakeUpstream() as other:
        endpoint.upstream.default(
            Reply.raw(b"", 307, location=f"{other.origin}/mcp"),
            endpoint.url.removeprefix(endpoint.upstream.origin),
        )
        client = connect(make_config(endpoint, headers='{ Authorization = "Bearer one-two-three" }'))
        async with client.turn("fake/*") as turn:
            assert "fake cannot be used" in turn.warnings[0]

        assert other.accepted == 0


async def test_a_refused_credential_is_reported(connect: Connect, endpoint: McpEndpoint) -> None:
    endpoint.valid_tokens = {"right"}
    client = connect(make_config(endpoint, headers='{ Authorization = "Bearer wrong" }'))
    async with client.turn("fake/*") as turn:
        assert turn.warnings == ["The server fake refuses the credential in mcp.fake.headers."]

    assert client.status("fake").state == "failed"


async def test_a_host_that_cannot_be_reached_is_reported_and_tried_again(
    connect: Connect, endpoint: McpEndpoint
) -> None:
    async with FakeUpstream() as gone:
        url = f"{gone.origin}/mcp"
    client = connect(f'[mcp.fake]\nurl = "{url}"\n')
    for _ in range(6):
        async with client.turn("fake/*") as turn:
            assert "cannot be reached" in turn.warnings[0]
    await client.reconfigure(make_config(endpoint))

    assert not (await client.call("fake__echo")).is_error


async def test_a_broken_answer_fails_only_its_own_call(connect: Connect, endpoint: McpEndpoint) -> None:
    client = connect(make_config(endpoint))
    gate = Gate()
    endpoint.on_call = lambda name, arguments, request: (
        hold(gate) if name == "wait" else text(json.dumps(arguments))
    )
    async with client.turn("fake/*") as turn:
        other = turn.start("fake__wait")
        await endpoint.upstream.wait_for_request(len(endpoint.upstream.requests) + 1)
        for broken in (
            Reply.json(text("x")).reset_after(0),
            Reply.json({"jsonrpc": "2.0"}).close_after(10),
            Reply.events([b": hello\n\n"]).reset_after(4),
            Reply.raw(b"Oops", 500),
        ):
            endpoint.upstream.script(broken)
            assert (await turn.call("fake__echo")).is_error
            assert not other.done()
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'
        other.cancel()
        await asyncio.wait([other])

    assert endpoint.methods.count("initialize") == 1
    # None of the calls that broke was sent again.
    assert endpoint.methods.count("tools/call") == 6


async def test_a_forgotten_session_fails_one_call_and_is_opened_again(
    connect: Connect, endpoint: McpEndpoint
) -> None:
    client = connect(make_config(endpoint))
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        endpoint.forget_sessions()
        assert (await turn.call("fake__echo")).is_error
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'

    assert endpoint.methods.count("initialize") == 2


async def test_a_cancelled_call_is_cancelled_at_the_server(connect: Connect, endpoint: McpEndpoint) -> None:
    client = connect(make_config(endpoint))
    endpoint.on_call = lambda name, arguments, request: hold(Gate())
    async with client.turn("fake/*") as turn:
        before = len(endpoint.upstream.requests)
        call = turn.start("fake__wait")
        await endpoint.upstream.wait_for_request(before + 1)
        call.cancel()
        await asyncio.wait([call])
        cancelled = await endpoint.upstream.wait_for_request(before + 2)

    assert cancelled.json["method"] == "notifications/cancelled"


async def test_a_proxy_of_the_configuration_is_used(connect: Connect, endpoint: McpEndpoint) -> None:
    config = f'[mcp.fake]\nurl = "https://mcp.example/mcp"\nproxy = "{endpoint.upstream.origin}"\n'
    client = connect(config)
    async with client.turn("fake/*") as turn:
        assert "proxy" in turn.warnings[0]

    request = endpoint.upstream.requests[0]
    assert (request.method, request.headers["host"]) == ("CONNECT", "mcp.example:443")


@pytest.mark.requirement("12:mcp-bad-servers")
async def test_a_message_beyond_the_limits_fails_its_call(connect: Connect, endpoint: McpEndpoint) -> None:
    client = connect(make_config(endpoint))
    results = iter(
        [text("x" * 17_000_000), {"content": [], "structuredContent": {"a": [1] * 500_000}}, text("ok")]
    )
    endpoint.on_call = lambda name, arguments, request: next(results)
    async with client.turn("fake/*") as turn:
        assert (await turn.call("fake__echo")).is_error
        assert (await turn.call("fake__echo")).is_error
        assert (await turn.call("fake__echo")).text == "ok"
