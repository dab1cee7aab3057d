"""GitHub tokens, their sources, and the prefixes that determine which route to Copilot to try first.

Sources: GitHub's page on token formats; how the exchange and the data plane answer each kind of token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.adapters.github.hosts import login_command
from jumpseat.chat import AuthenticationError
from jumpseat.system.secrets import Secret

GENERAL_SOURCES = ("env:GH_TOKEN", "env:GITHUB_TOKEN", "gh")
"""The sources of tokens for GitHub in general. Users may not want to use such a token for Copilot."""

Route: TypeAlias = Literal["exchange", "direct"]
"""`exchange`: exchange the token for a short-lived one. `direct`: send the token itself to the data plane."""

_ROUTES: tuple[tuple[str, Route], ...] = (
    ("ghu_", "exchange"),  # Issued by a GitHub App for a user, as in editors' Copilot sign-ins.
    ("gho_", "direct"),  # Issued by an OAuth App such as `gh`; the exchange accepts few of them.
    ("github_pat_", "direct"),  # Fine-grained personal token, for which the exchange answers 403.
)
CLASSIC_PERSONAL = "ghp_"

_SENDABLE = re.compile(r"[\x21-\x7e]{1,4096}")


@dataclass(frozen=True, slots=True)
class SignIn:
    """A GitHub token and its source, as in `AuthStatus.source`."""

    token: Secret
    source: str
    login: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The source and the token, for comparison."""
        return self.source, self.token.reveal()

    @property
    def is_ours(self) -> bool:
        """Whether it comes from `jumpseat login`, so that a sign-out deletes it."""
        return self.source in ("keyring", "file")

    @property
    def is_for_copilot(self) -> bool:
        """Whether it is meant for Copilot, not for GitHub in general."""
        return self.source not in GENERAL_SOURCES


def routes_of(token: Secret) -> list[Route]:
    """Return the routes in the order to try them: `exchange` first for an unknown prefix."""
    text = token.reveal()
    first = next((route for prefix, route in _ROUTES if text.startswith(prefix)), "exchange")
    return ["exchange", "direct"] if first == "exchange" else ["direct", "exchange"]


def is_usable(token: Secret) -> bool:
    """Whether Copilot might accept the token; it never accepts classic personal access tokens."""
    text = token.reveal()
    return bool(_SENDABLE.fullmatch(text)) and not text.startswith(CLASSIC_PERSONAL)


def check_usable(token: Secret, *, provider: str, source: str) -> None:
    """Check, before a token is sent, that Copilot might accept it.

    Args:
        token: a GitHub token that the user chose for Copilot.
        provider: the configured provider's id.
        source: the token's source, for the message.

    Raises:
        AuthenticationError: it is a classic personal access token, or has characters that no token contains.
    """
    if is_usable(token):
        return
    if token.reveal().startswith(CLASSIC_PERSONAL):
        raise AuthenticationError(
            f"The token from {source} is a classic personal access token ({CLASSIC_PERSONAL}…), which "
            "Copilot does not accept.",
            provider=provider,
            hint=f"Run `{login_command(provider)}`, or use a fine-grained token with the permission "
            '"Copilot Requests".',
        )
    raise AuthenticationError(
        f"The token from {source} has characters that are not allowed in a GitHub token.",
        provider=provider,
        hint="Copy it again, without quotes, spaces or line breaks.",
    )
