"""A client's request for a turn, and the receiver of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jumpseat.chat import (
    Initiator,
    Message,
    OutputMode,
    StreamEvent,
    ThinkingLevel,
    ToolChoice,
    ToolDefinition,
    WarningEvent,
)
from jumpseat.context.rules import WorkspaceRules
from jumpseat.engine.shown_paths import ShownPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A client's request for a turn. The model's name is not resolved yet."""

    messages: Sequence[Message]
    system: str | None = None
    model: str | None = None
    tools: Sequence[ToolDefinition] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    max_tokens_default: Literal["model"] | None = None
    """`model` applies the model's own limit if neither `max_tokens` nor the user's settings set a limit."""

    stop_sequences: Sequence[str] = ()
    stream: bool = True
    output_mode: OutputMode = "text"
    thinking: ThinkingLevel | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    conversation_id: str | None = None
    initiator: Initiator | None = None
    rules: WorkspaceRules | None = None
    """The rules of the client's workspace; None if the client did not ask for them."""

    paths: ShownPaths | None = None
    """Shortens the paths of context blocks; None leaves the paths unchanged."""

    warnings: Sequence[WarningEvent] = ()
    """Warnings about the request, sent when the turn starts."""

    @property
    def full_system(self) -> str | None:
        """The system prompt with the workspace's rules.

        The rules come first, so that the client's own prompt can override them.
        """
        parts = (self.rules.prompt if self.rules is not None else "", self.system or "")
        return "\n\n".join(filter(None, parts)) or self.system


class Sink:
    """Receives the events of a turn. This base class discards them."""

    def send(self, event: StreamEvent) -> None:
        """Receive an event. Implementations must not block or raise."""

    async def wait_until_ready(self) -> None:
        """Wait until the sink accepts more events; the turn does not read from its provider until then."""
