"""The request that an adapter receives, for one answer of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jumpseat.chat.blocks import Message
from jumpseat.chat.infill import Infill
from jumpseat.chat.tools import ToolChoice, ToolDefinition

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "max"]
Initiator: TypeAlias = Literal["user", "agent"]

DEFAULT_MAX_TOKENS = 8192
"""The limit of output tokens if neither the caller nor a setting has one. Room for thinking is added."""

THINKING_ROOM: Mapping[ThinkingLevel, int] = {
    "off": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16_384,
    "max": 32_768,
}
"""The thinking tokens of each level: added to a default limit, and sent as a budget if a model needs one."""


def thinking_levels_of(efforts: Sequence[str]) -> list[ThinkingLevel]:
    """Return the thinking levels that a chat may request, given the provider's names for efforts."""
    # If a provider has no effort named `max`, its `xhigh` is the highest one.
    highest = {} if "max" in efforts else {"xhigh": "max"}
    named = [{"none": "off", **highest}.get(effort, effort) for effort in efforts]
    return [level for name in named for level in THINKING_ROOM if level == name]


@dataclass(frozen=True, slots=True)
class JsonSchemaOutput:
    """The output mode for answers that are JSON and valid against a schema."""

    schema: Mapping[str, Any]


OutputMode: TypeAlias = Literal["text", "json"] | JsonSchemaOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a model, in the terms of this package. Only `model` is the provider's own name."""

    messages: Sequence[Message]
    model: str
    system: str | None = None
    tools: Sequence[ToolDefinition] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int = DEFAULT_MAX_TOKENS
    """The limit of all tokens that the model generates, including thinking."""

    answer_tokens: int | None = None
    """The part of a default `max_tokens` that is meant for the answer itself; None if `max_tokens` is
    not a default."""

    stop_sequences: Sequence[str] = ()
    stream: bool = True
    output_mode: OutputMode = "text"
    thinking: ThinkingLevel | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The chat's checked settings, as parameters of the request; see `map_to_body`."""

    conversation_id: str | None = None
    initiator: Initiator | None = None
    infill: Infill | None = None
    """The place to fill in, instead of messages to answer; only for adapters whose traits allow it."""

    state: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Data from an adapter's set-up hook for the other hooks of the same attempt. It is never sent."""

    def add_thinking_room(self) -> ChatRequest:
        """Return the request for a model that thinks by default. A default limit is raised to make room."""
        if self.thinking is not None or self.max_tokens != self.answer_tokens:
            return self
        return replace(self, max_tokens=self.max_tokens + THINKING_ROOM["medium"])

    def effective_initiator(self) -> Initiator:
        """Return the caller's initiator, or the default one for the messages."""
        return self.initiator or default_initiator(self.messages)


def default_initiator(messages: Sequence[Message]) -> Initiator:
    """Return `user` if the last message is from the user and has no tool results, else `agent`."""
    last = messages[-1]
    holds_results = any(block.type == "tool_result" for block in last.content)
    return "user" if last.role == "user" and not holds_results else "agent"
