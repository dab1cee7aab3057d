"""The short-lived Copilot token: its exchange (`GET /copilot_internal/v2/token`) and its lifetime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jumpseat.adapters.github.account import ask_github
from jumpseat.adapters.github.errors import exchange_error, not_json_error
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.dialects.loose_values import number_in
from jumpseat.http import HttpAnswer, HttpClient
from jumpseat.http.failures import parse_date
from jumpseat.system.clock import Clock
from jumpseat.system.secrets import Secret, register_secret

MARGIN_SECONDS = 300.0
"""A token is replaced this long before it expires, because a chat that starts now may run for minutes."""

JITTER_SECONDS = 60.0
"""The maximum of a random addition to the margin, so that daemons replace tokens at different times."""

GRACE_SECONDS = 60.0
"""The time by which a token is assumed to outlive `refresh_in`, as in GitHub's own client."""

MAX_LIFE_SECONDS = 24 * 3600.0
DEFAULT_LIFE_SECONDS = 600.0
"""The lifetime that is assumed if the response does not state a plausible one."""

CLOCK_SLACK_SECONDS = 5.0
"""The time by which the wall clock may be set back without making a token invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotToken:
    """A token and its times, in seconds since 1970 by this machine's clock."""

    secret: Secret
    data_host: str
    """The base URL of the data plane for this token. Another data host answers 421."""

    obtained_at: float
    refresh_at: float
    """The time from which a new token is requested, while this one is still used."""

    expires_at: float
    sku: str | None = None
    chat_enabled: bool | None = None
    clock_offset: float
    """The difference between the wall clock and the monotonic clock when this process received the token."""

    replaced_at: float | None = None
    """The time at which a daemon of this machine last replaced a refused token."""

    def is_valid(self, clock: Clock, *, until: float) -> bool:
        """Whether the time `until` is still in the future.

        False if the token seems to come from the future, because the clock was set back.
        """
        now = clock.now()
        # Check both clocks: the wall clock may have been set, and the monotonic clock may stop during sleep.
        latest = max(now, clock.monotonic() + self.clock_offset)
        return self.obtained_at - CLOCK_SLACK_SECONDS <= now and latest < until

    def is_same(self, other: CopilotToken) -> bool:
        """Whether both have the same secret."""
        return self.secret.reveal() == other.secret.reveal()


async def exchange(
    http: HttpClient,
    hosts: GitHubHosts,
    github_token: Secret,
    *,
    source: str,
    headers: Mapping[str, str],
    clock: Clock,
    jitter: float,
) -> CopilotToken:
    """Exchange a GitHub token for a Copilot token, without retries.

    Args:
        http: the client to send the request with.
        hosts: the hosts to ask.
        github_token: the long-lived token.
        source: the source of the sign-in, for error messages.
        headers: the identity of the client: `editor-version` and similar.
        clock: the source of the wall-clock time.
        jitter: the part of `JITTER_SECONDS` to add to the margin, from 0 to 1.

    Raises:
        ExchangeClosedError: the exchange does not accept this kind of token.
        ChatError: GitHub refused (see `exchange_error`) or cannot be reached.
    """
    url = f"{hosts.api}/copilot_internal/v2/token"
    answer = await ask_github(http, hosts, url, github_token, headers)
    if answer.status >= 400:
        raise exchange_error(answer, hosts, url=url, source=source)
    return read_token(answer, hosts, clock, jitter=jitter)


def read_token(answer: HttpAnswer, hosts: GitHubHosts, clock: Clock, *, jitter: float = 0.0) -> CopilotToken:
    """Read the token from a response with status 200.

    Raises:
        ProtocolError: the response has no token.
        ConfigError: the response names a data host that does not belong to this GitHub instance.
    """
    try:
        body = answer.json()
    except ValueError:
        raise not_json_error(hosts) from None
    token = body.get("token") if isinstance(body, dict) else None
    if not (isinstance(token, str) and 0 < len(token) <= 16_384 and token.isascii() and token.isprintable()):
        raise not_json_error(hosts)
    endpoints = body.get("endpoints")
    sku, chat = body.get("sku"), body.get("chat_enabled")
    now = clock.now()
    life = _read_lifetime(body, answer, now)
    # A token with a short life is refreshed after half its life. If the whole margin were subtracted,
    # `refresh_at` could already be past, and every call would request a new token.
    refresh_in = max(life - MARGIN_SECONDS - jitter * JITTER_SECONDS, life / 2)
    return CopilotToken(
        secret=register_secret(token, short_lived=True),
        data_host=hosts.data_host(endpoints.get("api") if isinstance(endpoints, dict) else None),
        obtained_at=now,
        refresh_at=now + refresh_in,
        expires_at=now + life,
        sku=sku if isinstance(sku, str) else None,
        chat_enabled=chat if isinstance(chat, bool) else None,
        clock_offset=now - clock.monotonic(),
    )


def _read_lifetime(body: Mapping[str, Any], answer: HttpAnswer, now: float) -> float:
    """Return the seconds until the token expires."""
    # This machine's clock may be wrong by hours, so measure `expires_at` against the response's `Date`.
    # Without a `Date`, use only `refresh_in`, which needs no clock; if that is missing too, trust this
    # machine's clock. If two lifetimes are known, the shorter one counts.
    refresh_in, expires_at = number_in(body.get("refresh_in")), number_in(body.get("expires_at"))
    server_date = parse_date(answer.headers.get("date", ""))
    server_now = None if server_date is None else server_date.timestamp()
    lives = [refresh_in + GRACE_SECONDS] if refresh_in and refresh_in > 0 else []
    if expires_at and (server_now is not None or not lives):
        lives.append(expires_at - (server_now if server_now is not None else now))
    # Ignore a lifetime that is not positive, because a new token cannot have expired already. Otherwise every
    # call would request another token.
    positive = [life for life in lives if life > 0]
    return min(min(positive, default=DEFAULT_LIFE_SECONDS), MAX_LIFE_SECONDS)
