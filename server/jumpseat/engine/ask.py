"""What a client asks of a turn, before anything is resolved or defaulted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAsk:
    """A turn in the client's own words: names not resolved, absent things None."""

    messages: Sequence[Message]
    system: str | None = None
    model: str | None = None
    tools: Sequence[ToolDefinition] = ()
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    stop_sequences: Sequence[str] = ()
    stream: bool = True
    output_mode: OutputMode = "text"
    thinking: ThinkingLevel | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    conversation_id: str | None = None
    initiator: Initiator | None = None
    warnings: Sequence[WarningEvent] = ()
    """What was wrong with the ask and is told when the turn starts."""


class Sink:
    """Where a turn's events go. This one throws them away; the connection's sends them."""

    def send(self, event: StreamEvent) -> None:
        """Take an event now; never blocks and never fails."""

    async def ready(self) -> None:
        """Return once the sink can take more: a turn stops reading its provider until then."""
