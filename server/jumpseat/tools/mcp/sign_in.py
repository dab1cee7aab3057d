"""Signs the user in to a server with OAuth, in the browser. Imports the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult

import jumpseat
from jumpseat.chat import AuthenticationError, ChatError, ProtocolError, ServerError
from jumpseat.http import HttpClient
from jumpseat.http.library_client import Endpoint, make_answer, open_library_client
from jumpseat.http.redirect_receiver import RedirectReceiver
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import redact
from jumpseat.system.threads import run_blocking
from jumpseat.tools.mcp.definition import Remote
from jumpseat.tools.mcp.oauth import StoredCredentials, make_client_metadata, read_error
from jumpseat.tools.mcp.stored_sign_ins import SignInStore
from jumpseat.tools.server import SignInPage

SIGN_IN_SECONDS = 600.0
"""The time limit for the user to sign in."""

MAX_REASON = 300

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "jumpseat", "version": jumpseat.__version__},
    },
}
"""The first message of a connection. Without a token, a server that needs a sign-in refuses this message."""

HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}

OnPage = Callable[[SignInPage], None]


async def sign_in(
    name: str, remote: Remote, environment: Environment, store: SignInStore, on_page: OnPage
) -> bool:
    """Sign in to a server, unless it accepts the stored token.

    Args:
        name: the name of the server, for messages.
        remote: the server.
        environment: the client's environment.
        store: receives the tokens.
        on_page: called with the page on which the user signs in; called again, with another page, if the
            authorization server has forgotten the daemon's registration.

    Returns:
        Whether the server needs a sign-in.

    Raises:
        ChatError: the sign-in failed, was refused, or took too long.
        StateError: the stored sign-ins cannot be used.
    """
    earlier = await run_blocking(store.find_redirect_uri)
    http = HttpClient(remote.provider, remote.table, shared=environment.shared)
    try:
        async with (
            asyncio.timeout(SIGN_IN_SECONDS),
            RedirectReceiver(urlsplit(earlier).port if earlier else None) as receiver,
        ):
            try:
                return await _attempt(_InteractiveAuth(name, remote, store, receiver, on_page), http)
            except _UnknownClientError:  # Try once more, with a new registration.
                return await _attempt(_InteractiveAuth(name, remote, store, receiver, on_page), http)
    except TimeoutError:
        raise AuthenticationError(
            f"Nobody has signed in to {name} within {SIGN_IN_SECONDS / 60:g} minutes.",
            provider=remote.provider,
        ) from None
    finally:
        await http.aclose()


class _UnknownClientError(AuthenticationError):
    """The authorization server does not know the registration, which has been removed from the store."""


async def _attempt(auth: _InteractiveAuth, http: HttpClient) -> bool:
    try:
        return await auth.reach_server(http)
    except (OAuthFlowError, OAuthRegistrationError, OAuthTokenError, UnicodeError) as error:
        raise auth.convert_error(error) from None
    finally:
        await auth.end()


class _InteractiveAuth(OAuthClientProvider):
    """The SDK's flow, which asks the user."""

    def __init__(
        self, name: str, remote: Remote, store: SignInStore, receiver: RedirectReceiver, on_page: OnPage
    ) -> None:
        self._name = name
        self._remote = remote
        self._receiver = receiver
        self._on_page = on_page
        self._state = ""
        """The parameter `state` of the page that was shown last. The redirect must have the same value."""

        self._has_unknown_client = False
        """Whether the authorization server no longer knows the registration."""

        self._failure: ChatError | None = None
        self._refusal: str | None = None
        """Why the authorization server refused the last request, as a clause; None if it did not."""

        self._is_unproven = False
        """Whether the page uses a stored registration, and the browser has not been redirected back yet."""

        self._credentials = StoredCredentials(remote.sign_in_key, store, receiver.url)
        super().__init__(
            remote.url,
            make_client_metadata(receiver.url),
            self._credentials,
            redirect_handler=self._show_page,
            callback_handler=self._wait_for_redirect,
        )
        self._credentials.context = self.context
        self._has_registered = False
        """Whether this sign-in has requested a new registration."""

    async def reach_server(self, http: HttpClient) -> bool:
        """Send a request, which starts the sign-in if the server needs one.

        Returns:
            Whether the server needs a sign-in.

        Raises:
            ChatError: the server cannot be reached, or refuses the new token.
        """
        remote = self._remote
        endpoint = Endpoint(
            url=remote.url, map_message=lambda message: message, make_failure=self._note_failure
        )
        async with (
            open_library_client(http, remote.provider, endpoint, headers=remote.headers, auth=self) as client,
            client.stream("POST", remote.url, json=HELLO, headers=HEADERS) as response,
        ):
            status = response.status_code
        tokens = self.context.current_tokens
        if status == 401:
            if tokens is not None:
                await self._credentials.discard_refused(tokens.access_token)
            raise AuthenticationError(
                f"The server {self._name} refuses the token that it has asked for.", provider=remote.provider
            )
        if status >= 500 and tokens is None:
            raise ServerError(
                f"The server {self._name} has failed (HTTP {status}).", provider=remote.provider
            )
        return tokens is not None

    def _note_failure(self, error: ChatError) -> dict[str, Any]:
        """Remember why a request has failed. The failure ends the sign-in."""
        self._failure = error
        return {}

    def convert_error(self, error: Exception) -> ChatError:
        """Return our error for an error of the SDK, whose message may contain a part of a token."""
        why = self._refusal
        if why is None and type(error) is OAuthFlowError:
            why = " ".join(str(error).split())
        why = redact(why or "the authorization server breaks the protocol")[:MAX_REASON].rstrip(".")
        kind = _UnknownClientError if self._has_unknown_client else AuthenticationError
        return kind(f"The sign-in to {self._name} has failed: {why}.", provider=self._remote.provider)

    async def end(self) -> None:
        """Forget a stored registration that did not lead to a redirect.

        Perhaps the authorization server no longer knows it, and has only shown the user an error.
        """
        if self._is_unproven:
            await self._credentials.forget_client()

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        """Run the SDK's flow, with the stored registration for the issuer if there is one."""
        await self._credentials.sync()
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = await self._find_registration(outgoing)
                if response is None:
                    response = yield outgoing
                if self._failure is not None:
                    raise self._failure
                await self._check_answer(outgoing, response)
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _find_registration(self, request: Any) -> Any:
        """If the request asks for a registration, return a response with the stored registration.

        Returns:
            None for other requests, and if no suitable registration is stored.
        """
        metadata = self.context.oauth_metadata
        if metadata is None or str(request.url) != str(metadata.registration_endpoint):
            return None
        known = await run_blocking(self._credentials.store.find_client, str(metadata.issuer))
        if known is not None and self._credentials.can_use(known):
            return make_answer(request, 201, known)
        self._has_registered = True
        return None

    async def _check_answer(self, request: Any, response: Any) -> None:
        """Remember why the authorization server refuses a registration or a token, if it does."""
        self._refusal = None
        if request.method != "POST" or str(request.url) == self._remote.url or response.status_code < 400:
            return
        code = await read_error(response)
        what = "registration" if self.context.client_info is None else "token"
        why = await read_error(response, "error_description") or code or f"HTTP {response.status_code}"
        self._refusal = f"the authorization server refuses a {what}: {why}"
        if code == "invalid_client":
            self._has_unknown_client = True
            await self._credentials.forget_client()

    async def _show_page(self, url: str) -> None:
        self._check_page(url)
        self._state = dict(parse_qsl(urlsplit(url).query)).get("state", "")
        self._is_unproven = not self._has_registered
        expires_at = datetime.now(UTC) + timedelta(seconds=SIGN_IN_SECONDS)
        self._on_page(SignInPage(url, urlsplit(url).netloc, expires_at))

    def _check_page(self, url: str) -> None:
        """Check that the page has the issuer's scheme and host.

        The daemon sends requests to an issuer only over https or to a loopback address. So a page that passes
        this check is not loaded over plain http from another machine.

        Raises:
            ProtocolError: the page is on another host, or has another scheme.
        """
        metadata = self.context.oauth_metadata
        page, own = urlsplit(url), urlsplit(str(metadata.issuer) if metadata else self._remote.url)
        if (page.scheme, page.netloc) != (own.scheme, own.netloc):
            raise ProtocolError(
                f"The page for the sign-in to {self._name} begins with {page.scheme}://{page.netloc}, "
                f"but must begin with {own.scheme}://{own.netloc}.",
                provider=self._remote.provider,
            )

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        parameters = await self._receiver.wait(self._state)
        self._is_unproven = False
        if "error" in parameters:
            why = parameters.get("error_description") or parameters["error"]
            raise AuthenticationError(
                f"The sign-in to {self._name} was refused: {redact(why)[:MAX_REASON]}.",
                provider=self._remote.provider,
            )
        return AuthorizationCodeResult(
            code=parameters.get("code", ""), state=parameters.get("state"), iss=parameters.get("iss")
        )
