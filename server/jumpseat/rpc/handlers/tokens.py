"""Handles `chat/countTokens`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.engine import count_tokens
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.encode import object_to_wire, warnings_to_wire
from jumpseat.rpc.params import CountTokensParams
from jumpseat.rpc.workspace import read_workspace_rules


async def chat_count_tokens(session: Session, call: MethodCall[CountTokensParams]) -> dict[str, Any]:
    """Return the number of tokens that a chat with these params would send, and how they were counted."""
    params = call.params
    rules = await read_workspace_rules(session, params)
    turn_request = turn_from_wire(params, session.shown_paths, rules)
    counted = await count_tokens(
        session.registry, turn_request, session.tokens, session.memory, allow_estimate=params.allow_estimate
    )
    result = object_to_wire(counted)
    if turn_request.warnings:
        result["warnings"] = warnings_to_wire(turn_request.warnings)
    return result
