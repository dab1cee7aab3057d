"""OAuth 2.0's device authorization grant (RFC 8628), as GitHub implements it.

Sends the requests and waits between them; the caller stores the token. The response formats come from
RFC 8628 section 3.5 and GitHub's page on the device flow. GitHub sends errors with status 200.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jumpseat
from jumpseat.adapters.base.account import SignInPrompt
from jumpseat.adapters.github.errors import not_json_error
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ConfigError,
    ConnectionError,
    ProtocolError,
    RateLimitError,
    ServerError,
)
from jumpseat.dialects.provider_errors import clean_message
from jumpseat.http import HttpAnswer, HttpCall, HttpClient, error_from_response, fetch
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.secrets import Secret, register_secret

DEFAULT_CLIENT_ID = "Iv1.b507a08c87ecfe98"
"""The GitHub App of GitHub's own plug-ins. Few other apps' tokens can be exchanged for Copilot tokens."""

SCOPE = "read:user"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"

DEFAULT_INTERVAL_SECONDS = 5.0
"""The default interval in RFC 8628 section 3.2."""

SHORTEST_INTERVAL_SECONDS = 1.0

SLOWER_BY_SECONDS = 5.0
"""The increase of the interval after a `slow_down` that does not name one (RFC 8628 section 3.5)."""

MARGIN = 1.2
"""The safety factor on the interval: each early poll makes GitHub add 5 s to it."""

DEFAULT_LIFETIME_SECONDS = 900.0
MAX_LIFETIME_SECONDS = 3600.0
MAX_PAUSE_SECONDS = 60.0
"""The longest pause after a failure, unless the interval or GitHub's `Retry-After` is longer."""

MAX_FAILURES_IN_A_ROW = 8
"""The number of consecutive failures that ends the polling. The pauses between them add up to minutes."""

REQUEST_SECONDS = 30.0

_USER_CODE = re.compile(r"[A-Za-z0-9-]{1,32}")
_TOKEN = re.compile(r"[\x21-\x7e]{4,4096}")


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A sign-in in progress: the prompt for the user and the code to poll with."""

    prompt: SignInPrompt
    code: Secret
    deadline: float = field(repr=False)
    """The expiry on the clock's monotonic scale."""


