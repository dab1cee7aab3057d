"""Removes secrets and markup from the texts of the Copilot language server. Pure functions."""

from __future__ import annotations

import re

from jumpseat.dialects.provider_errors import plain_words
from jumpseat.system.secrets import redact

_TOKENS = re.compile(r"\b(gh[a-z]_|github_pat_)\w{10,}|\btid=\S+|(?<=[Bb]earer )\S+")
"""GitHub tokens, short-lived Copilot tokens, and bearer credentials."""


def without_secrets(text: str) -> str:
    """The text without known secrets, and without anything that has the form of a token."""
    # By their form: the server has tokens of its own, which the daemon does not know.
    return _TOKENS.sub("***", redact(text))


def shown(text: str) -> str:
    """The text for use in a sentence: one line, bounded, without markup, control characters and secrets."""
    return plain_words(without_secrets(text))
