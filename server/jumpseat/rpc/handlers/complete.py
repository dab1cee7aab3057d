"""Handles `complete/start`. See `docs/protocol/completions.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import Infill
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.rpc.encode import completion_to_wire
from jumpseat.rpc.params import CompleteStartParams


async def complete_start(session: Session, call: MethodCall[CompleteStartParams]) -> dict[str, Any]:
    """Return the text that a model fills in between the prefix and the suffix."""
    # Deferred: most sessions have no completions.
    from jumpseat.engine.completion import CompletionRequest, run_completion

    params = call.params
    infill = Infill(
        prefix=params.prefix, suffix=params.suffix, language_id=params.language_id, uri=params.uri
    )
    response, text = await run_completion(
        session.registry,
        CompletionRequest(
            infill=infill,
            model=params.model,
            extent=params.extent,
            max_tokens=params.max_tokens,
            stop_sequences=params.stop_sequences,
        ),
    )
    return completion_to_wire(response, text)
