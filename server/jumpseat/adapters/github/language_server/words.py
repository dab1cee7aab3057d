"""Text from the Copilot language server, made fit for messages and the log. Pure.

The server has credentials of its own that the daemon does not know; they are removed by their form.
"""

from __future__ import annotations

import re

from jumpseat.dialects.provider_errors import plain_words
from jumpseat.system.secrets import redact

_TOKENS = re.compile(r"\b(gh[a-z]_|github_pat_)\w{10,}|\btid=\S+|(?<=[Bb]earer )\S+")
"""Tokens of GitHub's, Copilot's short-lived ones, and whatever stands in a header for one."""


def without_secrets(text: str) -> str:
    """The text without what we keep secret, and without what looks like a token of the server's."""
    return _TOKENS.sub("***", redact(text))


def shown(text: str) -> str:
    """The text for one sentence: one line, bounded, no markup, no control characters, no secret."""
    return plain_words(without_secrets(text))
