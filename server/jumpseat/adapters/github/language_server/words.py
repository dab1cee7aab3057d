"""The words of the Copilot language server, fit to be shown and logged.

The server has credentials of its own, which the daemon does not know and nobody is to see. Pure. Above it is
whatever passes on what the server says; below it the configuration's redaction.
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
