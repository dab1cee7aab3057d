"""The user's credential at a provider: its state, signing in and out.

`docs/protocol/authentication.md` describes these objects as clients receive them.
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
"""`not_required`: no credential is needed. `configured`: an API key is set; whether it works is unknown."""

AuthMethod: TypeAlias = Literal["device_code", "api_key", "none"]
"""`device_code`: the user enters a code on a page (see `sign_in`). `api_key`: the user sets a key."""


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
    """The state of a provider's credential, its account, and the next step if the provider cannot be used."""

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
    """One sentence for the user. In the state `signed_out`, it explains how to sign in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPrompt:
    """A request to sign in: the user opens the page and enters the code there."""

    user_code: str
    verification_uri: str
    """A page on the provider's configured host; the adapter checks the host."""

    expires_at: datetime
    interval_seconds: float
    """The provider's minimum delay between two requests for the result."""


OnPrompt: TypeAlias = Callable[[SignInPrompt], None]
OnAuthChange: TypeAlias = Callable[[AuthStatus], None]


class Account:
    """The credential of one provider. The defaults suit a provider that does not need a credential."""

    auth_method: AuthMethod = "none"
    """How the provider authenticates its users. Clients offer `sign_in` only for `device_code`."""

    on_auth_change: OnAuthChange | None = None
    """A callback for changes of the credential's state, set by the registry."""

    def __init__(self, provider: str) -> None:
        """
        Args:
            provider: the configured provider's id.
        """
        self._provider = provider

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Return whether the provider can be used; sends requests only with `refresh`."""
        return AuthStatus(provider=self._provider, state="not_required")

    async def is_signed_in_for_this(self) -> bool:
        """Whether the user has signed in to this provider. If so, a built-in provider can become the default.

        A sign-in that belongs to another program does not count, even if this provider can use it. This
        method must not run other programs.
        """
        return (await self.auth_status()).state == "signed_in"

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Wait until the user has signed in; cancelling the wait cancels the sign-in.

        Args:
            on_prompt: called with the page and the code.

        Raises:
            ChatError: the sign-in failed or was denied.
            ConfigError: this provider has no sign-in.
        """
        return await self._check_not_required()

    async def sign_out(self) -> AuthStatus:
        """Delete the credential that `sign_in` stored.

        Raises:
            ConfigError: this provider has no sign-in.
        """
        return await self._check_not_required()

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, and return the model's new entry.

        Raises:
            RequestError: the provider has no terms to accept.
            ChatError: the request failed, or the model is still not enabled.
        """
        raise RequestError(f"{self._provider} has no model terms to accept.", provider=self._provider)

    def watched_files(self) -> list[Path]:
        """Return the files to watch. `handle_file_change` is called when another process changes one."""
        return []

    async def handle_file_change(self) -> None:
        """Handle a change of one of `watched_files`."""

    def report(self, status: AuthStatus) -> None:
        """Call `on_auth_change` if it is set."""
        if self.on_auth_change is not None:
            self.on_auth_change(status)

    async def _check_not_required(self) -> AuthStatus:
        status = await self.auth_status()
        if status.state == "not_required":
            return status
        raise self._no_sign_in_error()

    def _no_sign_in_error(self) -> ConfigError:
        """Return the error for a provider without a sign-in."""
        name = self._provider
        return ConfigError(
            f"There is no sign-in to {name}: its key is set in the configuration.",
            provider=name,
            hint=f"Run `jumpseat keys set {name}`, or set providers.{name}.api_key in {self._table_file}, "
            'to "env:NAME" for example.',
        )

    @property
    def _table_file(self) -> str:
        """The file with the provider's table, for hints."""
        return "the configuration file"
