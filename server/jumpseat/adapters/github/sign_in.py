"""A GitHub token and its source."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.system.secrets import Secret

GENERAL_SOURCES = ("env:GH_TOKEN", "env:GITHUB_TOKEN", "gh")
"""Sources of tokens for GitHub in general: their owner may not want Copilot."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """A GitHub token and its source, as in `AuthStatus.source`."""

    token: Secret
    source: str
    login: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Source and token, for comparison."""
        return self.source, self.token.reveal()

    @property
    def is_ours(self) -> bool:
        """Whether it comes from `jumpseat login`; a sign-out deletes it."""
        return self.source in ("keyring", "file")

    @property
    def is_for_copilot(self) -> bool:
        """Whether it was made for Copilot, not for GitHub in general."""
        return self.source not in GENERAL_SOURCES
