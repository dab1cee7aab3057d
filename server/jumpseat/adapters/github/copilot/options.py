"""The own keys of the kind `copilot`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from pydantic import Field

from jumpseat.adapters.github.options import GitHubOptions
from jumpseat.config.schema import HeaderWord

SOURCE_KEYS = ("github_token",)
"""Keys that hold a value source."""


class CopilotOptions(GitHubOptions):
    """Keys of a provider's table."""

    api_url: str | None = None
    copilot_url: str | None = None
    client_id: HeaderWord | None = None
    """The OAuth app that the user authorizes at a sign-in."""

    integration_id: HeaderWord | None = None
    github_token: str | None = Field(default=None, min_length=1, repr=False)
    """A token to use instead of a sign-in."""
