"""Adds the stored token to requests to a server, and refreshes the token. Imports the official SDK.

The SDK's own flow opens a browser as soon as a token is refused. That must never happen during a turn. Here,
the request fails instead, and the state of the server becomes `needs_sign_in`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, TypeVar

from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking
from jumpseat.tools.mcp.stored_sign_ins import ServerCredential, SignInStore

logger = logging.getLogger(__name__)

Model = TypeVar("Model", bound=BaseModel)

CLIENT_NAME = "jumpseat"

NO_REDIRECT = "http://127.0.0.1/callback"
"""A redirect URI that is never used. The SDK requires one, even if the user is never asked."""


class StoredCredentials:
    """The storage of one sign-in, with the interface that the SDK requires.

    Failures to read or store it are only logged.
    """

    context: OAuthContext
    """The state of the SDK's flow. The creator of this object sets it."""

    def __init__(self, key: str, store: SignInStore, redirect_uri: str | None = None) -> None:
        """
        Args:
            key: the key of the sign-in.
            store: the stored sign-ins.
            redirect_uri: the redirect URI that a registration must have; None if any URI will do.
        """
        self.store = store
        self._key = key
        self._redirect_uri = redirect_uri
        self._stored = ServerCredential()
        self._stamp: object = self  # No stamp of a file equals this object.

    async def sync(self) -> None:
        """If the file has changed, read the sign-in and copy it into the state of the flow."""
        try:
            is_new = await run_blocking(self._read)
        except StateError as error:
            logger.warning("a sign-in cannot be read: %s", error.message)
            self._stored, is_new = ServerCredential(), True
        if not is_new:
            return
        context = self.context
        context.current_tokens = await self.get_tokens()
        context.client_info = await self.get_client_info()
        context.token_expiry_time = self._stored.expires_at
        # Without this metadata, the SDK would send the refresh token to the host of the MCP server.
        context.oauth_metadata = _parse(OAuthMetadata, self._stored.authorization_server)
        context.protected_resource_metadata = _parse(ProtectedResourceMetadata, self._stored.resource)
        context.auth_server_url = self._stored.issuer

    def _read(self) -> bool:
        stamp = self.store.stamp()
        if stamp == self._stamp:
            return False
        self._stored = self.store.read(self._key) or ServerCredential()
        self._stamp = stamp
        return True

    async def discard_refused(self, access_token: str) -> None:
        """Remove the stored tokens with this access token, which is no longer accepted."""
        logger.info("the token of a server was refused")
        await self._change(self.store.discard_refused, self._key, access_token)

    async def forget_client(self) -> None:
        """Remove the current registration, which the authorization server may no longer know."""
        client, self.context.client_info = self.context.client_info, None
        if client is not None:
            logger.info("a registration with an authorization server is forgotten")
            await self._change(self.store.forget_client, client.client_id)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return _parse(OAuthToken, self._stored.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store new tokens with everything that is needed to refresh them."""
        context = self.context
        metadata = context.oauth_metadata
        self._stored = ServerCredential(
            tokens=_dump(tokens),
            expires_at=None if tokens.expires_in is None else time.time() + tokens.expires_in,
            issuer=str(metadata.issuer) if metadata is not None else context.auth_server_url,
            client=_dump(context.client_info),
            authorization_server=_dump(metadata),
            resource=_dump(context.protected_resource_metadata),
        )
        await self._change(self.store.write, self._key, self._stored)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the stored registration; None if it does not have the current redirect URI."""
        client = self._stored.client
        return _parse(OAuthClientInformationFull, client) if self.can_use(client) else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing: the registration is stored with the tokens."""

    def can_use(self, client: Mapping[str, Any] | None) -> bool:
        """Whether a registration has the current redirect URI, or any URI will do."""
        uris = (client or {}).get("redirect_uris")
        return self._redirect_uri is None or (isinstance(uris, list) and self._redirect_uri in uris)

    async def _change(self, change: Callable[..., None], *args: object) -> None:
        try:
            await run_blocking(change, *args)
        except StateError as error:
            logger.warning("a sign-in cannot be stored: %s", error.message)


class StoredAuth(OAuthClientProvider):
    """Adds the stored token to requests, and never asks the user."""

    def __init__(self, url: str, key: str, store: SignInStore) -> None:
        """
        Args:
            url: the URL of the server.
            key: the key of the sign-in.
            store: the stored sign-ins.
        """
        self._credentials = StoredCredentials(key, store)
        super().__init__(url, make_client_metadata(NO_REDIRECT), self._credentials)
        self._credentials.context = self.context
        self.has_sent_token = False
        """Whether a token was added to a request."""

        self._changing = asyncio.Lock()
        """Held while the token is read from the file or refreshed."""

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        """Add the token to a request. If the token has expired or is refused, refresh it."""
        async with self._changing:
            await self._credentials.sync()
        token = self._read_token()
        if token is None:
            yield request
            return
        if self.context.is_token_valid() or not self.context.can_refresh_token():
            # The SDK's flow would hold a lock until the response begins, so calls would wait for each other.
            self._add_token(request, token)
            response = yield request
            if response.status_code != 401:
                return
        async with self._changing:
            # Another call or process may have stored a newer token.
            await self._credentials.sync()
            if self._read_token() == token:
                if not self.context.can_refresh_token():
                    await self._credentials.discard_refused(token)
                    return
                # Let the token count as expired, so that the SDK's flow begins with a refresh.
                self.context.token_expiry_time = 1.0
                flow = super().async_auth_flow(request)
                try:
                    response = yield await anext(flow)
                    if response.status_code not in (200, 400, 401):
                        return  # The caller receives this response in place of the response to `request`.
                    await flow.asend(response)
                finally:
                    await flow.aclose()
                if self._read_token() is None:
                    await self._handle_refusal(response, token)
        token = self._read_token()
        self._add_token(request, token)
        response = yield request
        if response.status_code == 401 and token is not None:
            await self._credentials.discard_refused(token)

    def _read_token(self) -> str | None:
        tokens = self.context.current_tokens
        return tokens.access_token if tokens is not None else None

    def _add_token(self, request: Any, token: str | None) -> None:
        request.headers.pop("Authorization", None)
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
            self.has_sent_token = True

    async def _handle_refusal(self, response: Any, token: str) -> None:
        if await read_error(response) == "invalid_client":
            await self._credentials.forget_client()
        await self._credentials.discard_refused(token)
        # Another process may have refreshed the token at the same time.
        await self._credentials.sync()


def make_client_metadata(redirect_uri: str) -> OAuthClientMetadata:
    """Return the metadata for registering the daemon as a public client."""
    return OAuthClientMetadata(
        client_name=CLIENT_NAME,
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # noqa: S106 - not a secret
    )


async def read_error(response: Any, key: str = "error") -> str | None:
    """Return the code or the description of an authorization server's error (RFC 6749, section 5.2).

    Args:
        response: the response. Its body need not be JSON.
        key: `error` for the code, or `error_description`.
    """
    try:
        error = json.loads(await response.aread()).get(key)
    except (ValueError, AttributeError):
        return None
    return error if isinstance(error, str) else None


def _parse(model: type[Model], value: Mapping[str, Any] | None) -> Model | None:
    try:
        return None if value is None else model.model_validate(value)
    except ValidationError:
        return None


def _dump(value: BaseModel | None) -> Mapping[str, Any] | None:
    return None if value is None else value.model_dump(mode="json", exclude_none=True)
