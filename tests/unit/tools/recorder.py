"""Record the events of a turn's calls, and answer their approvals."""

from __future__ import annotations

import asyncio
from typing import Any

from jumpseat.chat import (
    StreamEvent,
    ToolApprovalEvent,
    ToolResultBlock,
    ToolStatusEvent,
)
from jumpseat.tools.approvals import Decision
from jumpseat.tools.host import ToolHost
from jumpseat.tools.turn_tools import TurnTools
from tests.unit.tools.scripted_server import begin_turn, make_call

ALLOW = Decision(True)
DENY = Decision(False)


class Recorder:
    """Records the events of calls, and answers each approval with the next decision, if any is left."""

    def __init__(self, host: ToolHost, *decisions: Decision, turn_id: str = "t") -> None:
        self.events: list[StreamEvent] = []
        self._asked = asyncio.Semaphore(0)
        self._host = host
        self._decisions = list(decisions)
        self._turn_id = turn_id

    def send(self, event: StreamEvent) -> None:
        self.events.append(event)
        if isinstance(event, ToolApprovalEvent):
            self._asked.release()
            if self._decisions:
                assert self._host.approvals.decide(self._turn_id, event.tool_use_id, self._decisions.pop(0))

    async def wait_for_question(self) -> None:
        """Wait for one more approval."""
        async with asyncio.timeout(10):
            await self._asked.acquire()

    @property
    def questions(self) -> list[ToolApprovalEvent]:
        return [event for event in self.events if isinstance(event, ToolApprovalEvent)]

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.events if isinstance(event, ToolStatusEvent)]


async def open_turn(host: ToolHost, *selectors: str, **more: Any) -> TurnTools:
    """Return the opened tools of a turn."""
    tools = begin_turn(host, *selectors, **more)
    assert list(await tools.open([], lambda event: None)) == []
    return tools


async def run(
    tools: TurnTools, recorder: Recorder, name: str = "shed__dig", **arguments: Any
) -> ToolResultBlock:
    """Run one call."""
    async with asyncio.timeout(10):
        return await tools.run(make_call(name, **arguments), recorder.send)
