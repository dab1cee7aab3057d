"""The short-lived Copilot token: asking GitHub for one, and what its answer says of how long it lives.

Owns `GET /copilot_internal/v2/token`. One attempt; when to ask is `copilot_tokens.py`'s business, above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat.adapters.github.account import ask_github
from jumpseat.adapters.github.errors import exchange_error, no_json
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import ConfigError
from jumpseat.http import HttpAnswer, HttpClient
from jumpseat.system.clock import Clock
from jumpseat.system.secrets import Secret, hidden

MARGIN_SECONDS = 300.0
"""A token is replaced so long before it expires: a chat that begins now may run for minutes."""

JITTER_SECONDS = 60.0
"""And up to so much earlier, at random, so that the daemons of one machine do not ask all at once."""

GRACE_SECONDS = 60.0
"""A token is good for a little longer than `refresh_in` says; GitHub's own client counts on as much."""

LONGEST_LIFE_SECONDS = 24 * 3600.0
LIFE_IF_UNSAID_SECONDS = 600.0
CLOCK_SLACK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotToken:
    """A token and its times, in seconds since 1970 by this machine's clock."""

    secret: Secret
    data_host: str
    """Base URL of the data plane that takes this token; another answers 421."""

    obtained_at: float
    refresh_at: float
    """From here on a new one is fetched, while this one still serves."""

    expires_at: float
    sku: str | None = None
    chat_enabled: bool | None = field(default=None)

    def is_fresh(self, now: float) -> bool:
        """Whether it can be used with nothing to do; not if it seems to come from the future."""
        return self.obtained_at - CLOCK_SLACK_SECONDS <= now < self.refresh_at

    def is_alive(self, now: float) -> bool:
        """Whether it can be used at all."""
        return self.obtained_at - CLOCK_SLACK_SECONDS <= now < self.expires_at

    def to_json(self) -> dict[str, Any]:
        """For the private file that daemons share."""
        return {
            "token": self.secret.reveal(),
            "data_host": self.data_host,
            "obtained_at": self.obtained_at,
            "refresh_at": self.refresh_at,
            "expires_at": self.expires_at,
            "sku": self.sku,
            "chat_enabled": self.chat_enabled,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], hosts: GitHubHosts) -> CopilotToken | None:
        """The token of such a file; None where it holds none that these hosts take."""
        token, told = content.get("token"), content.get("data_host")
        times = [content.get(key) for key in ("obtained_at", "refresh_at", "expires_at")]
        if not (isinstance(token, str) and token and isinstance(told, str)):
            return None
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in times):
            return None
        try:
            data_host = hosts.data_host(told)
        except ConfigError:
            return None
        obtained_at, refresh_at, expires_at = (float(each) for each in times if each is not None)
        sku, chat = content.get("sku"), content.get("chat_enabled")
        return cls(
            secret=hidden(token),
            data_host=data_host,
            obtained_at=obtained_at,
            refresh_at=refresh_at,
            expires_at=expires_at,
            sku=sku if isinstance(sku, str) else None,
            chat_enabled=chat if isinstance(chat, bool) else None,
        )


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
    """Exchange a GitHub token for a Copilot token. One attempt.

    Args:
        http: the shared client.
        hosts: whom to ask.
        github_token: the long-lived token.
        source: where the sign-in came from, for errors.
        headers: who asks: `editor-version` and its like.
        clock: its wall clock counts.
        jitter: from 0 to 1, how much of `JITTER_SECONDS` to take off.

    Raises:
        ExchangeClosedError: the exchange does not take this kind of token.
        ChatError: as `exchange_error` makes it, or GitHub cannot be reached.
    """
    url = f"{hosts.api}/copilot_internal/v2/token"
    answer = await ask_github(http, hosts, url, github_token, headers)
    if answer.status >= 400:
        raise exchange_error(answer, hosts, url=url, source=source)
    return read_token(answer, hosts, now=clock.now(), jitter=jitter)


def read_token(answer: HttpAnswer, hosts: GitHubHosts, *, now: float, jitter: float = 0.0) -> CopilotToken:
    """The token of an answer of 200.

    Raises:
        ProtocolError: there is none in it.
        ConfigError: it names a data host that is no part of this GitHub.
    """
    try:
        body = answer.json()
    except ValueError:
        raise no_json(hosts) from None
    token = body.get("token") if isinstance(body, dict) else None
    if not (isinstance(token, str) and 0 < len(token) <= 16_384 and token.isascii() and token.isprintable()):
        raise no_json(hosts)
    endpoints = body.get("endpoints")
    sku, chat = body.get("sku"), body.get("chat_enabled")
    life = _life(body, answer, now)
    # A token that lives shortly is not replaced at once, or every call would fetch one.
    refresh_in = max(life - MARGIN_SECONDS - jitter * JITTER_SECONDS, life / 2)
    return CopilotToken(
        secret=hidden(token),
        data_host=hosts.data_host(endpoints.get("api") if isinstance(endpoints, dict) else None),
        obtained_at=now,
        refresh_at=now + refresh_in,
        expires_at=now + life,
        sku=sku if isinstance(sku, str) else None,
        chat_enabled=chat if isinstance(chat, bool) else None,
    )


def _life(body: Mapping[str, Any], answer: HttpAnswer, now: float) -> float:
    """Seconds that a token lives from now on.

    This machine's clock may be wrong by hours, so `expires_at` is compared with the server's own time, and
    `refresh_in`, which needs no clock, wins where that is not told. A token that has just been given out and
    has expired by its own word is one whose word counts for nothing: else every request would fetch another.
    """
    refresh_in, expires_at = _seconds(body.get("refresh_in")), _seconds(body.get("expires_at"))
    server_now = _date(answer.headers.get("date"))
    lives = [refresh_in + GRACE_SECONDS] if refresh_in is not None else []
    if expires_at is not None and (server_now is not None or not lives):
        lives.append(expires_at - (server_now if server_now is not None else now))
    told = [life for life in lives if life > 0]
    return min(min(told, default=LIFE_IF_UNSAID_SECONDS), LONGEST_LIFE_SECONDS)


def _seconds(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
        return float(value)
    return None


def _date(value: str | None) -> float | None:
    from email.utils import parsedate_to_datetime  # Deferred: a heavy import for one header.

    try:
        return parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None
