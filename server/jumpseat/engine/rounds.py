"""The rounds of a turn with the daemon's tools: each is a request to the model, then the answer's tool calls.

All rounds form one answer. The results of a round's calls follow the round's blocks, so that the client can
send the answer back as it is; `conversation.split_rounds` splits it into its rounds for the provider.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from jumpseat.chat import (
    BLOCK_EVENTS,
    BlockDoneEvent,
    ChatError,
    CitationEvent,
    ContentBlock,
    DoneEvent,
    Fold,
    Message,
    Origin,
    ResponseEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    UsageEvent,
    WarningEvent,
)
from jumpseat.engine.plan import Plan
from jumpseat.engine.tool_calls import UNANSWERED_CALL
from jumpseat.engine.turn_request import Sink, TurnRequest
from jumpseat.tools.turn_tools import DAEMON, TurnTools

TOO_MANY_CALLS = "The limit of calls is reached."
CANCELLED_CALL = "Cancelled."

MAX_REPETITIONS = 3
"""After this many identical calls with identical results, the turn ends, because the model is in a loop."""

COMPLETE = frozenset({"tool_use", "end_turn", "stop_sequence"})
"""The stop reasons after which calls are run. Any other means that the answer was cut off or refused."""

ENDING_SECONDS = 5.0
"""How long a cancelled turn waits for its calls to end."""

PlanRound = Callable[[TurnRequest], Awaitable[Plan]]
RunAttempts = Callable[[Plan, Sink], Awaitable[DoneEvent]]


class Rounds:
    """Runs rounds until the model has answered, the client has to act, or a limit is reached."""

    def __init__(
        self,
        turn_request: TurnRequest,
        tools: TurnTools,
        fold: Fold,
        sink: Sink,
        *,
        plan: PlanRound,
        run_attempts: RunAttempts,
        save_soon: Callable[[], None],
    ) -> None:
        """
        Args:
            turn_request: the client's request.
            tools: offers the daemon's tools, and runs their calls.
            fold: receives the events of all rounds.
            sink: receives every event except the last.
            plan: plans the request of a round.
            run_attempts: sends a planned request, and passes the events of its answer to the fold and to a
                sink; returns the last event.
            save_soon: schedules a save of the answer so far.
        """
        self._turn_request = turn_request
        self._tools = tools
        self._fold = fold
        self._sink = sink
        self._plan = plan
        self._run_attempts = run_attempts
        self._save_soon = save_soon
        self._client_tool_names = {tool.name for tool in turn_request.tools}
        self._calls = 0
        self._repetitions = Counter[str]()

    async def run(self) -> DoneEvent:
        """Run all rounds, and return the end event of the turn. This event is not sent to the sink.

        Raises:
            ChatError: a request failed. Every call that the daemon is responsible for has a result in the
                partial answer.
        """
        self._fold.begin_round()
        try:
            turn_request = await self._offer_tools()
            while True:
                planned = await self._plan(turn_request)
                self._warn(planned.warnings)
                sink = _SinkOfRound(self._sink, self._fold) if self._fold.earlier else self._sink
                done = await self._run_attempts(planned, sink)
                end = await self._finish_round(done)
                if end is not None:
                    return end
                self._fold.begin_round()
                answer = Message("assistant", tuple(self._fold.earlier))
                turn_request = replace(
                    turn_request,
                    messages=[*self._turn_request.messages, answer],
                    tool_choice="auto",
                    initiator="agent",
                )
        except asyncio.CancelledError:
            self._answer_calls(CANCELLED_CALL)
            raise
        except ChatError:
            self._answer_calls(UNANSWERED_CALL)
            raise
        finally:
            await self._tools.aclose()

    async def _offer_tools(self) -> TurnRequest:
        taken = [tool.name for tool in self._turn_request.tools]
        self._warn(await self._tools.open(taken, self._sink.send))
        return replace(
            self._turn_request, tools=(*self._turn_request.tools, *self._tools.definitions), warnings=()
        )

    def _warn(self, warnings: Sequence[WarningEvent]) -> None:
        """Send the warnings that no earlier round has sent."""
        for warning in warnings:
            if warning not in self._fold.warnings:
                self._fold.add(warning)
                self._sink.send(warning)

    async def _finish_round(self, done: DoneEvent) -> DoneEvent | None:
        """Run the calls of a round, and return the end event of the turn; None if the turn continues."""
        if done.stop_reason not in COMPLETE:
            self._answer_calls(UNANSWERED_CALL)
            return done
        calls = [block for block in self._fold.round_blocks if isinstance(block, ToolUseBlock)]
        own = [call for call in calls if self._is_own(call)]
        within_limits = await self._run_calls(own)
        if len(own) < len(calls) or not calls:
            return done
        if within_limits and (self._fold.rounds or 0) < self._tools.max_rounds:
            return None
        limited = replace(done, stop_reason="max_rounds")
        self._fold.add(limited)
        return limited

    def _is_own(self, call: ToolUseBlock) -> bool:
        """Whether the daemon adds the result: the tool is not the client's, or the arguments are invalid."""
        return call.name not in self._client_tool_names or call.arguments is None

    async def _run_calls(self, calls: Sequence[ToolUseBlock]) -> bool:
        """Run calls concurrently, and add their results in order; return whether the turn may continue."""
        allowed = max(self._tools.max_calls - self._calls, 0)
        self._calls += len(calls)
        running = [asyncio.ensure_future(self._tools.run(call, self._sink.send)) for call in calls[:allowed]]
        is_loop = False
        try:
            for call, run in zip(calls, running, strict=False):
                result = await run
                self._add_result(result)
                is_loop = self._count_repetition(call, result) or is_loop
        except asyncio.CancelledError:
            await self._cancel_calls(calls, running)
            raise
        for call in calls[allowed:]:
            self._add_result(self._make_error(call, TOO_MANY_CALLS))
        if is_loop:
            message = "The model repeated a call that has the same result each time. The turn ended there."
            self._warn([WarningEvent("tool_loop", message)])
        return len(calls) <= allowed and not is_loop

    async def _cancel_calls(
        self, calls: Sequence[ToolUseBlock], running: Sequence[asyncio.Future[ToolResultBlock]]
    ) -> None:
        """Cancel the running calls, and add a result or an error for every unanswered call."""
        for run in running:
            run.cancel()
        if running:
            await asyncio.wait(running, timeout=ENDING_SECONDS)
        for call, run in zip_longest(calls, running):
            if call.id not in self._list_answered():
                is_finished = run is not None and run.done() and not run.cancelled()
                self._add_result(run.result() if is_finished else self._make_error(call, CANCELLED_CALL))

    def _list_answered(self) -> set[str]:
        blocks = self._fold.round_blocks
        return {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}

    def _count_repetition(self, call: ToolUseBlock, result: ToolResultBlock) -> bool:
        """Count a call and its result; return whether they have occurred `MAX_REPETITIONS` times."""
        key = json.dumps([call.name, call.arguments, result.text], sort_keys=True)
        self._repetitions[key] += 1
        return self._repetitions[key] >= MAX_REPETITIONS

    def _add_result(self, result: ToolResultBlock) -> None:
        self._sink.send(BlockDoneEvent(self._fold.add_result(result), result))
        self._save_soon()

    def _answer_calls(self, text: str) -> None:
        """Add an error result to each unanswered call for which the daemon is responsible.

        The client can then send the answer back as it is.
        """
        for call in self._fold.partial().tool_calls:
            if self._is_own(call):
                self._add_result(self._make_error(call, text))

    def _make_error(self, call: ToolUseBlock, text: str) -> ToolResultBlock:
        origin = Origin(DAEMON, self._tools.find_name(call.name))
        return ToolResultBlock(call.id, text, is_error=True, origin=origin)


