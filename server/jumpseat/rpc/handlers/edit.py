"""`edit/start`. Section 2 of the protocol page."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import Message, TextBlock
from jumpseat.connections.keeping import create_keeper, recording_use
from jumpseat.connections.method import HandlerOutcome, MethodCall
from jumpseat.connections.session import Session
from jumpseat.engine import run_edit
from jumpseat.rpc.decode import edit_from_wire
from jumpseat.rpc.deltas import DeltaSink
from jumpseat.rpc.encode import result_to_wire
from jumpseat.rpc.handlers.chat import run_reserved_turn
from jumpseat.rpc.params import EditStartParams
from jumpseat.rpc.workspace import read_workspace_rules


async def edit_start(session: Session, call: MethodCall[EditStartParams]) -> HandlerOutcome:
    """Run the turn that rewrites the target, stream its events and respond with the replacement too."""

    async def run(sink: DeltaSink, turn_id: str) -> dict[str, Any]:
        rules = await read_workspace_rules(session, call.params)
        turn_request, target = edit_from_wire(call.params, session.shown_paths, rules)
        instruction = call.params.instruction
        keeper = None
        if call.params.keep:
            # Keep only the user's text, not the prompt that the engine adds around it.
            kept = Message("user", (target, TextBlock(instruction)))
            keeper = create_keeper(session, turn_request, turn_id, [kept])
        with recording_use(session, keeper):
            edit = await run_edit(session.registry, turn_request, target, instruction, sink, keeper)
        result = result_to_wire(edit.response, turn_id)
        return result if edit.replacement is None else {**result, "replacement": edit.replacement}

    return await run_reserved_turn(session, call, run)
