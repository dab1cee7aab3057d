"""One open conversation of a client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpseat.chat import Cost, Message, ThinkingLevel
from jumpseat.connections.session import InFlight
from jumpseat.wire import RequestId


@dataclass(slots=True)
class RunningPrompt:
    """A prompt that has no response yet."""

    request_id: RequestId
    entry: InFlight
    has_started: bool = False
    """Whether its handler runs."""

    is_cancelled: bool = False


@dataclass(slots=True)
class AcpConversation:
    """A conversation with its choices, which apply from the next turn on."""

    id: str
    directory: Path
    additional_directories: Sequence[Path] = ()
    branch: str = ""
    """The kept conversation that contains the last turn: this one, or a fork of it."""

    messages: tuple[Message, ...] = ()
    system: str | None = None
    model: str | None = None
    """The chosen model as `provider:model`; None for the default."""

    thinking: ThinkingLevel | None = None
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The chosen settings of each provider."""

    title: str | None = None
    """The title that the client was told last."""

    cost: Cost | None = None
    """The total cost of the turns since the conversation was opened."""

    turn: RunningPrompt | None = None

    def __post_init__(self) -> None:
        self.branch = self.branch or self.id

    def add_cost(self, cost: Cost | None) -> None:
        """Add the cost of a turn. Amounts in another currency start a new total."""
        if cost is not None:
            before = (
                self.cost.amount if self.cost is not None and self.cost.currency == cost.currency else 0.0
            )
            self.cost = Cost(before + cost.amount, cost.currency)
