"""The request for an adapter: one turn, resolved to a provider's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jumpseat.chat.blocks import Message
from jumpseat.chat.tools import ToolChoice, ToolDefinition

ThinkingLevel: TypeAlias = Literal["off", "low", "medium", "high"]
Initiator: TypeAlias = Literal["user", "agent"]

DEFAULT_MAX_TOKENS = 8192
"""Limit of output tokens if neither the caller nor a saved setting has one."""


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

    def effective_initiator(self) -> Initiator:
        """The caller's initiator; by default `user` if the last message is the user's, not tool results."""
        if self.initiator is not None:
            return self.initiator
        last = self.messages[-1]
        holds_results = any(block.type == "tool_result" for block in last.content)
        return "user" if last.role == "user" and not holds_results else "agent"
