"""Asks the program whether calls of the daemon's tools may run, and sends the answers to the daemon."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from jumpseat.system.threads import run_blocking
from jumpseat_client.errors import ClientError, RequestFailed
from jumpseat_client.tools import Answer, OnApproval, ToolApproval, ToolDecision

logger = logging.getLogger("jumpseat_client")


class ApprovalTasks:
    """Asks the program about the tool calls of one turn, and sends its decisions; each call has a task."""

    def __init__(
        self,
        on_approval: OnApproval,
        decide: Callable[[dict[str, Any]], Awaitable[Any]],
        asking: asyncio.Lock,
    ) -> None:
        """
        Args:
            on_approval: the program's function.
            decide: sends the params of `tools/decide`.
            asking: a lock that is held while a synchronous `on_approval` runs, so that the user is asked one
                question at a time.
        """
        self._on_approval = on_approval
        self._decide = decide
        self._asking = asking
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """The task for each tool call, by the id of the call."""

        self._decided: set[str] = set()
        """The ids of the calls that no longer need a decision."""

    def ask(self, approval: ToolApproval) -> None:
        """Ask about a call and send the decision, unless the call has already been decided."""
        if approval.tool_use_id not in self._decided:
            self._tasks[approval.tool_use_id] = asyncio.create_task(self._ask(approval))

    def withdraw(self, tool_use_id: str) -> None:
        """Cancel the question about a call that no longer needs a decision, because it runs or has ended."""
        self._decided.add(tool_use_id)
        if tool_use_id in self._tasks:
            self._tasks[tool_use_id].cancel()

    def withdraw_all(self) -> None:
        """Cancel all questions, because the turn has ended."""
        for task in self._tasks.values():
            task.cancel()

    async def _ask(self, approval: ToolApproval) -> None:
        try:
            answer = await self._call(approval)
        except Exception:
            logger.exception(
                "the call of %s/%s is denied: on_approval failed", approval.server, approval.tool
            )
            answer = False
        decision = answer if isinstance(answer, ToolDecision) else ToolDecision(answer is True)
        with suppress(ClientError):  # If the daemon has died, the turn fails with the same error.
            try:
                await self._decide(_make_params(approval, decision))
            except RequestFailed:  # The call would wait for a valid decision until the turn is cancelled.
                logger.exception(
                    "the call of %s/%s is denied: the decision is invalid", approval.server, approval.tool
                )
                await self._decide(_make_params(approval, ToolDecision(False)))

    async def _call(self, approval: ToolApproval) -> Answer:
        """Call the program's function, in a worker thread unless it is an async function."""
        if inspect.iscoroutinefunction(self._on_approval):
            return await self._on_approval(approval)  # type: ignore[no-any-return]  # the check loses the type
        async with self._asking:
            # With `within`, even if it is infinite, the process does not wait for the thread at exit.
            answer = await run_blocking(self._on_approval, approval, within=math.inf)
        return await answer if inspect.isawaitable(answer) else answer


def _make_params(approval: ToolApproval, decision: ToolDecision) -> dict[str, Any]:
    params: dict[str, Any] = {
        "turnId": approval.turn_id,
        "toolUseId": approval.tool_use_id,
        "decision": "allow" if decision.is_allowed else "deny",
    }
    if decision.remember is not None:
        params |= {"remember": decision.remember, "scope": decision.scope}
    if decision.message is not None:
        params["message"] = decision.message
    return params
