"""Answers the daemon's questions about calls of tools: by rule, or by asking the user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jumpseat_cli.chat.tool_question import AskLine, ToolQuestion
from jumpseat_cli.chat.tool_selection import ToolSelection

if TYPE_CHECKING:
    from jumpseat_client.tools import ToolApproval, ToolDecision

CANNOT_ASK = "The command has no terminal, so nobody could be asked."
COVERED_SECONDS = 2.0
"""How long to wait for the daemon to apply a remembered decision to another call of the same tool."""


class Approver:
    """Decides whether the tool calls of one command may run. The command runs one turn at a time."""

    def __init__(self, tools: ToolSelection, ask_line: AskLine | None = None) -> None:
        """
        Args:
            tools: the tools of the chat, and the user's rules for this command.
            ask_line: asks the user; None if nobody can be asked.
        """
        self.ask_line = ask_line
        self.unanswered: list[ToolApproval] = []
        """The calls that were denied because nobody could be asked."""

        self._tools = tools
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._covered: set[tuple[str, str]] = set()
        """The server and name of each tool for which the daemon remembers a decision of this turn."""

        self._pause: Callable[[], None] = _do_nothing
        self._stop: Callable[[], None] = _do_nothing

    def begin_turn(self, *, pause: Callable[[], None], stop: Callable[[], None]) -> None:
        """Prepare for the questions of another turn.

        Args:
            pause: ends the text on the screen and hides the spinner, before a question is printed.
            stop: cancels the turn.
        """
        self._pause, self._stop = pause, stop
        self._covered.clear()

    async def end_turn(self) -> None:
        """Cancel the turn's questions, and wait until the terminal is back in its normal mode."""
        for task in self._tasks:
            task.cancel()
        await self.wait_until_answered()

    async def wait_until_answered(self) -> None:
        """Wait while a question is on the screen, where other output would disturb it."""
        async with self._lock:
            pass

    async def decide(self, approval: ToolApproval) -> ToolDecision:
        """Return the decision about a call. Must run in its own task, which `end_turn` cancels."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this coroutine in a task
        self._tasks.add(task)
        try:
            return await self._decide(approval)
        finally:
            self._tasks.discard(task)

    async def _decide(self, approval: ToolApproval) -> ToolDecision:
        from jumpseat_client.tools import ToolDecision

        if self._is_allowed(approval):
            return ToolDecision(True)
        if self.ask_line is None:
            self.unanswered.append(approval)
            return ToolDecision(False, message=CANNOT_ASK)
        tool = (approval.server, approval.tool)
        async with self._lock:
            if tool in self._covered:
                # Usually the daemon applies the remembered decision to this call too, and this task is then
                # cancelled. If the tool has changed, the daemon still waits for a decision, so ask.
                await asyncio.sleep(COVERED_SECONDS)
            self._pause()
            try:
                decision = await ToolQuestion(approval, self._tools.folders).ask(self.ask_line)
            except KeyboardInterrupt:
                self._stop()
                return ToolDecision(False)
        if decision.remember is not None:
            self._covered.add(tool)
        return decision

    def _is_allowed(self, approval: ToolApproval) -> bool:
        # Like `allow` in the configuration, --allow overrides neither a rule under `ask` (reason "rule") nor
        # the limits of the workspace (reason "outside").
        if not self._tools.allowed or approval.reason not in ("ask", "changed"):
            return False
        from jumpseat.tools.selectors import Selector, matches_any

        selectors = [
            selector for text in self._tools.allowed if (selector := Selector.parse(text)) is not None
        ]
        return matches_any(selectors, approval.server, approval.tool)


def explain_unanswered(approval: ToolApproval) -> tuple[str, str]:
    """Return why a call was denied without asking the user, and a hint."""
    tool = f"{approval.server}/{approval.tool}"
    hint = {
        "rule": "Remove the rule that matches it from 'ask' in the table [tools], or use a terminal.",
        "outside": "Add its directory with --workspace, or use a terminal.",
    }.get(approval.reason, f"Add --allow {tool}, or use a terminal.")
    return f"A call of {tool} was denied: without a terminal, jumpseat cannot ask for your approval.", hint


def _do_nothing() -> None:
    pass
