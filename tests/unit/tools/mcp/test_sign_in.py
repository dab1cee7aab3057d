"""Signing in to servers with OAuth: the browser, registrations, and failures."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
from pathlib import Path
from urllib.parse import urlencode

import pytest

from jumpseat.chat import (
    AuthenticationError,
    ConfigError,
    ConnectionError,
    ProtocolError,
    RequestError,
    ServerError,
)
from jumpseat.testing.upstream import FakeUpstream, Reply
from jumpseat.tools.server import ServerSignIn, SignInPage
from tests.fakes.mcp_http import PATH, AuthorizationServer, McpEndpoint, visit
from tests.unit.tools.mcp.clients import Client
from tests.unit.tools.mcp.sign_ins import Connect, Person, make_config, read_query, stored_file

pytestmark = pytest.mark.requirement("12:mcp-oauth")


async def test_a_sign_in_lets_turns_use_the_server(
    client: Client, authorization: AuthorizationServer, home: Path
) -> None:
    async with client.turn("fake/*") as turn:
        assert turn.warnings == ["The server fake needs a sign-in."]
    assert client.status("fake").state == "needs_sign_in"
    assert await client.host.servers["fake"].read_sign_in() == ServerSignIn("signed_out")
    assert authorization.upstream.requests == []

    person = Person(authorization)
    state = await person.sign_in(client)

    host = authorization.upstream.origin.removeprefix("http://")
    assert (state.state, state.host) == ("signed_in", host)
    assert state.expires_at is not None
    assert 3500 < state.expires_at.timestamp() - time.time() < 3601
    (page,) = person.pages
    assert page.host == host
    ((status, shown),) = person.shown
    assert status == 200
    assert "You are signed in." in shown
    assert client.status("fake").state == "stopped"
    result = await client.call("fake__echo", a="b")
    assert json.loads(result.text) == {"a": "b"}
    assert len(person.pages) == 1
    assert stored_file(home).stat().st_mode & 0o077 == 0


async def test_a_registration_is_used_for_all_servers_of_an_issuer(
    client: Client, authorization: AuthorizationServer
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    async with FakeUpstream() as upstream:
        second = McpEndpoint(upstream)
        authorization.protect(second)
        await client.reconfigure(make_config(second, "second"))
        await person.sign_in(client, "second")
        assert not (await client.call("second__echo")).is_error
        await client.host.servers["second"].sign_out()
        await client.reconfigure(make_config(authorization.endpoint))
        assert not (await client.call("fake__echo")).is_error

    assert authorization.registrations == 1
    assert len({read_query(page)["redirect_uri"] for page in person.pages}) == 1


# `at` is the step at which the authorization server refuses the registration.
@pytest.mark.parametrize("at", ["exchange", "refresh"])
async def test_a_forgotten_registration_is_replaced(
    client: Client, authorization: AuthorizationServer, at: str
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    if at == "refresh":
        authorization.clients.clear()
        authorization.revoke()
        async with client.turn("fake/*") as turn:
            assert turn.warnings == ["The server fake needs a sign-in."]
    else:
        authorization.revoke()
        authorization.refresh_tokens.clear()
        async with client.turn("fake/*"):
            pass
        authorization.upstream.script(Reply.json({"error": "invalid_client"}, 401), path="/token")
    assert (await person.sign_in(client)).state == "signed_in"

    assert authorization.registrations == 2
    assert not (await client.call("fake__echo")).is_error


async def test_a_page_on_another_host_is_not_shown(
    client: Client, authorization: AuthorizationServer
) -> None:
    person = Person(authorization)
    for page in ("https://elsewhere.example/authorize", "http://elsewhere.example/authorize"):
        authorization.overrides = {"authorization_endpoint": page}
        with pytest.raises(
            ProtocolError, match=r"://elsewhere\.example, but must begin with http://127\.0\.0\.1"
        ):
            await person.sign_in(client)

    assert person.pages == []


async def test_an_authorization_server_over_plain_http_is_not_used(
    client: Client, authorization: AuthorizationServer
) -> None:
    metadata = authorization.endpoint.metadata or {}
    authorization.endpoint.metadata = {**metadata, "authorization_servers": ["http://elsewhere.example"]}
    with pytest.raises(ConfigError, match=r"elsewhere\.example:80 over plain http"):
        await Person(authorization).sign_in(client)


async def test_a_user_can_refuse(client: Client, authorization: AuthorizationServer) -> None:
    def refuse(page: SignInPage) -> None:
        asked = read_query(page)
        answer = urlencode({"error": "access_denied", "error_description": "No!", "state": asked["state"]})
        visits.append(asyncio.ensure_future(visit(f"{asked['redirect_uri']}?{answer}")))

    person = Person(authorization)
    await person.sign_in(client)
    await client.host.servers["fake"].restart()
    authorization.revoke()
    authorization.refresh_tokens.clear()
    visits: list[asyncio.Task[tuple[int, str]]] = []
    with pytest.raises(AuthenticationError, match=r"The sign-in to fake was refused: No!\."):
        await client.host.servers["fake"].sign_in(refuse)

    assert "The sign-in was refused." in (await visits[0])[1]
    await person.sign_in(client)
    assert authorization.registrations == 1


async def test_a_foreign_redirect_is_ignored(client: Client, authorization: AuthorizationServer) -> None:
    person = Person(authorization)

    def see(page: SignInPage) -> None:
        asked = read_query(page)
        redirect = asked["redirect_uri"]
        foreign.append(f"{redirect}?code=stolen&state=other")
        foreign.append(f"{redirect.removesuffix('/callback')}/other?state={asked['state']}")
        shown.set_result(page)

    foreign: list[str] = []
    shown: asyncio.Future[SignInPage] = asyncio.get_running_loop().create_future()
    signing_in = asyncio.ensure_future(client.host.servers["fake"].sign_in(see))
    page = await shown
    for url in foreign:
        assert (await visit(url))[0] == 404
    person.see(page)
    assert (await signing_in).state == "signed_in"


async def test_a_cancelled_sign_in_forgets_an_old_registration(
    client: Client, authorization: AuthorizationServer
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    authorization.revoke()
    authorization.refresh_tokens.clear()
    async with client.turn("fake/*"):
        pass
    shown: asyncio.Future[SignInPage] = asyncio.get_running_loop().create_future()
    signing_in = asyncio.ensure_future(client.host.servers["fake"].sign_in(shown.set_result))
    page = await shown
    signing_in.cancel()
    await asyncio.wait([signing_in])
    assert signing_in.cancelled()
    with pytest.raises(urllib.error.URLError):
        await visit(authorization.approve(page.verification_uri))
    assert authorization.registrations == 1
    await person.sign_in(client)

    assert authorization.registrations == 2


async def test_a_sign_in_has_a_time_limit(
    client: Client, authorization: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.host.servers["fake"].read_sign_in()
    monkeypatch.setattr("jumpseat.tools.mcp.sign_in.SIGN_IN_SECONDS", 0.5)
    with pytest.raises(AuthenticationError, match="Nobody has signed in to fake within"):
        await client.host.servers["fake"].sign_in(lambda page: None)


@pytest.mark.parametrize("path", ["/register", "/token", "/.well-known/oauth-authorization-server"])
async def test_a_failing_authorization_server_is_reported(
    client: Client, authorization: AuthorizationServer, path: str
) -> None:
    authorization.upstream.default(Reply.raw(b"\xff Oops", 500), path)
    with pytest.raises(AuthenticationError, match="The sign-in to fake has failed: "):
        await Person(authorization).sign_in(client)

    authorization.upstream.default(Reply.json({}).reset_after(0), path)
    with pytest.raises(ConnectionError):
        await Person(authorization).sign_in(client)


async def test_a_server_that_accepts_every_request_does_not_need_a_sign_in(
    client: Client, authorization: AuthorizationServer
) -> None:
    authorization.endpoint.valid_tokens = None
    person = Person(authorization)
    assert await person.sign_in(client) == ServerSignIn("not_required")
    assert person.pages == []
    await client.call("fake__echo")
    server = client.host.servers["fake"]
    assert await server.read_sign_in() == ServerSignIn("not_required")
    authorization.endpoint.upstream.default(Reply.raw(b"", 503), PATH)
    with pytest.raises(ServerError, match="The server fake has failed"):
        await server.sign_in(person.see)


async def test_a_configured_credential_excludes_a_sign_in(
    connect: Connect, authorization: AuthorizationServer
) -> None:
    client = connect(make_config(authorization.endpoint, more='headers = { authorization = "Bearer x" }\n'))
    server = client.host.servers["fake"]
    assert await server.read_sign_in() == ServerSignIn("configured")
    for work in (server.sign_in(lambda page: None), server.sign_out()):
        with pytest.raises(ConfigError, match="its credential is set in the configuration"):
            await work
    client = connect('[mcp.fake]\ncommand = ["none"]\n')
    server = client.host.servers["fake"]
    for state in (server.read_sign_in(), server.sign_in(lambda page: None), server.sign_out()):
        assert await state == ServerSignIn("not_required")


async def test_an_untrusted_server_is_not_signed_in_to(
    connect: Connect, authorization: AuthorizationServer, tmp_path: Path
) -> None:
    overlay = {"mcp": {"fake": {"url": authorization.endpoint.url}}}
    client = connect("", overlay=overlay, folder=tmp_path)
    with pytest.raises(RequestError, match="you have not trusted it"):
        await client.host.servers["fake"].sign_in(lambda page: None)

    assert authorization.endpoint.upstream.accepted == 0
