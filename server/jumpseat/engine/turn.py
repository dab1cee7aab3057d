"""Runs a turn: prepares the request, runs its attempts, folds their events and saves the result."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from jumpseat.chat import (
    ChatCancelled,
    ChatError,
    DoneEvent,
    Fold,
    Response,
    StartEvent,
    UnknownModelError,
)
from jumpseat.chat.errors import daemon_failure
from jumpseat.chat.long import is_long
from jumpseat.engine.attempts import Attempts
from jumpseat.engine.keeping import Keeper
from jumpseat.engine.length import check_length
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan
from jumpseat.engine.prepare import prepare_turn
from jumpseat.engine.retry import DEFAULT_MAX_RETRIES, RetryBudget
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn_request import Sink, TurnRequest
from jumpseat.providers import Registry, ResolvedModel
from jumpseat.system.threads import compute

logger = logging.getLogger(__name__)


async def run_turn(
    registry: Registry,
    turn_request: TurnRequest,
    sink: Sink,
    memory: BlockMemory | None = None,
    tokens: TokenMemory | None = None,
    keeper: Keeper | None = None,
) -> Response:
    """Run one turn to its end and return the response.

    If the request is invalid, nothing is sent to the sink. Otherwise the sink receives a `StartEvent` first
    and a `DoneEvent` last, even if the turn fails or its task is cancelled.

    Args:
        registry: the providers.
        turn_request: the client's request.
        sink: receives the events.
        memory: restores the blocks that the client could not preserve; remembers the new answer.
        tokens: token counts that providers reported recently; records the usage of this turn.
        keeper: saves the turn.

    Raises:
        ChatError: the turn failed; `partial` is the answer so far.
        ChatCancelled: the task was cancelled after the start; `partial` is the answer so far.
        asyncio.CancelledError: the task was cancelled before the start.
    """
    tokens = tokens or TokenMemory()
    target, planned = await prepare_turn(registry, turn_request, memory)
    takes_long = is_long(planned.request.messages)
    planned = await compute(takes_long, check_length, target, planned, tokens)
    retries = registry.table(target.provider).max_retries
    budget = RetryBudget(DEFAULT_MAX_RETRIES if retries is None else retries)
    if keeper is not None:
        # Save the turn after all checks, because an invalid one must not be saved, but before the start event
        # names the conversation.
        warnings = await keeper.begin(registry, target.provider, target.model)
        planned = replace(planned, warnings=[*planned.warnings, *warnings])
    try:
        response = await _stream_turn(target, planned, budget, sink, memory, keeper)
    except ChatError as error:
        if memory is not None and error.partial is not None:
            with suppress(asyncio.CancelledError):
                await compute(takes_long, memory.remember, error.partial, turn_request.messages)
        raise
    # The answer is complete, so a cancellation comes too late.
    with suppress(asyncio.CancelledError):
        if memory is not None:
            await compute(takes_long, memory.remember, response, turn_request.messages)
        await compute(takes_long, tokens.remember_turn, target.provider, planned.request, response.usage)
    return response


async def _stream_turn(
    target: ResolvedModel,
    planned: Plan,
    budget: RetryBudget,
    sink: Sink,
    memory: BlockMemory | None,
    keeper: Keeper | None,
) -> Response:
    """Run the turn from its start event on. The sink always receives exactly one `DoneEvent`."""
    sink.send(StartEvent(target.provider, target.model, keeper.conversation_id if keeper else None))
    fold = Fold(target.provider, target.model)
    try:
        for warning in planned.warnings:
            fold.add(warning)
            sink.send(warning)
        done = await Attempts(target, planned, budget, fold, sink, memory, keeper).run()
    except asyncio.CancelledError:
        raise await _finish_with_error(ChatCancelled("The chat was cancelled."), fold, sink, keeper) from None
    except ChatError as error:
        if isinstance(error, UnknownModelError) and (nearest := target.nearest_models):
            error.hint = f"Did you mean {' or '.join(nearest)}? {error.hint or ''}".rstrip()
        raise await _finish_with_error(error, fold, sink, keeper) from error.__cause__
    except Exception as error:
        logger.exception("a turn of %s failed", target.provider)
        raise await _finish_with_error(daemon_failure("ran this chat"), fold, sink, keeper) from error
    # Save before sending `done`: a client may stop the daemon as soon as it has the answer.
    response = await _save_end(fold.response(), None, sink, keeper)
    sink.send(replace(done, usage=fold.usage))
    return response


async def _finish_with_error(error: ChatError, fold: Fold, sink: Sink, keeper: Keeper | None) -> ChatError:
    """Save the end of a failed turn, send its `DoneEvent`, and return the error with the partial answer."""
    error.provider = error.provider or fold.provider
    error.partial = await _save_end(replace(fold.partial(), stop_reason=None), error, sink, keeper)
    sink.send(
        DoneEvent(
            stop_reason="cancelled" if isinstance(error, ChatCancelled) else "error",
            usage=fold.usage,
            error=error,
            content=error.partial.content,
        )
    )
    return error


async def _save_end(
    response: Response, error: ChatError | None, sink: Sink, keeper: Keeper | None
) -> Response:
    """Save the end of the turn; return the response with its conversation and any warnings about saving."""
    if keeper is None:
        return response
    warnings = await keeper.finish(response, error)
    for warning in warnings:
        sink.send(warning)
    return replace(response, warnings=(*response.warnings, *warnings), conversation_id=keeper.conversation_id)
