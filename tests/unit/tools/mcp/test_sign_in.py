"""Signing in to servers with OAuth: the browser, the stored tokens, and what turns do with them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.error
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from jumpseat.chat import (
    AuthenticationError,
    ConfigError,
    ConnectionError,
    ProtocolError,
    RequestError,
    ServerError,
)
from jumpseat.system.secrets import redact
from jumpseat.testing.upstream import FakeUpstream, Reply
from jumpseat.tools.mcp.stored_sign_ins import SignInStore
from jumpseat.tools.server import ServerSignIn, SignInPage
from tests.fakes.mcp_http import PATH, AuthorizationServer, McpEndpoint, visit
from tests.unit.tools.mcp.clients import Client

Connect = Callable[..., Client]

pytestmark = pytest.mark.requirement("12:mcp-oauth")


@pytest.fixture
async def authorization() -> AsyncIterator[AuthorizationServer]:
    """An authorization server with its tool server."""
    async with FakeUpstream() as upstream, FakeUpstream() as other:
        yield AuthorizationServer(upstream, McpEndpoint(other))


@pytest.fixture
def client(connect: Connect, authorization: AuthorizationServer) -> Client:
    """A client with the server `fake`, all of whose tools are allowed."""
    return connect(table(authorization.endpoint))


def table(endpoint: McpEndpoint, name: str = "fake", more: str = "") -> str:
    return f'[tools]\nallow = ["fake/*", "second/*"]\n[mcp.{name}]\nurl = "{endpoint.url}"\n{more}'


def stored_file(home: Path) -> Path:
    return home / "auth" / "mcp_sign_ins.json"


SECRET = "five-six-seven-eight"


def read_query(page: SignInPage) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(page.verification_uri).query))


class Person:
    """The user, who signs in on each page."""

    def __init__(self, authorization: AuthorizationServer) -> None:
        self.authorization = authorization
        self.pages: list[SignInPage] = []
        self.shown: list[tuple[int, str]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def see(self, page: SignInPage) -> None:
        self.pages.append(page)
        self._tasks.append(asyncio.ensure_future(self._approve(page)))

    async def _approve(self, page: SignInPage) -> None:
        self.shown.append(await visit(self.authorization.approve(page.verification_uri)))

    async def sign_in(self, client: Client, name: str = "fake") -> ServerSignIn:
        """Sign in to a server."""
        async with asyncio.timeout(30):
            state = await client.host.servers[name].sign_in(self.see)
            await asyncio.gather(*self._tasks)
        return state


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
        # Another URL of the same name receives nothing, and neither does another name with the same URL.
        await client.reconfigure(table(other))
        assert not (await client.call("fake__echo")).is_error
        assert "tools/call" in other.methods
        await client.reconfigure(table(endpoint, more='headers = { authorization = "Bearer x" }\n'))
        async with client.turn("fake/*") as turn:
            assert turn.warnings == ["The server fake refuses the credential in mcp.fake.headers."]
        await client.reconfigure(table(authorization.endpoint, "second"))
        async with client.turn("second/*") as turn:
            assert turn.warnings == ["The server second needs a sign-in."]

        assert all("authorization" not in request.headers for request in upstream.requests)
    assert all("authorization" not in request.headers for request in authorization.upstream.requests)


async def test_an_expired_token_is_refreshed_also_after_a_restart(
    client: Client, authorization: AuthorizationServer, connect: Connect, home: Path
) -> None:
    authorization.expires_in = -5
    await Person(authorization).sign_in(client)
    authorization.expires_in = 3600
    await client.aclose()
    restarted = connect(table(authorization.endpoint), shared=None)
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
async def test_a_turn_never_asks_the_user(
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


async def test_a_registration_is_used_for_all_servers_of_an_issuer(
    client: Client, authorization: AuthorizationServer
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    async with FakeUpstream() as upstream:
        second = McpEndpoint(upstream)
        authorization.protect(second)
        await client.reconfigure(table(second, "second"))
        await person.sign_in(client, "second")
        assert not (await client.call("second__echo")).is_error
        await client.host.servers["second"].sign_out()
        await client.reconfigure(table(authorization.endpoint))
        assert not (await client.call("fake__echo")).is_error

    assert authorization.registrations == 1
    assert len({read_query(page)["redirect_uri"] for page in person.pages}) == 1


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
        pages.set_result(page)

    foreign: list[str] = []
    pages: asyncio.Future[SignInPage] = asyncio.get_running_loop().create_future()
    signing_in = asyncio.ensure_future(client.host.servers["fake"].sign_in(see))
    page = await pages
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


async def test_a_server_without_a_sign_in_needs_none(
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
    client = connect(table(authorization.endpoint, more='headers = { authorization = "Bearer x" }\n'))
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


async def test_signing_out_forgets_everything(
    client: Client, authorization: AuthorizationServer, home: Path
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    copy = stored_file(home).with_name("mcp_sign_ins.json.broken-1")
    copy.write_bytes(stored_file(home).read_bytes())
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        assert (await client.host.servers["fake"].sign_out()) == ServerSignIn("signed_out")
        assert client.status("fake").state == "stopped"
        assert (await turn.call("fake__echo")).text == "The server fake needs a sign-in."

    content = b"".join(path.read_bytes() for path in stored_file(home).parent.iterdir() if path.is_file())
    assert not any(word in content for word in (b"-token-", b"client-"))
    await person.sign_in(client)
    assert authorization.registrations == 2


async def test_a_copy_that_cannot_be_removed_is_named(
    client: Client, authorization: AuthorizationServer, home: Path
) -> None:
    await Person(authorization).sign_in(client)
    stored_file(home).with_name(".mcp_sign_ins.json.left").mkdir()
    with pytest.raises(ConfigError, match=r"this file still has a copy: .*\.mcp_sign_ins\.json\.left"):
        await client.host.servers["fake"].sign_out()

    assert (await client.host.servers["fake"].read_sign_in()).state == "signed_out"


async def test_a_sign_out_in_another_process_ends_the_use_of_the_token(
    client: Client, authorization: AuthorizationServer, connect: Connect
) -> None:
    await Person(authorization).sign_in(client)
    another = connect(table(authorization.endpoint), shared=None)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        await another.host.servers["fake"].sign_out()
        assert (await turn.call("fake__echo")).text == "The server fake needs a sign-in."

    assert (await client.host.servers["fake"].read_sign_in()).state == "signed_out"


async def test_a_token_that_another_process_has_refreshed_is_used(
    client: Client, authorization: AuthorizationServer, connect: Connect
) -> None:
    await Person(authorization).sign_in(client)
    another = connect(table(authorization.endpoint), shared=None)
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
