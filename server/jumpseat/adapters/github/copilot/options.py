"""The configuration keys of the kind `copilot`."""

# Do not import `annotations` from `__future__` here: pydantic would compile each annotation's text again.
from pydantic import Field

from jumpseat.adapters.github.options import GitHubOptions
from jumpseat.config.schema import HeaderWord

SOURCE_KEYS = ("github_token",)
"""Keys whose value is a value source."""


class CopilotOptions(GitHubOptions):
    """Keys of a provider's table."""

    api_url: str | None = None
    copilot_url: str | None = None
    client_id: HeaderWord | None = None
    """The OAuth app that the user authorizes when signing in."""

    integration_id: HeaderWord | None = None
    github_token: str | None = Field(default=None, min_length=1, repr=False)
    """A token to use instead of a sign-in."""
