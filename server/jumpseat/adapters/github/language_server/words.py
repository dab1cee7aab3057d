"""Removes secrets and markup from the language server's texts. Pure functions."""

from __future__ import annotations

import re

from jumpseat.dialects.provider_errors import clean_message
from jumpseat.system.secrets import redact

_TOKENS = re.compile(r"\b(gh[a-z]_|github_pat_)\w{10,}|\btid=\S+|(?<=[Bb]earer )\S+")
"""GitHub tokens, short-lived Copilot tokens, and bearer credentials."""


def mask_secrets(text: str) -> str:
    """Mask known secrets, and anything shaped like a token."""
    # Matching by shape is needed because the server has tokens of its own, which the daemon cannot know.
    return _TOKENS.sub("***", redact(text))


def clean_text(text: str) -> str:
    """Make the text fit for a sentence: one line, bounded, without markup, control characters and secrets."""
    return clean_message(mask_secrets(text))
