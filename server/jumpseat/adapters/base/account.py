"""The user's credential at a provider: its state, signing in and out.

Shapes: section 8 of the protocol page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

from jumpseat.chat import ConfigError, ModelInfo, RequestError

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
    """A page on the provider's configured host, which the code that makes a prompt has checked."""

    expires_at: datetime
    interval_seconds: float
    """The provider's limit: how long to wait between two requests for the result."""


OnPrompt: TypeAlias = Callable[[SignInPrompt], None]
OnAuthChange: TypeAlias = Callable[[AuthStatus], None]


class Account:
    """The credential of one provider. The defaults are those of a provider that needs none."""

    on_auth_change: OnAuthChange | None = None
    """Called when the state of the credential changed. Set by the registry."""

    def __init__(self, provider: str) -> None:
        """
        Args:
            provider: the configured provider's id.
        """
        self._provider = provider

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Whether the provider can be used; makes requests only with `refresh`."""
        return AuthStatus(provider=self._provider, state="not_required")

    async def is_signed_in_for_this(self) -> bool:
        """Whether a person has signed in to this very provider; a built-in one is the default then.

        A sign-in of another program that happens to work here does not count, and no other program is run.
        """
        return (await self.auth_status()).state == "signed_in"

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Wait until a person has signed in; cancelling the wait gives the sign-in up.

        Args:
            on_prompt: called with what the person has to do, as soon as that is known.

        Raises:
            ChatError: the sign-in failed or was denied.
            ConfigError: this provider has no sign-in.
        """
        return await self._unchanged()

    async def sign_out(self) -> AuthStatus:
        """Forget the credential that `sign_in` brought.

        Raises:
            ConfigError: this provider has no sign-in.
        """
        return await self._unchanged()

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, as the user asked; gives the model's new row.

        Raises:
            RequestError: the provider has no terms to accept.
            ChatError: the request failed, or the model is still not enabled.
        """
        raise RequestError(f"{self._provider} has no terms of models to accept.", provider=self._provider)

    def watched_files(self) -> list[Path]:
        """Files that other processes may change; `files_changed` is called when they do."""
        return []

    async def files_changed(self) -> None:
        """One of `watched_files` may have changed since it was read."""

    def report(self, status: AuthStatus) -> None:
        """Call `on_auth_change`, if it is set."""
        if self.on_auth_change is not None:
            self.on_auth_change(status)

    async def _unchanged(self) -> AuthStatus:
        status = await self.auth_status()
        if status.state == "not_required":
            return status
        raise self._no_sign_in()

    def _no_sign_in(self) -> ConfigError:
        """Why this provider has no sign-in, and what to do instead."""
        name = self._provider
        return ConfigError(
            f"There is no sign-in to {name}: its key is set in the configuration.",
            provider=name,
            hint=f'Set providers.{name}.api_key, to "env:NAME" for example, in {self._configured_in}.',
        )

    @property
    def _configured_in(self) -> str:
        """The file with the provider's table, for hints."""
        return "the configuration file"
