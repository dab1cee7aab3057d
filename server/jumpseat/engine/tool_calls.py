"""Pairs each tool call with one result and makes the ids of calls unique."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from jumpseat.chat import (
    Message,
    Problem,
    ResultPart,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)

UNANSWERED_CALL = "The tool was not run."
"""The error result that is added to a call without a result."""


@dataclass(slots=True)
class PairedCall:
    """A call and its results."""

    block: ToolUseBlock
    group_number: int
    """The number, from 1, of the group of consecutive assistant messages that contains the call."""

    id: str
    """The id of the call and its result in the request."""

    results: list[ToolResultBlock] = field(default_factory=list)
    late: bool = False
    """Whether an assistant message is between the call and a result."""

    def join_results(self) -> ToolResultBlock:
        """Return the result to send to the provider; several results are joined."""
        if not self.results:
            return ToolResultBlock(self.id, UNANSWERED_CALL, is_error=True)
        contents = list(dict.fromkeys(each.content for each in self.results))
        joined: str | tuple[ResultPart, ...] = "\n\n".join(each for each in contents if isinstance(each, str))
        if len(contents) == 1:
            joined = contents[0]
        elif not all(isinstance(each, str) for each in contents):
            parts = ((TextBlock(each),) if isinstance(each, str) else each for each in contents)
            joined = tuple(chain.from_iterable(parts))
        return replace(self.results[-1], tool_use_id=self.id, content=joined)


class ToolCalls:
    """Pairs calls with results while the messages of a conversation are read in order."""

    def __init__(self) -> None:
        self.orphan: Problem | None = None
        """The first result without a preceding call."""

        self.by_message: list[Sequence[PairedCall]] = []
        """The calls of each message, or part of a message, that was added so far."""

        self._calls: list[PairedCall] = []
        """The calls of all messages so far."""

        self._latest: dict[str, list[PairedCall]] = {}
        self._group_number = 0
        self._role: Role = "user"

    def add(self, message: Message, index: int, start: int = 0) -> None:
        """Read the next message.

        Args:
            message: a client's message, or a part of one.
            index: the index of the client's message.
            start: the position of the part in the client's message.
        """
        if message.role == "assistant" and self._role == "user":
            self._group_number += 1
        self._role = message.role
        calls: list[PairedCall] = []
        self.by_message.append(calls)
        by_id: dict[str, list[PairedCall]] = {}
        for position, block in enumerate(message.content, start):
            if isinstance(block, ToolUseBlock):
                call = PairedCall(block, self._group_number, block.id)
                calls.append(call)
                self._calls.append(call)
                by_id.setdefault(block.id, []).append(call)
            elif isinstance(block, ToolResultBlock):
                self._pair(f"messages.{index}.content.{position}.toolUseId", block)
        # The latest message wins: some servers reuse ids in a long conversation.
        self._latest |= by_id

    def _pair(self, path: str, result: ToolResultBlock) -> None:
        candidates = self._latest.get(result.tool_use_id)
        if candidates is None:
            missing = f"no tool_use with the id {result.tool_use_id!r} comes before this result"
            self.orphan = self.orphan or Problem(path, missing)
            return
        # Several calls in one message may have the same id; they are answered in order.
        call = next((each for each in candidates if not each.results), candidates[-1])
        call.results.append(result)
        call.late = call.late or call.group_number < self._group_number

    def make_ids_unique(self) -> None:
        """Change the id of each call whose id an earlier call already has."""
        # Some servers number the calls of every answer from 0.
        taken = {call.id for call in self._calls}
        counts = Counter[str]()
        for call in self._calls:
            own = call.block.id
            counts[own] += 1
            if counts[own] == 1:
                continue
            while (name := f"{own}_{counts[own]}") in taken:
                counts[own] += 1
            call.id = name
            taken.add(name)

    def warnings(self) -> Iterator[WarningEvent]:
        """Yield warnings about results that were added, moved or joined."""
        if missing := sum(not call.results for call in self._calls):
            message = f"{missing} tool calls had no result; an error result was added to each."
            yield WarningEvent("tool_result_missing", message)
        if late := sum(call.late for call in self._calls):
            message = f"{late} tool calls were answered late; the results were moved to their calls."
            yield WarningEvent("tool_result_moved", message)
        if several := sum(len(call.results) > 1 for call in self._calls):
            message = f"{several} tool calls had several results; these were joined."
            yield WarningEvent("tool_results_joined", message)


def rename_calls(message: Message, calls: Sequence[PairedCall]) -> Message:
    """Return the message with the unique ids of its calls."""
    if all(call.id == call.block.id for call in calls):
        return message
    ids = iter(calls)
    return Message(
        message.role,
        tuple(
            replace(block, id=next(ids).id) if isinstance(block, ToolUseBlock) else block
            for block in message.content
        ),
    )
