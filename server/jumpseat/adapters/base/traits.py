"""Facts of a provider for chats, in addition to its capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat import DEFAULT_MAX_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTraits:
    """Declared by an adapter at construction; the defaults suit most providers."""

    default_model: str | None = None
    """The model for chats that name none, if the adapter serves only one."""

    default_max_tokens: int = DEFAULT_MAX_TOKENS
    """Limit of output tokens if neither the client nor the user's settings have one."""

    user_begins: bool = True
    """A conversation must begin with a user message; one is added if it does not."""

    document_types: Sequence[str] = ()
    """The types of documents that the dialect has; `text/` stands for all types of text."""

    context_setting: str | None = None
    """The setting of a chat that sets the context length in tokens on the server."""
