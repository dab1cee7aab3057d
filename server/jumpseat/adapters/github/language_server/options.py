"""The own keys of the kind `copilot-language-server`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
import shlex
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from jumpseat.adapters.github.options import GitHubOptions


def _as_words(value: Any) -> Any:
    """A command line as program and arguments, split as by a POSIX shell; nothing is expanded."""
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError:
        raise ValueError("must be a command line whose quotes are closed") from None


CommandLine = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1), BeforeValidator(_as_words)
]
"""Program and arguments; in the file, a list or one text."""


class LanguageServerOptions(GitHubOptions):
    """Keys of a provider's table."""

    command: CommandLine | None = None
    """Program and arguments that start the server."""

    chat_api: Literal["auto", "conversation", "completion"] = "auto"