class DeviceFlow:
    """Signs users in to one GitHub instance. One object can run several flows."""

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        *,
        client_id: str = DEFAULT_CLIENT_ID,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """
        Args:
            http: the shared client.
            hosts: the hosts to sign in to.
            client_id: the OAuth or GitHub App that the user authorizes.
            clock: the clock to measure and wait with.
        """
        self._http = http
        self._hosts = hosts
        self._client_id = client_id
        self._clock = clock

    async def start(self) -> DeviceCode:
        """Request a device code.

        Raises:
            ConfigError: the host does not offer the device flow, or rejects the client id.
            ChatError: the request failed, or the response cannot be trusted.
        """
        started = self._clock.monotonic()
        answer = await self._post("/login/device/code", {"client_id": self._client_id, "scope": SCOPE})
        body = _fields(answer)
        error = body.get("error")
        if answer.status == 404 or error in ("device_flow_disabled", "incorrect_client_credentials"):
            raise self._not_offered_error(answer)
        if answer.status >= 400 or error is not None:
            raise self._failure_error(answer, body)
        device_code, user_code, page = (
            body.get(key) for key in ("device_code", "user_code", "verification_uri")
        )
        if not (isinstance(device_code, str) and _TOKEN.fullmatch(device_code)) or not (
            isinstance(user_code, str) and _USER_CODE.fullmatch(user_code)
        ):
            raise not_json_error(self._hosts)
        lifetime = min(_positive(body.get("expires_in"), DEFAULT_LIFETIME_SECONDS), MAX_LIFETIME_SECONDS)
        prompt = SignInPrompt(
            user_code=user_code,
            verification_uri=self._check_page(page),
            expires_at=datetime.fromtimestamp(self._clock.now() + lifetime, UTC),
            interval_seconds=_interval(body.get("interval")),
        )
        return DeviceCode(prompt, register_secret(device_code, short_lived=True), started + lifetime)

    async def wait(self, device: DeviceCode) -> Secret:
        """Poll until the user has signed in, and return the GitHub token.

        Raises:
            AuthenticationError: the user denied access, or the code expired.
            ChatError: GitHub refused for another reason, or stayed unreachable for too long.
        """
        interval = device.prompt.interval_seconds
        failures, retry_after = 0, 0.0
        while True:
            # RFC 8628 section 3.5 requires longer pauses after a failure.
            pause = min(interval * MARGIN * 2**failures, max(MAX_PAUSE_SECONDS, interval * MARGIN))
            pause = max(pause, retry_after)
            if self._clock.monotonic() + pause >= device.deadline:
                raise self._expired_error()
            await self._clock.sleep(pause)
            try:
                answer = await self._poll(device)
                if (failure := self._transient_failure(answer)) is not None:
                    raise failure
            except (ConnectionError, ProtocolError, ServerError, RateLimitError) as error:
                failures += 1
                if failures >= MAX_FAILURES_IN_A_ROW:
                    raise
                retry_after = error.retry_after or 0.0
                continue
            failures, retry_after = 0, 0.0
            body = _fields(answer)
            match body.get("error"):
                case None:
                    return self._read_token(answer, body)
                case "authorization_pending":
                    pass
                case "slow_down":
                    interval = max(interval, _positive(body.get("interval"), interval + SLOWER_BY_SECONDS))
                case "expired_token":
                    raise self._expired_error()
                case "access_denied":
                    raise AuthenticationError(
                        "The sign-in was refused on GitHub's page.",
                        provider=self._hosts.provider,
                        provider_code="access_denied",
                        hint=f"Run `{self._hosts.login_command}` again, and press Authorize on the page.",
                    )
                case _:
                    raise self._failure_error(answer, body)

    async def _poll(self, device: DeviceCode) -> HttpAnswer:
        fields = {
            "client_id": self._client_id,
            "device_code": device.code.reveal(),
            "grant_type": GRANT_TYPE,
        }
        return await self._post("/login/oauth/access_token", fields)

    async def _post(self, path: str, fields: Mapping[str, str]) -> HttpAnswer:
        call = HttpCall(
            "POST",
            f"{self._hosts.github}{path}",
            {"accept": "application/json", "user-agent": f"jumpseat/{jumpseat.__version__}"},
            dict(fields),
            timeout=REQUEST_SECONDS,
        )
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await fetch(self._http, call, provider=self._hosts.provider)
        except TimeoutError:
            raise ConnectionError(
                f"{self._hosts.authority} did not answer in {REQUEST_SECONDS:g} s.",
                provider=self._hosts.provider,
            ) from None

    def _transient_failure(self, answer: HttpAnswer) -> ChatError | None:
        """Return an error if the response is not about the sign-in, because GitHub or a proxy failed."""
        if answer.status == 429 or answer.status >= 500:
            return self._error_from_status(answer)
        body = _fields(answer)
        return None if "error" in body or "access_token" in body else not_json_error(self._hosts)

    def _read_token(self, answer: HttpAnswer, body: Mapping[str, Any]) -> Secret:
        token = body.get("access_token")
        if answer.status >= 400 or not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            raise not_json_error(self._hosts)
        return register_secret(token)

    def _check_page(self, page: object) -> str:
        """Return the sign-in page's URL if it is on the configured host.

        Raises:
            ProtocolError: the page is on another host.
        """
        # A page on another host could phish for the user's password.
        configured = urlsplit(self._hosts.github)
        allowed = {(configured.scheme, configured.netloc), ("https", self._hosts.authority)}
        try:
            parts = urlsplit(page) if isinstance(page, str) else None
        except ValueError:
            parts = None
        if (
            not isinstance(page, str)
            or parts is None
            or not re.fullmatch(r"[\x21-\x7e]{1,300}", page)
            or "\\" in page
            or (parts.scheme, parts.netloc.lower()) not in allowed
        ):
            raise ProtocolError(
                f"{self._hosts.authority} named a sign-in page on another host, so it is not shown.",
                provider=self._hosts.provider,
                hint="Check the network and the proxy before you sign in anywhere.",
            )
        return page

    def _expired_error(self) -> AuthenticationError:
        return AuthenticationError(
            "The sign-in was not finished before its code expired.",
            provider=self._hosts.provider,
            provider_code="expired_token",
            hint=f"Run `{self._hosts.login_command}` again.",
        )

    def _not_offered_error(self, answer: HttpAnswer) -> ConfigError:
        name = self._hosts.provider
        return ConfigError(
            f"{self._hosts.authority} does not offer this sign-in: it is not GitHub, does not know the "
            "client id, or has the device flow disabled.",
            provider=name,
            status_code=answer.status,
            hint=f"Check providers.{name}.host and providers.{name}.client_id.",
        )

    def _failure_error(self, answer: HttpAnswer, body: Mapping[str, Any]) -> ChatError:
        if answer.status >= 500 or answer.status == 429:
            return self._error_from_status(answer)
        code = body.get("error")
        words = body.get("error_description") or code
        reason = clean_message(words) if isinstance(words, str) else ""
        return AuthenticationError(
            f"{self._hosts.authority} refused the sign-in{': ' if reason else ''}{reason.rstrip('.')}.",
            provider=self._hosts.provider,
            status_code=answer.status if answer.status >= 400 else None,
            provider_code=code if isinstance(code, str) else None,
            hint=f"Run `{self._hosts.login_command}` again.",
        )

    def _error_from_status(self, answer: HttpAnswer) -> ChatError:
        return error_from_response(
            answer.status, answer.headers, answer.body, provider=self._hosts.provider, url=self._hosts.github
        )


def _fields(answer: HttpAnswer) -> dict[str, Any]:
    """Return the response's fields from JSON or form data; empty for anything else."""
    try:
        body = answer.json()
    except ValueError:
        # GitHub sends form data if a proxy drops the `Accept` header.
        text = answer.body[:16_384].decode("utf-8", "replace").strip()
        return dict(parse_qsl(text)) if re.fullmatch(r"[\w.~%+&=-]+", text) else {}
    return body if isinstance(body, dict) else {}


def _interval(value: object) -> float:
    # Never poll in a tight loop, even if the server sends 0.
    return SHORTEST_INTERVAL_SECONDS if value in (0, "0") else _positive(value, DEFAULT_INTERVAL_SECONDS)


def _positive(value: object, default: float) -> float:
    if isinstance(value, str) and re.fullmatch(r"\d{1,6}", value):
        value = int(value)  # Form data has no numbers.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6:
        return float(value)
    return default
