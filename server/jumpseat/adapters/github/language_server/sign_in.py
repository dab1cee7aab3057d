"""A sign-in to a Copilot language server by the device flow.

The server runs the flow and keeps the token. The user is shown the code, and the page if it is on the
configured GitHub. Source: the server's page for `signIn`; version 1.539 for `signInWithDeviceFlow`, the only
one that can be cancelled.
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
"""The server asks GitHub for the code, by the user's network."""

DEFAULT_LIFETIME_SECONDS = 900.0
LONGEST_LIFETIME_SECONDS = 3600.0
DEFAULT_INTERVAL_SECONDS = 5.0
"""RFC 8628 section 3.2, where the server names none."""

MARGIN_SECONDS = 30.0
"""The server notices by its own clock, and after its last poll, that a code has expired."""

_USER_CODE = re.compile(r"[A-Za-z0-9-]{1,32}")
_PAGE = re.compile(r"[\x21-\x7e]{1,300}")


class DeviceSignIn:
    """Runs one sign-in of one server."""

    def __init__(self, connection: ServerConnection, hosts: GitHubHosts, on_prompt: OnPrompt) -> None:
        """
        Args:
            connection: the running server.
            hosts: the GitHub that it signs in to.
            on_prompt: shows a person what to do.
        """
        self._connection = connection
        self._hosts = hosts
        self._on_prompt = on_prompt
        self._code: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._is_shown = False

    def notified(self, prompt: Mapping[str, Any]) -> None:
        """Take `{userCode, verificationUri, expiresIn}`, by which newer servers send the code.

        The code of a sign-in that was given up a moment ago may come before this one's: the last one counts.
        """
        if not self._code.done():
            self._code.set_result(prompt)
        elif self._is_shown:
            try:
                self._show(prompt)
            except ProtocolError as error:
                logger.warning("a second code to sign in with is not shown: %s", error.message)
        else:
            self._code = asyncio.get_running_loop().create_future()
            self._code.set_result(prompt)

    async def run(self) -> Any:
        """Wait until the person has signed in; cancelling gives it up. Gives the server's `{status, user?}`.

        Raises:
            AuthenticationError: they did not, or not in time.
            ChatError: the server failed, or named a page that is not the configured GitHub's.
        """
        try:
            try:
                return await self._in_one()
            except RpcError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
            return await self._in_two()
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error

    async def _in_one(self) -> Any:
        """As newer servers do it: one request, which tells its code on the way and can be taken back."""
        flow = asyncio.ensure_future(self._connection.request("signInWithDeviceFlow", {}, seconds=None))
        try:
            await asyncio.wait({flow, self._code}, timeout=CODE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if flow.done():
                return await flow  # The server is signed in already, or it failed.
            if not self._code.done():
                raise ConnectionError(
                    f"The language server gave no code to sign in with in {CODE_SECONDS:g} s.",
                    provider=self._hosts.provider,
                )
            return await self._prompted(self._code.result(), flow)
        finally:
            # This cancels the request if it is still pending.
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _in_two(self) -> Any:
        """As every server does it: a code, then the wait. The server goes on polling if that is given up."""
        prompt = await self._connection.request("signIn", {}, seconds=CODE_SECONDS)
        if not isinstance(prompt, Mapping) or prompt.get("status") != "PromptUserDeviceFlow":
            return prompt
        wait = self._connection.request("signInConfirm", {"userCode": prompt.get("userCode")}, seconds=None)
        flow = asyncio.ensure_future(wait)
        try:
            return await self._prompted(prompt, flow)
        finally:
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _prompted(self, prompt: Mapping[str, Any], flow: asyncio.Future[Any]) -> Any:
        """Show the code, and wait for what comes of it, no longer than the code lives.

        Raises:
            RpcError: the server says that they did not sign in.
            AuthenticationError: the code has expired.
            ProtocolError: there is no code, or a page that is not to be trusted.
        """
        lifetime = self._show(prompt)
        try:
            async with asyncio.timeout(lifetime + MARGIN_SECONDS):
                return await flow
        except TimeoutError:
            raise AuthenticationError(
                "The sign-in was not finished in time; its code has expired.",
                provider=self._hosts.provider,
                provider_code="expired_token",
                hint=f"Start again: `{self._hosts.login_command}`.",
            ) from None

    def _show(self, prompt: Mapping[str, Any]) -> float:
        """Show a person what to do; gives how long the code lives, in seconds.

        Raises:
            ProtocolError: there is no code, or a page that is not to be trusted.
        """
        code, page = prompt.get("userCode"), prompt.get("verificationUri")
        if not (isinstance(code, str) and _USER_CODE.fullmatch(code)):
            raise ProtocolError(
                "The language server began a sign-in without a code.", provider=self._hosts.provider
            )
        lifetime = min(_positive(prompt.get("expiresIn"), DEFAULT_LIFETIME_SECONDS), LONGEST_LIFETIME_SECONDS)
        shown = SignInPrompt(
            user_code=code,
            verification_uri=self._trusted(page),
            expires_at=datetime.now(UTC) + timedelta(seconds=lifetime),
            interval_seconds=_positive(prompt.get("interval"), DEFAULT_INTERVAL_SECONDS),
        )
        self._on_prompt(shown)
        self._is_shown = True
        return lifetime

    def _trusted(self, page: Any) -> str:
        """The page that the person is sent to, if it is on the configured host: phishing starts elsewhere."""
        moved = urlsplit(self._hosts.github)
        own = {(moved.scheme, moved.netloc), ("https", self._hosts.authority)}
        if isinstance(page, str) and _PAGE.fullmatch(page) and "\\" not in page:
            try:
                parts = urlsplit(page)
            except ValueError:
                parts = urlsplit("")
            if (parts.scheme, parts.netloc.lower()) in own:
                return page
        raise ProtocolError(
            f"The language server names a sign-in page that is not {self._hosts.authority}'s, "
            "so it is not shown.",
            provider=self._hosts.provider,
            hint=f"If your company has a GitHub of its own, name it: providers.{self._hosts.provider}.host.",
        )


def _positive(value: Any, default: float) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6:
        return float(value)
    return default
