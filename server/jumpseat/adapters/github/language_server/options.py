"""The configuration keys of the kind `copilot-language-server`."""

# Do not import `annotations` from `__future__` here: pydantic would compile each annotation's text again.
import shlex
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from jumpseat.adapters.github.options import GitHubOptions


def _as_words(value: Any) -> Any:
    """Split a command line into program and arguments like a POSIX shell, without expansions."""
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError:
        raise ValueError("must be a command line with matching quotes") from None


CommandLine = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1), BeforeValidator(_as_words)
]
"""A program and its arguments. In the configuration file, it is a list or one string."""


class LanguageServerOptions(GitHubOptions):
    """Keys of a provider's table."""

    command: CommandLine | None = None
    """The program and arguments that start the server."""

    chat_api: Literal["auto", "conversation", "completion"] = "auto"
