"""A turn: resolve the model, validate, plan, stream, fold; and end exactly once, whatever happens.

Above it is `rpc`, which gives a sink for the events and cancels the task that runs `run_turn`. Below it
are adapters, each of which makes one attempt at a time. Retries and replans happen here and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from jumpseat.adapters.base import Replan, events_of
from jumpseat.chat import (
    BLOCK_EVENTS,
    ChatCancelled,
    ChatError,
    ChatRequest,
    DoneEvent,
    Fold,
    ProtocolError,
    Response,
    RetryEvent,
    StartEvent,
    WarningEvent,
)
from jumpseat.engine.ask import Sink, TurnAsk
from jumpseat.engine.plan import plan
from jumpseat.engine.retry import DEFAULT_MAX_RETRIES, RetryBudget
from jumpseat.providers import Registry, ResolvedModel, resolve_model

logger = logging.getLogger(__name__)


async def run_turn(registry: Registry, ask: TurnAsk, sink: Sink) -> Response:
    """Run one turn to its end and return the response.

    The sink gets nothing where the ask itself is wrong. Otherwise it gets a `StartEvent` first and a
    `DoneEvent` last, also when the turn fails or its task is cancelled.

    Raises:
        ChatError: the turn failed; `partial` holds what came before.
        ChatCancelled: the task was cancelled after the start; `partial` as above.
        asyncio.CancelledError: the task was cancelled before the start.
    """
    target = await resolve_model(registry, ask.model)
    capabilities, _ = registry.capabilities(target.provider)
    planned = plan(
        ask,
        target,
        capabilities,
        registry.settings_rows(target.provider),
        registry.default_settings(target.provider),
        registry.default_max_tokens,
    )
    retries = registry.table(target.provider).max_retries
    budget = RetryBudget(DEFAULT_MAX_RETRIES if retries is None else retries)

    sink.send(StartEvent(target.provider, target.model))
    fold = Fold(target.provider, target.model)
    try:
        for warning in planned.warnings:
            sink.send(warning)
        done = await _attempts(target, planned.request, budget, fold, sink)
    except asyncio.CancelledError:
        raise _ended(ChatCancelled("The chat was cancelled."), fold, sink) from None
    except ChatError as error:
        raise _ended(error, fold, sink) from error.__cause__
    except Exception as error:
        # A defect of ours ends the turn in the same order; its text stays in the log.
        logger.exception("a turn of %s failed", target.provider)
        defect = ChatError("The daemon failed while it ran this chat; its log says how.")
        raise _ended(defect, fold, sink) from error
    sink.send(replace(done, usage=fold.usage))
    return fold.response()


async def _attempts(
    target: ResolvedModel, request: ChatRequest, budget: RetryBudget, fold: Fold, sink: Sink
) -> DoneEvent:
    """Attempt the turn until one attempt ends well or the budget is spent."""
    told: set[tuple[str, str]] = set()
    while True:
        output = False
        try:
            async with events_of(target.adapter, request) as events:
                async for event in events:
                    fold.add(event)
                    if isinstance(event, DoneEvent):
                        return event
                    if isinstance(event, WarningEvent):
                        # Each attempt finds out anew what it has to leave out; the client hears it once.
                        if (event.code, event.message) in told:
                            continue
                        told.add((event.code, event.message))
                    output = output or isinstance(event, BLOCK_EVENTS)
                    sink.send(event)
                    await sink.ready()
            raise ProtocolError(
                f"{target.provider} ended its answer without saying why.", provider=target.provider
            )
        except Replan as replan:
            if output or not budget.may_replan(replan.reason):
                raise replan.error from replan
            logger.info("replanning a turn of %s: %s", target.provider, replan.reason)
            request = replan.request or request
            fold.restart(target.provider, target.model)
        except ChatError as error:
            delay = None if output else budget.delay_before_retry(error)
            if delay is None:
                raise
            sink.send(RetryEvent(budget.attempt + 1, budget.max_attempts, round(delay * 1000), error))
            budget.attempt += 1
            fold.restart(target.provider, target.model)
            await asyncio.sleep(delay)


def _ended(error: ChatError, fold: Fold, sink: Sink) -> ChatError:
    """Tell the sink how the turn ended, and the error what had come by then."""
    error.provider = error.provider or fold.provider
    error.partial = replace(fold.partial(), stop_reason=None)
    sink.send(
        DoneEvent(
            stop_reason="cancelled" if isinstance(error, ChatCancelled) else "error",
            usage=fold.usage,
            error=error,
            content=error.partial.content,
        )
    )
    return error
