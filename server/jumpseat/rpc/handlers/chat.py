"""Handles `chat/start` and `chat/cancel`. See `docs/protocol/chat.md`."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import uuid4

from jumpseat.chat import ChatError, Problem
from jumpseat.chat.transcript import MARKDOWN, SYNTAXES, TranscriptStream
from jumpseat.connections.faults import RpcFault
from jumpseat.connections.keeping import ID_RULE, can_be_kept, create_keeper, record_use
from jumpseat.connections.method import HandlerOutcome, MethodCall
from jumpseat.connections.session import Session
from jumpseat.engine import run_turn
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.deltas import DeltaSink
from jumpseat.rpc.encode import result_to_wire
from jumpseat.rpc.handlers.tools import begin_chat_with_tools
from jumpseat.rpc.handlers.transcript import find_role_names
from jumpseat.rpc.params import ChatCancelParams, ChatStartParams, StreamParams, TurnParams
from jumpseat.rpc.workspace import read_workspace_rules
from jumpseat.wire import INVALID_PARAMS

T = TypeVar("T", bound=StreamParams)


def reserve_turn(session: Session, call: MethodCall[TurnParams]) -> None:
    """Record the turn's id. If the client asks to keep the turn, check first whether this is possible.

    Raises:
        RpcFault: the turn's id belongs to another turn in flight, or the conversation's id is not valid.
    """
    conversation = call.params.conversation_id
    if call.params.keep and conversation is not None and not can_be_kept(conversation):
        problem = Problem("conversationId", ID_RULE)
        raise RpcFault(INVALID_PARAMS, f"{problem.path} {problem.message} to be kept.", [problem])
    reserve_id(session, call)


def reserve_id(session: Session, call: MethodCall[T]) -> None:
    """Record the turn's id before the next message is read, because that message may cancel the turn.

    Raises:
        RpcFault: the turn's id belongs to another turn in flight.
    """
    turn_id = call.params.turn_id or uuid4().hex
    if turn_id in session.turns:
        problem = Problem("turnId", f"the turn {turn_id!r} is still running")
        raise RpcFault(INVALID_PARAMS, f"{problem.path}: {problem.message}.", [problem])
    call.entry.turn_id = turn_id
    session.turns[turn_id] = call.request_id


async def chat_start(session: Session, call: MethodCall[ChatStartParams]) -> HandlerOutcome:
    """Run a turn, stream its events and respond with the whole answer."""
    transcript = None
    if (form := call.params.transcript) and call.params.stream:
        roles = await find_role_names(session, call.params.model)
        transcript = TranscriptStream(roles, MARKDOWN if form is True else SYNTAXES[form])
    sink = create_sink(session, call, transcript)
    keeper = tools = None
    try:
        rules = await read_workspace_rules(session, call.params)
        request = turn_from_wire(call.params, session.shown_paths, rules)
        if call.params.keep:
            keeper = create_keeper(session, request, sink.turn_id)
        if call.params.daemon_tools:
            conversation = request.conversation_id if keeper is None else keeper.turn.conversation_id
            tools = await begin_chat_with_tools(session, call.params, sink.turn_id, conversation)
        response = await run_turn(
            session.registry, request, sink, session.memory, session.tokens, keeper, tools
        )
    except ChatError as error:
        return encode_failure(session, error, sink.turn_id)
    finally:
        record_use(session, keeper)
    return HandlerOutcome(result_to_wire(response, sink.turn_id))


def create_sink(
    session: Session, call: MethodCall[T], transcript: TranscriptStream | None = None
) -> DeltaSink:
    """Create the sink for the events of a reserved turn.

    Args:
        transcript: writes the answer as a transcript, if the client asked for one.
    """
    if call.entry.turn_id is None:
        raise RuntimeError("a turn was started without being reserved")
    return DeltaSink(
        session.outbox,
        request_id=call.request_id,
        turn_id=call.entry.turn_id,
        stream=call.params.stream,
        coalesce_ms=session.coalesce_ms,
        commands=session.commands,
        progress_token=call.params.work_done_token,
        transcript=transcript,
        on_begin=call.entry.begun.set,
        on_answer=call.entry.on_answer,
    )


def encode_failure(session: Session, error: ChatError, turn_id: str) -> HandlerOutcome:
    """Return the outcome of a failed turn, with the partial answer if there is one."""
    reported = session.encode_error(error)
    if error.partial is not None:
        reported.data["partial"] = result_to_wire(error.partial, turn_id)
    return HandlerOutcome(error=reported)


def chat_cancel(session: Session, call: MethodCall[ChatCancelParams]) -> dict[str, Any]:
    """Cancel a turn by its id, for clients whose library hides request ids."""
    request_id = session.turns.get(call.params.turn_id)
    return {"cancelled": request_id is not None and session.cancel(request_id)}
