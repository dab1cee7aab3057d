"""What a chat has to know of a provider beside its capabilities. Fixed when the adapter is made."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.chat import DEFAULT_MAX_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTraits:
    """Declared by an adapter; the defaults suit most providers."""

    default_model: str | None = None
    """The model for chats that name none, where the adapter is made for one."""

    default_max_tokens: int = DEFAULT_MAX_TOKENS
    """Output tokens of an answer where neither the client nor the user's settings say."""

    user_begins: bool = True
    """A conversation must begin with the user. If not, one that the assistant begins is sent as it is."""

    context_setting: str | None = None
    """The setting of a chat by which the server makes room for a context of so many tokens."""

    models_expire_seconds: float = float("inf")
    """How long a list of models may be reused."""
