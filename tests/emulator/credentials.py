"""Tokens: the kinds of GitHub tokens, and the short-lived Copilot tokens that some can be exchanged for.

GitHub tokens have the prefixes of the real ones. Copilot tokens follow the grammar of the token in the answer
of GET /copilot_internal/v2/token.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal

from tests.emulator.accounts import Account, Plan
from tests.emulator.clock import Clock

PLUGIN_APP = "Iv1.b507a08c87ecfe98"
"""The GitHub App "GitHub Copilot Plugin", with which most clients sign in."""
OPEN_SOURCE_OAUTH_APP = "Ov23li8tweQw6odWQebz"
CLI_OAUTH_APP = "178c6fc778ccc68e1d6a"

Kind = Literal["ghu", "gho", "github_pat", "ghp", "copilot"]


@dataclass(slots=True)
class Credential:
    """A token. `client_id` is None for personal access tokens, and `host` is set for Copilot tokens."""

    value: str
    kind: Kind
    account: Account
    client_id: str | None = None
    scope: str = ""
    host: str | None = None
    expires_at: float | None = None
    revoked: bool = False
    copilot_requests: bool = True
    """Whether a fine-grained personal access token has the permission "Copilot Requests"."""

    def __repr__(self) -> str:
        return f"Credential({self.kind}, {self.account.login})"


def kind_for(client_id: str) -> Kind:
    """Return the kind of a user token, which is ghu for GitHub Apps and gho for OAuth Apps."""
    return "ghu" if client_id.startswith("Iv") else "gho"


class Credentials:
    """The tokens issued so far. Tests may set the lifetimes and the lists of apps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_value: dict[str, Credential] = {}
        self.known_apps = {PLUGIN_APP, OPEN_SOURCE_OAUTH_APP, CLI_OAUTH_APP}
        self.exchange_apps = {PLUGIN_APP}
        """The apps whose tokens can be exchanged. For others, /copilot_internal/v2/token answers 404."""
        self.copilot_token_seconds = 1800.0
        self.refresh_in_seconds = 1500

    def issue(
        self,
        account: Account,
        *,
        client_id: str | None = PLUGIN_APP,
        kind: Kind | None = None,
        scope: str = "",
        copilot_requests: bool = True,
    ) -> Credential:
        """Issue a GitHub token. If `kind` is None, the app determines it."""
        kind = kind or kind_for(client_id or "")
        client_id = client_id if kind in ("ghu", "gho") else None
        body = secrets.token_hex(41) if kind == "github_pat" else secrets.token_hex(18)
        return self._add(
            Credential(f"{kind}_{body}", kind, account, client_id, scope, copilot_requests=copilot_requests)
        )

    def exchange(self, github: Credential, proxy_host: str) -> Credential:
        """Issue a Copilot token for the current plan of the account."""
        expires_at = self._clock.now() + self.copilot_token_seconds
        value = copilot_token(github.account, github.account.plan, int(expires_at), proxy_host)
        return self._add(
            Credential(
                value,
                "copilot",
                github.account,
                github.client_id,
                host=github.account.plan.host,
                expires_at=expires_at,
            )
        )

    def find(self, value: str) -> Credential | None:
        """Return the token with this value, even if it is no longer valid."""
        return self._by_value.get(value)

    def is_expired(self, credential: Credential) -> bool:
        return credential.expires_at is not None and credential.expires_at <= self._clock.now()

    def expire_copilot_tokens(self) -> None:
        for credential in self.all("copilot"):
            credential.expires_at = self._clock.now()

    def all(self, kind: Kind | None = None) -> list[Credential]:
        """Return the tokens of a kind, or all if it is None."""
        return [each for each in self._by_value.values() if kind in (None, each.kind)]

    def _add(self, credential: Credential) -> Credential:
        self._by_value[credential.value] = credential
        return credential


def copilot_token(account: Account, plan: Plan, expires_at: int, proxy_host: str) -> str:
    """Return `key=value` pairs joined by semicolons, then a colon and a MAC of 64 hexadecimal digits."""
    pairs = {
        "tid": account.tracking_id,
        **({} if plan.individual else {"ol": secrets.token_hex(16)}),
        "exp": expires_at,
        "sku": plan.sku,
        "proxy-ep": proxy_host,
        "st": "dotcom",
        "ssc": 1,
        "chat": int(account.chat_enabled),
        "sn": 1,
        "malfil": 1,
        "editor_preview_features": 1,
        "ccr": 1,
        "8kp": 1,
        "ip": "192.0.2.1",
        "asn": "AS64500",
    }
    return ";".join(f"{key}={value}" for key, value in pairs.items()) + f":{secrets.token_hex(32)}"
