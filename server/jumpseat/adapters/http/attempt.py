"""What a route is, and the request that it prepares for one attempt at a turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumpseat.adapters.base import Replan
from jumpseat.chat import ChatRequest, WarningEvent
from jumpseat.dialects import Decoder
from jumpseat.http import Refine


@dataclass(frozen=True, slots=True)
class Prepared:
    """One request: what to send, what the user must know of it, and how to read its answer."""

    body: Mapping[str, Any]
    warnings: Sequence[WarningEvent]
    decoder: Decoder
    refine: Refine
    """What is better to raise than the general error of a refused request."""

    replan_losses: Mapping[str, WarningEvent] = field(default_factory=dict)
    """By the reason of a `Replan`: what the changed request leaves out."""

    def losses_of(self, replan: Replan) -> Iterator[WarningEvent]:
        """What the user must know of the changed request."""
        if replan.reason in self.replan_losses:
            yield self.replan_losses[replan.reason]


class Route(Protocol):
    """One dialect at one endpoint. What was refused is remembered for each model, so that it is refused
    once only."""

    path: str
    """What a chat adds to the base URL."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Make a request of a turn, in the light of what was refused before."""
        ...
