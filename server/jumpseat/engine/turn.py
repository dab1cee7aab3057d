"""Runs a turn: prepares the request, runs its attempts, folds their events and saves the result."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

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
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan
from jumpseat.engine.prepare import Planner
from jumpseat.engine.retry import DEFAULT_MAX_RETRIES, RetryBudget
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn_request import Sink, TurnRequest
from jumpseat.providers import Registry, ResolvedModel, resolve_model
from jumpseat.system.threads import compute

if TYPE_CHECKING:
    from jumpseat.tools.turn_tools import TurnTools

logger = logging.getLogger(__name__)


async def run_turn(
    registry: Registry,
    turn_request: TurnRequest,
    sink: Sink,
    memory: BlockMemory | None = None,
    tokens: TokenMemory | None = None,
    keeper: Keeper | None = None,
    tools: TurnTools | None = None,
) -> Response:
    """Run one turn to its end and return the response.

    If the request is invalid, or the task is cancelled before the start, nothing is sent to the sink.
    Otherwise the sink receives a `StartEvent` first and a `DoneEvent` last, even if the turn fails or
    is cancelled.

    Args:
        registry: the providers.
        turn_request: the client's request.
        sink: receives the events.
        memory: restores the blocks that the client could not preserve; remembers the new answer.
        tokens: supplies the token counts that providers reported recently; records the usage of this turn.
        keeper: saves the turn.
        tools: runs calls within the turn; None if the client runs all of them.

    Raises:
        ChatError: the turn failed; `partial` is the answer so far.
        ChatCancelled: the task was cancelled after the start; `partial` is the answer so far.
        asyncio.CancelledError: the task was cancelled before the start.
    """
    tokens = tokens or TokenMemory()
    target = await resolve_model(registry, turn_request.model)
    planner = Planner(registry, target, memory)
    planned = await planner.plan_within_limits(turn_request, tokens)
    takes_long = is_long(planned.request.messages)
    retries = registry.table(target.provider).max_retries
    turn = _Turn(target, DEFAULT_MAX_RETRIES if retries is None else retries, sink, memory, tokens, keeper)
    if keeper is not None:
        # Save the turn after all checks, because an invalid turn must not be saved. Save it before the start
        # event, which names the conversation.
        warnings = await keeper.begin(registry, target.provider, target.model)
        planned = replace(planned, warnings=[*planned.warnings, *warnings])
    try:
        response = await turn.run(turn_request, planned, planner, tools)
    except ChatError as error:
        if memory is not None and error.partial is not None:
            with suppress(asyncio.CancelledError):
                await compute(takes_long, memory.remember, error.partial, turn_request.messages)
        raise
    # The answer is complete, so a cancellation comes too late.
    with suppress(asyncio.CancelledError):
        if memory is not None:
            await compute(takes_long, memory.remember, response, turn_request.messages)
        if tools is None:
            await compute(takes_long, tokens.remember_turn, target.provider, planned.request, response.usage)
    return response


class _Turn:
    """A turn from its start event on."""

    def __init__(
        self,
        target: ResolvedModel,
        max_retries: int,
        sink: Sink,
        memory: BlockMemory | None,
        tokens: TokenMemory,
        keeper: Keeper | None,
    ) -> None:
        self._target = target
        self._max_retries = max_retries
        self._sink = sink
        self._memory = memory
        self._tokens = tokens
        self._keeper = keeper
        self._fold = Fold(target.provider, target.model)

    async def run(
        self, turn_request: TurnRequest, planned: Plan, planner: Planner, tools: TurnTools | None
    ) -> Response:
        """Run the turn. The sink always receives exactly one `DoneEvent`."""
        target, sink, keeper, fold = self._target, self._sink, self._keeper, self._fold
        conversation = keeper.conversation_id if keeper else None
        rules = turn_request.rules.names if turn_request.rules is not None else None
        sink.send(StartEvent(target.provider, target.model, conversation, rules))
        try:
            for warning in planned.warnings:
                fold.add(warning)
                sink.send(warning)
            if tools is None:
                done = await self._run_attempts(planned, sink)
            else:
                done = await self._run_rounds(turn_request, planner, tools)
        except asyncio.CancelledError:
            error: ChatError = ChatCancelled("The chat was cancelled.")
            raise await _finish_with_error(error, fold, sink, keeper) from None
        except ChatError as error:
            if isinstance(error, UnknownModelError):
                target.add_nearest_models(error)
            raise await _finish_with_error(error, fold, sink, keeper) from error.__cause__
        except Exception as error:
            logger.exception("a turn of %s failed", target.provider)
            raise await _finish_with_error(daemon_failure("ran this chat"), fold, sink, keeper) from error
        # Save before sending `done`: a client may stop the daemon as soon as it has the answer.
        response = await _save_end(fold.response(), None, sink, keeper)
        sink.send(replace(done, usage=fold.usage))
        return response

    async def _run_attempts(self, planned: Plan, sink: Sink) -> DoneEvent:
        budget = RetryBudget(self._max_retries)
        return await Attempts(
            self._target, planned, budget, self._fold, sink, self._memory, self._keeper
        ).run()

    async def _run_rounds(self, turn_request: TurnRequest, planner: Planner, tools: TurnTools) -> DoneEvent:
        from jumpseat.engine.rounds import Rounds  # Deferred: few turns use the daemon's tools.

        keeper, fold, tokens = self._keeper, self._fold, self._tokens

        async def run_attempts(planned: Plan, sink: Sink) -> DoneEvent:
            done = await self._run_attempts(planned, sink)
            request = planned.request
            takes_long = is_long(request.messages)
            await compute(takes_long, tokens.remember_turn, self._target.provider, request, fold.round_usage)
            return done

        return await Rounds(
            turn_request,
            tools,
            fold,
            self._sink,
            plan=lambda each: planner.plan_within_limits(each, tokens),
            run_attempts=run_attempts,
            save_soon=lambda: keeper.save_soon(fold) if keeper is not None else None,
        ).run()


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
    """Save the end of the turn; return the response with the conversation's id and any warnings."""
    if keeper is None:
        return response
    warnings = await keeper.finish(response, error)
    for warning in warnings:
        sink.send(warning)
    return replace(response, warnings=(*response.warnings, *warnings), conversation_id=keeper.conversation_id)
