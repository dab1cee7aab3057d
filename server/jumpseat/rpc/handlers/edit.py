"""Handles `edit/start`. See `docs/protocol/chat.md`."""

from __future__ import annotations

from jumpseat.chat import ChatError, Message, TextBlock
from jumpseat.connections.keeping import create_keeper, record_use
from jumpseat.connections.method import HandlerOutcome, MethodCall
from jumpseat.connections.session import Session
from jumpseat.engine import run_edit
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.encode import result_to_wire
from jumpseat.rpc.handlers.chat import create_sink, encode_failure
from jumpseat.rpc.message_params import to_block, to_context_block
from jumpseat.rpc.params import EditStartParams
from jumpseat.rpc.workspace import read_workspace_rules


async def edit_start(session: Session, call: MethodCall[EditStartParams]) -> HandlerOutcome:
    """Run a turn that rewrites the target, stream its events and respond with the answer and the new text."""
    sink = create_sink(session, call)
    keeper = None
    try:
        rules = await read_workspace_rules(session, call.params)
        request = turn_from_wire(call.params, session.shown_paths, rules)
        target = to_context_block(call.params.target)
        context = tuple(map(to_block, call.params.context))
        instruction = call.params.instruction
        if call.params.keep:
            # Keep only the user's text, not the prompt that the engine adds around it.
            kept = Message("user", (*context, target, TextBlock(instruction)))
            keeper = create_keeper(session, request, sink.turn_id, [kept])
        edit = await run_edit(session.registry, request, target, instruction, sink, keeper, context)
    except ChatError as error:
        return encode_failure(session, error, sink.turn_id)
    finally:
        record_use(session, keeper)
    result = result_to_wire(edit.response, sink.turn_id)
    if edit.replacement is not None:
        result["replacement"] = edit.replacement
    return HandlerOutcome(result)
