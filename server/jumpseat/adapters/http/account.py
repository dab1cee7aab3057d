"""The state of a provider's API key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from jumpseat.adapters.base.account import Account, AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ConfigError
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.values import is_costly


class KeyAccount(Account):
    """The account of a provider that has its API key in the configuration, or does not need a key."""

    auth_method = "api_key"

    def __init__(
        self,
        provider: str,
        config: ProviderConfig,
        values: Values,
        try_key: Callable[[], Awaitable[object] | None],
        needs_key: Callable[[], bool],
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            values: the adapter's reader of the table's values.
            try_key: sends a request with the key; returns None if the table has no URL for that request.
            needs_key: returns whether the endpoint refuses requests without a key.
        """
        super().__init__(provider)
        self._needs_key = needs_key
        self._config = config
        self._values = values
        self._try_key = try_key

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Return whether a key can be read; with `refresh`, also whether the provider accepts it."""
        if self._config.api_key is None:
            if not self._needs_key():
                return AuthStatus(provider=self._provider, state="not_required")
            message = f"{self._provider} has no key. {self._no_sign_in_error().hint}"
            return AuthStatus(provider=self._provider, state="signed_out", message=message)
        try:
            # Without `refresh`, this must not run a command, or prompt for the keyring's password.
            if refresh or not is_costly(self._config.api_key):
                await self._values.resolve("api_key", self._config.api_key)
        except ConfigError as error:
            return AuthStatus(provider=self._provider, state="signed_out", message=error.message)
        request = self._try_key() if refresh else None
        if request is None:
            return AuthStatus(provider=self._provider, state="configured")
        try:
            await request
        except AuthorizationError as error:
            return AuthStatus(provider=self._provider, state="not_authorized", message=error.message)
        except AuthenticationError as error:
            return AuthStatus(provider=self._provider, state="signed_out", message=error.message)
        except ChatError as error:
            return AuthStatus(provider=self._provider, state="configured", message=error.message)
        return AuthStatus(provider=self._provider, state="signed_in")

    @property
    def _table_file(self) -> str:
        return str(self._config.origin.file or super()._table_file)
