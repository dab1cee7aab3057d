"""The request for an adapter: one turn, resolved to a provider's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jumpseat.chat.blocks import Message
from jumpseat.chat.tools import ToolChoice, ToolDefinition

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "max"]
Initiator: TypeAlias = Literal["user", "agent"]

DEFAULT_MAX_TOKENS = 8192
"""Limit of output tokens if neither the caller nor a saved setting has one, without room for thinking."""

THINKING_ROOM: Mapping[ThinkingLevel, int] = {
    "off": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16_384,
    "max": 32_768,
}
"""Tokens of thinking that each level allows: added to a default limit, and the budget of a model with one."""


@dataclass(frozen=True, slots=True)
class JsonSchemaOutput:
    """An output mode: the answer must be JSON that this schema accepts."""

    schema: Mapping[str, Any]


OutputMode: TypeAlias = Literal["text", "json"] | JsonSchemaOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One turn. `model` is the provider's own name for it; everything else is canonical."""

    messages: Sequence[Message]
    model: str
    system: str | None = None
    tools: Sequence[ToolDefinition] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = DEFAULT_MAX_TOKENS
    """Limit of everything that the model generates, including thinking."""

    answer_tokens: int | None = None
    """The part of a default `max_tokens` that is for the answer; None if the user or client set the limit."""

    stop_sequences: Sequence[str] = ()
    stream: bool = True
    output_mode: OutputMode = "text"
    thinking: ThinkingLevel | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Values for the provider's settings schema, already validated against it."""

    conversation_id: str | None = None
    initiator: Initiator | None = None
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Data that an adapter's set-up hook leaves for the other hooks of the same attempt; never sent."""

    def with_room_for_thinking(self) -> ChatRequest:
        """The request for a model that thinks by default, with room for that in a default limit."""
        if self.thinking is not None or self.max_tokens != self.answer_tokens:
            return self
        return replace(self, max_tokens=self.max_tokens + THINKING_ROOM["medium"])

    def effective_initiator(self) -> Initiator:
        """The caller's initiator; by default `user` if the last message is the user's, not tool results."""
        if self.initiator is not None:
            return self.initiator
        last = self.messages[-1]
        holds_results = any(block.type == "tool_result" for block in last.content)
        return "user" if last.role == "user" and not holds_results else "agent"
