"""The attempts at one planned request: streaming, retries and replans."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from jumpseat.adapters.base import Replan, events_of
from jumpseat.adapters.base.chat_model import unfinished_answer_error
from jumpseat.chat import (
    BLOCK_EVENTS,
    ChatError,
    DoneEvent,
    Fold,
    Origin,
    ResponseEvent,
    RetryEvent,
    StreamEvent,
    ToolUseBlock,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    WarningEvent,
)
from jumpseat.chat.warning import WAITING_FOR_ROOM
from jumpseat.dialects.opaque import CALL_ID, read_opaque, write_opaque
from jumpseat.engine.keeping import Keeper
from jumpseat.engine.length import is_limit_refusal
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan
from jumpseat.engine.retry import RetryBudget
from jumpseat.engine.turn_request import Sink
from jumpseat.providers import ResolvedModel

logger = logging.getLogger(__name__)


class Attempts:
    """Repeats a request of a turn, or of a completion, until it succeeds or the budget is used up."""

    def __init__(
        self,
        target: ResolvedModel,
        planned: Plan,
        budget: RetryBudget,
        fold: Fold,
        sink: Sink,
        memory: BlockMemory | None,
        keeper: Keeper | None,
    ) -> None:
        """
        Args:
            planned: the plan with the request of the first attempt.
            budget: the retries and replans that are allowed.
            fold: receives every event of the current attempt.
            sink: receives every event except the last.
            memory: records the blocks that the provider refused when they were sent back.
            keeper: saves the partial answer.
        """
        self._target = target
        self._planned = planned
        self._budget = budget
        self._fold = fold
        self._sink = sink
        self._memory = memory
        self._keeper = keeper
        self._request = planned.request
        self._earlier_calls = {block.id for block in fold.earlier if isinstance(block, ToolUseBlock)}
        self._has_events = False
        """Whether this attempt has produced an event other than a warning."""
        self._has_response = False
        """Whether this attempt has produced a `ResponseEvent`."""
        self._has_output = False
        """Whether this attempt has produced part of a content block."""

    async def run(self) -> DoneEvent:
        """Run attempts until one succeeds, and return its `DoneEvent`, which is not sent to the sink.

        Raises:
            ChatError: the last attempt failed.
        """
        while True:
            self._has_events = self._has_response = self._has_output = False
            try:
                return await self._run_one()
            except Replan as replan:
                self._change_request(replan)
            except ChatError as error:
                if not self._lower_token_limit(error):
                    await self._wait_to_retry(error)

    async def _run_one(self) -> DoneEvent:
        # Delay warnings until the answer starts, so that a refused attempt does not warn.
        delayed: list[WarningEvent] = []
        async with events_of(self._target.adapter, self._request) as events:
            async for event in events:
                if isinstance(event, WarningEvent):
                    if self._has_events or event.code == WAITING_FOR_ROOM:
                        self._warn(event)
                    else:
                        delayed.append(event)
                    continue
                if self._earlier_calls:
                    event = self._make_id_unique(event)
                self._has_events = True
                while delayed:
                    self._warn(delayed.pop(0))
                self._fold.add(event)
                if isinstance(event, DoneEvent):
                    self._record_refused_blocks()
                    return event  # The caller sends it after the turn is saved.
                if self._keeper is not None:
                    self._keeper.save_soon(self._fold)
                self._has_output = self._has_output or isinstance(event, BLOCK_EVENTS)
                self._has_response = self._has_response or isinstance(event, ResponseEvent)
                self._sink.send(event)
                # Apply backpressure: do not read from the provider while the client is not reading.
                await self._sink.wait_until_ready()
        raise unfinished_answer_error(self._target.provider)

    def _make_id_unique(self, event: StreamEvent) -> StreamEvent:
        """Give a call a new id if an earlier round used its id; some servers number calls per answer."""
        match event:
            case ToolUseStartEvent() if event.id in self._earlier_calls:
                return replace(event, id=f"{event.id}_r{self._fold.rounds}")
            case ToolUseDoneEvent() if event.content.id in self._earlier_calls:
                call = event.content
                # The provider must get back the id that it sent.
                opaque = {CALL_ID: call.id, **read_opaque(call.opaque)}
                renamed = replace(call, id=f"{call.id}_r{self._fold.rounds}", opaque=write_opaque(opaque))
                return replace(event, content=renamed)
        return event

    def _warn(self, warning: WarningEvent) -> None:
        """Send a warning unless an earlier attempt of this turn has already sent it."""
        if warning not in self._fold.warnings:
            self._fold.add(warning)
            self._sink.send(warning)

    def _record_refused_blocks(self) -> None:
        """After an answer, remember the blocks that a replan had to leave out or change."""
        planned = self._planned.request.messages
        if self._memory is not None and self._request.messages is not planned:
            origin = Origin(self._target.provider, self._target.model)
            self._memory.refusals.record(planned, self._request.messages, origin)

    def _change_request(self, replan: Replan) -> None:
        if self._has_output or not self._budget.try_replan(replan.reason):
            raise replan.error from replan
        logger.info("replanning a turn of %s: %s", self._target.provider, replan.reason)
        self._request = replan.request or self._request
        self._restart_fold()
        if replan.warning is not None:
            self._warn(replan.warning)

    def _lower_token_limit(self, error: ChatError) -> bool:
        """Lower the answer's token limit if the provider refused it; return whether it was lowered."""
        fallback = self._planned.fallback_max_tokens
        if fallback is None or self._has_output or not is_limit_refusal(error):
            return False
        if not self._budget.try_replan("max_tokens"):
            return False
        logger.info("a turn of %s is limited to %d tokens: %s", self._target.provider, fallback, error)
        self._request = replace(self._request, max_tokens=fallback, answer_tokens=None)
        self._restart_fold()
        return True

    async def _wait_to_retry(self, error: ChatError) -> None:
        # After output, a retry would repeat text that the client already displays.
        delay = None if self._has_output else self._budget.delay_before_retry(error)
        if delay is None:
            raise error
        if self._has_response or (error.status_code or 0) >= 500:
            # The provider may have billed this attempt as a user request. Mark the next one as an agent's,
            # so that the user is not billed again.
            self._request = replace(self._request, initiator="agent")
        attempt, attempts = self._budget.attempt + 1, self._budget.max_attempts
        self._sink.send(RetryEvent(attempt, attempts, round(delay * 1000), error))
        self._budget.attempt = attempt
        self._restart_fold()
        await asyncio.sleep(delay)

    def _restart_fold(self) -> None:
        self._fold.restart(self._target.provider, self._target.model)
