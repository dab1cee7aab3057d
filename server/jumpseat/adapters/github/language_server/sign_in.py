"""Signs the user in to a Copilot language server with the device flow.

The server runs the flow and stores the token; the client shows the code and the page to the user. Sources:
the server's README for `signIn`; version 1.539 for `signInWithDeviceFlow`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from jumpseat.adapters.base import OnPrompt
from jumpseat.adapters.base.account import SignInPrompt
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.language_server.errors import request_error
from jumpseat.adapters.github.language_server.server import ServerConnection
from jumpseat.chat import AuthenticationError, ConnectionError, ProtocolError
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

logger = logging.getLogger(__name__)

CODE_SECONDS = 60.0
"""The time limit for the code, which the server requests from GitHub."""

DEFAULT_LIFETIME_SECONDS = 900.0
MAX_LIFETIME_SECONDS = 3600.0
DEFAULT_INTERVAL_SECONDS = 5.0
"""The interval of RFC 8628 section 3.2, used if the server does not send one."""

MARGIN_SECONDS = 30.0
"""The delay with which the server may report an expired code: only its next poll reveals the expiry."""

_USER_CODE = re.compile(r"[A-Za-z0-9-]{1,32}")
_PAGE = re.compile(r"[\x21-\x7e]{1,300}")


class DeviceSignIn:
    """Runs one sign-in to one server."""

    def __init__(self, connection: ServerConnection, hosts: GitHubHosts, on_prompt: OnPrompt) -> None:
        """
        Args:
            connection: the running server.
            hosts: the hosts that the server signs in to.
            on_prompt: shows the code and the page to the user.
        """
        self._connection = connection
        self._hosts = hosts
        self._on_prompt = on_prompt
        self._code: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._is_shown = False

    def handle_notification(self, prompt: Mapping[str, Any]) -> None:
        """Handle `{userCode, verificationUri, expiresIn}`, the notification of newer servers."""
        # The code of a sign-in that was just cancelled may arrive first, so a later code replaces it.
        if not self._code.done():
            self._code.set_result(prompt)
        elif self._is_shown:
            try:
                self._show(prompt)
            except ProtocolError as error:
                logger.warning("the second code of a sign-in is not shown: %s", error.message)
        else:
            self._code = asyncio.get_running_loop().create_future()
            self._code.set_result(prompt)

    async def run(self) -> Any:
        """Wait until the user has signed in, and return the server's `{status, user?}`.

        Raises:
            AuthenticationError: the user refused, or took too long.
            ChatError: the server failed, or named a page that is not on the configured GitHub host.
        """
        try:
            try:
                return await self._sign_in_with_one_request()
            except RpcError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
            return await self._sign_in_with_two_requests()
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error

    async def _sign_in_with_one_request(self) -> Any:
        """Sign in to a newer server with one request, which can be cancelled.

        The server sends the code in a notification.
        """
        flow = asyncio.ensure_future(self._connection.request("signInWithDeviceFlow", {}, seconds=None))
        try:
            await asyncio.wait({flow, self._code}, timeout=CODE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if flow.done():
                return await flow  # The server is already signed in, or the request failed.
            if not self._code.done():
                raise ConnectionError(
                    f"The language server did not send a code for the sign-in within {CODE_SECONDS:g} s.",
                    provider=self._hosts.provider,
                )
            return await self._prompt_and_wait(self._code.result(), flow)
        finally:
            # `cancel` has no effect on a finished request.
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _sign_in_with_two_requests(self) -> Any:
        """Sign in to any server: request the code, then wait with a second request.

        Cancelling the second request does not end the server's polling.
        """
        prompt = await self._connection.request("signIn", {}, seconds=CODE_SECONDS)
        if not isinstance(prompt, Mapping) or prompt.get("status") != "PromptUserDeviceFlow":
            return prompt
        wait = self._connection.request("signInConfirm", {"userCode": prompt.get("userCode")}, seconds=None)
        flow = asyncio.ensure_future(wait)
        try:
            return await self._prompt_and_wait(prompt, flow)
        finally:
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _prompt_and_wait(self, prompt: Mapping[str, Any], flow: asyncio.Future[Any]) -> Any:
        """Show the code, and wait for the result until the code expires.

        Raises:
            RpcError: the user did not sign in.
            AuthenticationError: the code has expired.
            ProtocolError: there is no code, or the page is not on the configured GitHub host.
        """
        lifetime = self._show(prompt)
        try:
            async with asyncio.timeout(lifetime + MARGIN_SECONDS):
                return await flow
        except TimeoutError:
            raise AuthenticationError(
                "The sign-in was not finished before its code expired.",
                provider=self._hosts.provider,
                provider_code="expired_token",
                hint=f"Run `{self._hosts.login_command}` again.",
            ) from None

    def _show(self, prompt: Mapping[str, Any]) -> float:
        """Show the code and the page to the user, and return the code's lifetime in seconds.

        Raises:
            ProtocolError: there is no code, or the page is not on the configured GitHub host.
        """
        code, page = prompt.get("userCode"), prompt.get("verificationUri")
        if not (isinstance(code, str) and _USER_CODE.fullmatch(code)):
            raise ProtocolError(
                "The language server started a sign-in without a code.", provider=self._hosts.provider
            )
        lifetime = min(_positive(prompt.get("expiresIn"), DEFAULT_LIFETIME_SECONDS), MAX_LIFETIME_SECONDS)
        shown = SignInPrompt(
            user_code=code,
            verification_uri=self._check_page(page),
            expires_at=datetime.now(UTC) + timedelta(seconds=lifetime),
            interval_seconds=_positive(prompt.get("interval"), DEFAULT_INTERVAL_SECONDS),
        )
        self._on_prompt(shown)
        self._is_shown = True
        return lifetime

    def _check_page(self, page: Any) -> str:
        """Return the sign-in page's URL if it is on the configured host.

        Raises:
            ProtocolError: the page is on another host.
        """
        # A page on another host could phish for the user's password.
        configured = urlsplit(self._hosts.github)
        allowed = {(configured.scheme, configured.netloc), ("https", self._hosts.authority)}
        if isinstance(page, str) and _PAGE.fullmatch(page) and "\\" not in page:
            try:
                parts = urlsplit(page)
            except ValueError:
                parts = urlsplit("")
            if (parts.scheme, parts.netloc.lower()) in allowed:
                return page
        raise ProtocolError(
            f"The language server named a sign-in page that is not on {self._hosts.authority}, "
            "so it is not shown.",
            provider=self._hosts.provider,
            hint=f"If your company has its own GitHub, set providers.{self._hosts.provider}.host.",
        )


def _positive(value: Any, default: float) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6:
        return float(value)
    return default
