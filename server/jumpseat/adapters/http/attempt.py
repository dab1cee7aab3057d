"""What a route is, and one attempt at a turn by it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from jumpseat.adapters.base import Replan
from jumpseat.chat import ChatRequest, StreamEvent, WarningEvent
from jumpseat.dialects import Decoder
from jumpseat.http import HttpCall, HttpClient, Refine, stream_events


@dataclass(frozen=True, slots=True)
class Prepared:
    """One request: what to send, what the user must know of it, and how to read its answer."""

    body: Mapping[str, Any]
    warnings: Sequence[WarningEvent]
    decoder: Decoder
    refine: Refine
    """What is better to raise than the general error of a refused request."""

    told_on_replan: Mapping[str, WarningEvent] = field(default_factory=dict)
    """By the reason of a `Replan`: what its cure takes away from the request."""


class Route(Protocol):
    """One dialect at one endpoint. What was refused is remembered for each model, so that it is refused
    once only."""

    path: str
    """What a chat adds to the base URL."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Make a request of a turn, in the light of what was refused before."""
        ...


async def make_attempt(
    http: HttpClient,
    call: HttpCall,
    prepared: Prepared,
    *,
    provider: str,
    on_headers: Callable[[Mapping[str, str]], None] | None = None,
) -> AsyncGenerator[StreamEvent]:
    """Send a prepared request and yield the events of its answer, warnings first.

    Args:
        http: the shared client.
        call: the request; its body is that of `prepared`.
        prepared: by the route.
        provider: the configured provider's id, for errors.
        on_headers: told the headers of an answer that is no refusal, names in lower case.

    Raises:
        ChatError: as `stream_events` raises it, refined by the route.
        Replan: a changed request would be taken.
    """
    for warning in prepared.warnings:
        yield warning
    answer = stream_events(
        http, call, prepared.decoder, provider=provider, refine=prepared.refine, on_headers=on_headers
    )
    try:
        async with aclosing(answer) as events:
            async for event in events:
                yield event
    except Replan as replan:
        told = prepared.told_on_replan.get(replan.reason)
        if told is not None:
            yield told
        raise
