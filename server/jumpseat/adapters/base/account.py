"""What a provider says of the user's credential. Shape: section 8 of the protocol page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

AuthState: TypeAlias = Literal[
    "signed_in", "signed_out", "expired", "not_authorized", "not_required", "configured"
]
"""`not_required`: no credential is needed. `configured`: an API key is set, and was not tried yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One allowance of an account."""

    name: str
    unlimited: bool
    percent_remaining: float
    entitlement: float | None = None
    remaining: float | None = None
    overage_permitted: bool | None = None
    reset_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthStatus:
    """Whether a provider can be used, as whom, and what to do next if it cannot."""

    provider: str
    state: AuthState
    login: str | None = None
    host: str | None = None
    plan: str | None = None
    source: str | None = None
    expires_at: datetime | None = None
    chat_enabled: bool | None = None
    quotas: Sequence[Quota] | None = None
    message: str | None = None
    """One sentence for a person; with a signed-out state it says how to sign in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPrompt:
    """What a person has to do to sign in: open the page and type the code there."""

    user_code: str
    verification_uri: str
    """A page on the provider's configured host; whoever makes a prompt has checked that."""

    expires_at: datetime
    interval_seconds: float
    """How often the provider lets itself be asked whether it was done."""


OnPrompt: TypeAlias = Callable[[SignInPrompt], None]
OnAuthChange: TypeAlias = Callable[[AuthStatus], None]
