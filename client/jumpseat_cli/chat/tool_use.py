"""Shows the tool calls of one answer, and the questions about these calls."""

from __future__ import annotations

from collections.abc import Callable

from jumpseat_cli.chat.approving import Approver
from jumpseat_cli.chat.tool_calls import ShownCalls, is_about_call, print_call
from jumpseat_cli.terminal.output import AnswerText, Spinner
from jumpseat_client.results import Delta


class ToolUse:
    """The use of tools in one turn."""

    def __init__(
        self,
        approver: Approver,
        spinner: Spinner,
        output: AnswerText | None,
        *,
        stop: Callable[[], None],
    ) -> None:
        """
        Args:
            approver: decides about the calls.
            spinner: shows the call that runs.
            output: prints the text of the answer; None to print neither the text nor lines about calls.
            stop: cancels the turn.
        """
        self.calls = ShownCalls()
        self._approver = approver
        self._spinner = spinner
        self._output = output
        approver.begin_turn(pause=self._pause, stop=stop)

    async def handle(self, delta: Delta) -> bool:
        """Show a delta that concerns a call; return False if it concerns something else.

        Waits while a question is on the screen.
        """
        await self._approver.wait_until_answered()
        is_of_call = is_about_call(delta)
        # Finish the text first, because the spinner would be drawn over it.
        if self._output is not None and (is_of_call or delta.type.startswith("thinking")):
            self._output.finish()
        if not is_of_call:
            return False
        ended = self.calls.handle(delta)
        if ended is not None and self._output is not None:
            self._spinner.pause()
            print_call(ended)
        self._spinner.show(self.calls.progress)
        return True

    async def close(self) -> None:
        """Withdraw the questions that are still open, because the turn has ended."""
        await self._approver.end_turn()

    def _pause(self) -> None:
        if self._output is not None:
            self._output.finish()
        self._spinner.pause()
