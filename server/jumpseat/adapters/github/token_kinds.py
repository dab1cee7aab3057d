"""What a GitHub token's prefix says: how it is turned into a credential for Copilot, if it can be.

Pure. Source: GitHub's page on token formats, and which kinds the exchange and the data plane take.
A prefix is a good guess and no law, so `copilot_credentials.py`, above, tries the other way once where
GitHub refuses the first, and remembers.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from jumpseat.adapters.github.hosts import login_command
from jumpseat.chat import AuthenticationError
from jumpseat.system.secrets import Secret

Route: TypeAlias = Literal["exchange", "direct"]
"""`exchange`: for a short-lived Copilot token first. `direct`: as it is, on the data plane."""

_ROUTES: tuple[tuple[str, Route], ...] = (
    ("ghu_", "exchange"),  # A GitHub App's token for a user: what editors' Copilot sign-ins hold.
    ("gho_", "direct"),  # An OAuth App's, `gh auth token` among them: the exchange knows few such apps.
    ("github_pat_", "direct"),  # Fine-grained personal: the exchange answers 403.
)
CLASSIC_PERSONAL = "ghp_"

_SENDABLE = re.compile(r"[\x21-\x7e]{1,4096}")


def first_route(token: Secret) -> Route:
    """The way to try first; an unknown prefix is exchanged, which is what most tokens need."""
    text = token.reveal()
    return next((route for prefix, route in _ROUTES if text.startswith(prefix)), "exchange")


def other_route(route: Route) -> Route:
    """The way to try if GitHub refuses this one."""
    return "direct" if route == "exchange" else "exchange"


def is_usable(token: Secret) -> bool:
    """Whether Copilot takes this kind at all; a classic personal token it never does."""
    text = token.reveal()
    return bool(_SENDABLE.fullmatch(text)) and not text.startswith(CLASSIC_PERSONAL)


def check_usable(token: Secret, *, provider: str, source: str) -> None:
    """Refuse a token that cannot work, before it is sent anywhere.

    Args:
        token: a GitHub token that a person has chosen for Copilot.
        provider: the configured provider's id.
        source: where it came from, for the message.

    Raises:
        AuthenticationError: it is a classic personal access token, or no token at all.
    """
    if is_usable(token):
        return
    if token.reveal().startswith(CLASSIC_PERSONAL):
        raise AuthenticationError(
            f"The token from {source} is a classic personal access token ({CLASSIC_PERSONAL}…), which "
            "Copilot does not take.",
            provider=provider,
            hint=f"Sign in with `{login_command(provider)}`, or use a fine-grained token with the permission "
            '"Copilot Requests".',
        )
    raise AuthenticationError(
        f"The token from {source} holds characters that no GitHub token has.",
        provider=provider,
        hint="Copy it again, without quotes, spaces or line ends.",
    )
