"""The account of a provider, backed by its Copilot language server's own sign-in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from jumpseat.adapters.base import Account, AuthStatus, OnPrompt
from jumpseat.adapters.github.language_server.identity import LanguageServerIdentity
from jumpseat.adapters.github.language_server.models import LanguageServerModels
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.adapters.github.sign_in.editors import copilot_directory
from jumpseat.chat import ModelInfo

SIGN_IN_FILES = ("auth.db", "auth.db-wal")
"""The files of the server's SQLite database of sign-ins."""


class LanguageServerSignIn(Account):
    """The server's sign-in. A change to it invalidates the list of models."""

    auth_method = "device_code"

    def __init__(
        self,
        provider: str,
        server: LanguageServer,
        identity: LanguageServerIdentity,
        models: LanguageServerModels,
        accept_terms: Callable[[str], Awaitable[ModelInfo]],
    ) -> None:
        super().__init__(provider)
        self._server = server
        self._identity = identity
        self._models = models
        self._accept_terms = accept_terms

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Return the server's sign-in, starting the server if needed; `refresh` adds plan and quotas."""
        return await self._identity.get_status(refresh=refresh)

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Have the server sign a user in with a code.

        Raises:
            ChatError: the user did not sign in, or the server failed.
        """
        status = await self._identity.sign_in(on_prompt)
        self._models.forget()
        return status

    async def sign_out(self) -> AuthStatus:
        """Have the server delete its sign-in.

        Raises:
            ChatError: the request failed.
        """
        self._models.forget()
        return await self._identity.sign_out()

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, and check that this took effect.

        Raises:
            ChatError: see `LanguageServerModels.accept_terms`.
        """
        return await self._accept_terms(model)

    def watched_files(self) -> list[Path]:
        """Return the sign-in files, which other processes may change; empty if the server is not running."""
        directory = copilot_directory(self._server.environment)
        if directory is None or self._server.running_connection is None:
            return []
        return [directory / name for name in SIGN_IN_FILES]

    async def handle_file_change(self) -> None:
        """Check the sign-in again, because another process may have signed in or out."""
        self._identity.recheck()
