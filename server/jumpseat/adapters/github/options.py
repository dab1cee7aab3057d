"""The configuration keys shared by both kinds of GitHub provider."""

# Do not import `annotations` from `__future__` here: pydantic would compile each annotation's text again.
import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

USER_ONLY_KEYS = {"proxy": "would choose the proxy for your own sign-in"}
"""The keys that a client may not set for a provider that it adds, each with the reason."""


def _name_and_version(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]{1,100}/[\x21-\x7e]{1,100}", text):
        raise ValueError("must be a name and a version, as in Vim/9.1")
    return text


class GitHubOptions(BaseModel):
    """Keys of a provider's table."""

    model_config = ConfigDict(strict=True)

    host: str = "github.com"
    github_url: str | None = None
    editor_version: Annotated[str, AfterValidator(_name_and_version)] | None = None
