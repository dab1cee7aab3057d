"""Facts of a provider that matter for chats, in addition to its capabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat import DEFAULT_MAX_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTraits:
    """Facts that an adapter declares at construction; the defaults suit most providers."""

    default_model: str | None = None
    """The adapter's only model, for chats that do not name a model; None if there may be several models."""

    default_max_tokens: int = DEFAULT_MAX_TOKENS
    """The limit of output tokens if neither the client nor the user's settings have one."""

    user_begins: bool = True
    """Whether a conversation must begin with a user message. If so, the engine adds a missing one."""

    document_types: Sequence[str] = ()
    """The types of documents that the dialect supports; `text/` stands for all types of text."""

    infills: bool = False
    """Whether `stream` accepts requests with `infill`.

    The facts about a model state whether that model supports `infill`.
    """

    context_setting: str | None = None
    """The name of the setting with which a chat chooses the server's context length in tokens."""
