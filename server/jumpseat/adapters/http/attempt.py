"""The interface of a route, and the request that it prepares for one attempt."""

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
    """One encoded request, the warnings for the user, and the decoder of its answer."""

    body: Mapping[str, Any]
    warnings: Sequence[WarningEvent]
    decoder: Decoder
    refine: Refine
    """Maps the error of a refused request to the exception to raise."""

    replan_losses: Mapping[str, WarningEvent] = field(default_factory=dict)
    """By the reason of a `Replan`: the warning for what the changed request leaves out."""

    def losses_of(self, replan: Replan) -> Iterator[WarningEvent]:
        """The warning for the changed request, if there is one."""
        if replan.reason in self.replan_losses:
            yield self.replan_losses[replan.reason]


class Route(Protocol):
    """One dialect at one endpoint. It remembers for each model what the endpoint refused."""

    path: str
    """The path of a chat below the base URL."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without what is known to be refused."""
        ...