class _SinkOfRound(Sink):
    """Passes on the events of a later round, with the block numbers and the usage of the whole turn."""

    def __init__(self, sink: Sink, fold: Fold) -> None:
        self._sink = sink
        self._fold = fold
        self._first = len(fold.earlier)
        self._has_output = False

    def wait_until_ready(self) -> Coroutine[Any, Any, None]:
        return self._sink.wait_until_ready()

    def send(self, event: StreamEvent) -> None:
        if isinstance(event, ResponseEvent):
            # A client discards all blocks when it receives this event. So pass the event on only if this
            # round's answer starts again after some output. Then repeat the blocks of the earlier rounds.
            if self._has_output:
                self._has_output = False
                self._sink.send(event)
                for each in _repeat_blocks(self._fold.earlier):
                    self._sink.send(each)
            return
        if isinstance(event, BLOCK_EVENTS):
            self._has_output = True
            event = replace(event, block=event.block + self._first)
        elif isinstance(event, CitationEvent) and event.block is not None:
            event = replace(event, block=event.block + self._first)
        elif isinstance(event, UsageEvent):
            event = UsageEvent(self._fold.usage or event.usage)
        self._sink.send(event)


def _repeat_blocks(blocks: Sequence[ContentBlock]) -> Iterator[StreamEvent]:
    """Yield the events of finished blocks again."""
    for number, block in enumerate(blocks):
        match block:
            case TextBlock():
                yield TextStartEvent(number)
                yield TextDeltaEvent(number, block.text)
                yield TextDoneEvent(number, block)
            case ThinkingBlock():
                yield ThinkingStartEvent(number)
                yield ThinkingDeltaEvent(number, block.thinking)
                yield ThinkingDoneEvent(number, block)
            case ToolUseBlock():
                yield ToolUseStartEvent(number, block.id, block.name)
                yield ToolUseDeltaEvent(number, block.raw)
                yield ToolUseDoneEvent(number, block)
            case _:
                yield BlockDoneEvent(number, block)  # type: ignore[arg-type]  # An answer has no other blocks.
