"""The tokens of servers with OAuth: the requests that contain them, their refreshes, and their secrecy."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from jumpseat.chat import AuthenticationError
from jumpseat.system.secrets import redact
from jumpseat.testing.upstream import FakeUpstream, Reply
from jumpseat.tools.mcp.stored_sign_ins import SignInStore
from tests.fakes.mcp_http import PATH, AuthorizationServer, McpEndpoint
from tests.unit.tools.mcp.clients import Client
from tests.unit.tools.mcp.sign_ins import Connect, Person, make_config

pytestmark = pytest.mark.requirement("12:mcp-oauth")
SECRET = "five-six-seven-eight"


async def test_a_token_is_sent_only_to_its_server(
    client: Client, authorization: AuthorizationServer, connect: Connect
) -> None:
    await Person(authorization).sign_in(client)
    async with FakeUpstream() as upstream:
        other = McpEndpoint(upstream)
        endpoint = authorization.endpoint
        endpoint.upstream.default(Reply.raw(b"", 307, location=other.url), PATH)
        async with client.turn("fake/*") as turn:
            assert "fake cannot be used" in turn.warnings[0]
        assert upstream.accepted == 0
        endpoint.upstream.default(endpoint.answer, PATH)
        # A server with the same name and another URL does not receive the token,
        # and neither does a server with another name and the same URL.
        await client.reconfigure(make_config(other))
        assert not (await client.call("fake__echo")).is_error
        assert "tools/call" in other.methods
        await client.reconfigure(make_config(endpoint, more='headers = { authorization = "Bearer x" }\n'))
        async with client.turn("fake/*") as turn:
            assert turn.warnings == ["The server fake refuses the credential in mcp.fake.headers."]
        await client.reconfigure(make_config(authorization.endpoint, "second"))
        async with client.turn("second/*") as turn:
            assert turn.warnings == ["The server second needs a sign-in."]

        assert all("authorization" not in request.headers for request in upstream.requests)
    assert all("authorization" not in request.headers for request in authorization.upstream.requests)


async def test_an_expired_token_is_refreshed_even_after_a_restart(
    client: Client, authorization: AuthorizationServer, connect: Connect, home: Path
) -> None:
    authorization.expires_in = -5
    await Person(authorization).sign_in(client)
    authorization.expires_in = 3600
    await client.aclose()
    restarted = connect(make_config(authorization.endpoint), shared=None)
    before = len(authorization.upstream.requests)
    async with restarted.turn("fake/*") as turn:
        results = await asyncio.gather(*(turn.call("fake__echo") for _ in range(4)))

    assert not any(result.is_error for result in results)
    (request,) = authorization.upstream.requests[before:]
    assert (request.path, dict(parse_qsl(request.body.decode()))["grant_type"]) == ("/token", "refresh_token")
    assert (await restarted.host.servers["fake"].read_sign_in()).state == "signed_in"
    await restarted.aclose()


async def test_a_token_that_was_revoked_during_a_turn_is_refreshed(
    client: Client, authorization: AuthorizationServer
) -> None:
    await Person(authorization).sign_in(client)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        authorization.revoke()
        results = await asyncio.gather(*(turn.call("fake__echo") for _ in range(5)))

    assert not any(result.is_error for result in results)
    assert authorization.refreshes == 1


@pytest.mark.parametrize("has_refresh_tokens", [True, False])
async def test_a_turn_never_asks_the_user_to_sign_in(
    client: Client, authorization: AuthorizationServer, has_refresh_tokens: bool
) -> None:
    authorization.has_refresh_tokens = has_refresh_tokens
    person = Person(authorization)
    await person.sign_in(client)
    before = len(authorization.upstream.requests)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        authorization.revoke()
        authorization.refresh_tokens.clear()
        result = await turn.call("fake__echo")
        assert (result.is_error, result.text) == (True, "The server fake needs a sign-in.")
        assert client.status("fake").state == "needs_sign_in"
        assert (await turn.call("fake__echo")).is_error

    sent = [request.path for request in authorization.upstream.requests[before:]]
    assert sent == ["/token"] * has_refresh_tokens
    assert len(person.pages) == 1
    assert (await client.host.servers["fake"].read_sign_in()).state == "expired"
    assert (await person.sign_in(client)).state == "signed_in"
    assert len(person.pages) == 2
    assert not (await client.call("fake__echo")).is_error


@pytest.mark.parametrize("status", [429, 503])
async def test_a_sign_in_survives_a_failure_of_the_authorization_server(
    client: Client, authorization: AuthorizationServer, status: int
) -> None:
    await Person(authorization).sign_in(client)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        authorization.revoke()
        authorization.upstream.script(Reply.json({"error": "temporarily_unavailable"}, status))
        assert (await turn.call("fake__echo")).is_error
        assert not (await turn.call("fake__echo")).is_error

    assert (await client.host.servers["fake"].read_sign_in()).state == "signed_in"


async def test_a_token_that_another_process_has_refreshed_is_used(
    client: Client, authorization: AuthorizationServer, connect: Connect
) -> None:
    await Person(authorization).sign_in(client)
    another = connect(make_config(authorization.endpoint), shared=None)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        authorization.revoke()
        assert not (await another.call("fake__echo")).is_error
        authorization.refresh_tokens.clear()
        assert not (await turn.call("fake__echo")).is_error

    assert authorization.refreshes == 1


async def test_tokens_do_not_appear_in_logs(
    client: Client, authorization: AuthorizationServer, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "jumpseat")
    person = Person(authorization)
    await person.sign_in(client)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        authorization.revoke()
        await turn.call("fake__echo")
        (token,) = authorization.tokens
        authorization.endpoint.on_call = lambda name, arguments, request: Reply.raw(token.encode(), 500)
        assert (await turn.call("fake__echo")).is_error

    assert "-token-" not in redact(caplog.text)
    assert "-token-" not in redact(" ".join([token, *authorization.refresh_tokens]))
    key = f"mcp:fake {authorization.endpoint.url}"
    assert "-token-" not in repr(SignInStore(client.environment.places).read(key))


async def test_a_token_does_not_appear_in_an_error(
    client: Client, authorization: AuthorizationServer
) -> None:
    for broken in ({"refresh_token": SECRET}, {"access_token": SECRET, "token_type": [SECRET]}, [SECRET]):
        authorization.upstream.script(Reply.json(broken), path="/token")
        with pytest.raises(AuthenticationError) as caught:
            await Person(authorization).sign_in(client)
        assert caught.value.message == (
            "The sign-in to fake has failed: the authorization server breaks the protocol."
        )
    authorization.upstream.script(Reply.json({"access_token": SECRET}), path="/token")
    with pytest.raises(AuthenticationError, match="refuses the token that it has asked for"):
        await Person(authorization).sign_in(client)
    assert (await client.host.servers["fake"].read_sign_in()).state == "expired"
    refusal = {"error": "invalid_grant", "error_description": "The code is too old."}
    authorization.upstream.script(Reply.json(refusal, 400), path="/token")
    with pytest.raises(AuthenticationError, match=r"refuses a token: The code is too old\.$"):
        await Person(authorization).sign_in(client)
