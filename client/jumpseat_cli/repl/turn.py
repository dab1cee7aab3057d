"""A turn of a conversation: prints the answer as it arrives, and collects the outcome for the next turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat_cli.chat.approving import Approver
from jumpseat_cli.chat.json_answers import fault_of_answer
from jumpseat_cli.chat.printing import handle_delta
from jumpseat_cli.chat.tool_calls import is_about_call
from jumpseat_cli.chat.tool_use import ToolUse
from jumpseat_cli.files.attachments import Block
from jumpseat_cli.repl.thinking import Thinking
from jumpseat_cli.terminal.output import AnswerText, make_spinner
from jumpseat_client.connection import OnProgress
from jumpseat_client.errors import ChatFailed, ClientError
from jumpseat_client.results import Delta
from jumpseat_client.stream import ChatStream

LIMIT_REACHED = "warning: the answer reached the limit of tool calls. To continue it: /continue"


@dataclass
class TurnOutcome:
    """The outcome of a turn."""

    content: list[Block] = field(default_factory=list)
    """The answer, or the part of it that was received."""

    usage: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    model: str = ""
    """The model as `provider:model`; empty if the daemon did not accept the turn."""

    conversation_id: str | None = None
    keep_warning: str | None = None
    """The daemon's warning that it does not keep the turn."""

    rules_note: str | None = None
    """The note about the workspace's rules that were sent; None if `--rules` was not given."""

    thinking: str = ""
    notes: list[str] = field(default_factory=list)
    """Warnings to print below the answer."""

    error: ClientError | None = None
    """The error that ended the turn early."""

    @property
    def was_stopped(self) -> bool:
        """Whether the user stopped the turn."""
        return isinstance(self.error, ChatFailed) and self.error.kind == "cancelled"


class TerminalTurn:
    """A turn that prints its answer. It can be run only once."""

    def __init__(
        self,
        chat: Callable[[OnProgress], ChatStream],
        *,
        approver: Approver,
        output_mode: Any,
        shows_thinking: bool,
        is_raw: bool,
    ) -> None:
        """
        Args:
            chat: starts the chat and reports its progress to the callback.
            approver: decides about calls of tools.
            output_mode: the required form of the answer; None for any.
            shows_thinking: whether to print the thinking instead of one line about it.
            is_raw: whether to print the answer without rendering its Markdown.
        """
        self._output_mode = output_mode
        self._spinner = make_spinner("Waiting for the model")
        self._stream = chat(self._show_progress)
        self._thinking = Thinking(self._spinner, is_shown=shows_thinking)
        self._output = AnswerText(is_raw=is_raw)
        self._tools = ToolUse(approver, self._spinner, self._output, stop=self.stop)
        self._text = ""
        self.outcome = TurnOutcome()
        """The outcome so far."""

    async def run(self) -> TurnOutcome:
        """Print the answer as it arrives, and return the outcome, which includes any failure."""
        outcome = self.outcome
        started = time.monotonic()
        try:
            async for delta in self._stream:
                await self._handle_delta(delta)
            result = await self._stream.response()
            self._store_result(result)
            if fault := fault_of_answer(self._output_mode, result):
                outcome.notes.append(f"warning: {fault}")
        except ChatFailed as error:
            self._store_result(error.partial or {})
            outcome.error = error
        except ClientError as error:
            outcome.error = error
        finally:
            await self._tools.close()
            self._finish()
        outcome.seconds = time.monotonic() - started
        return outcome

    def stop(self) -> None:
        """Cancel the turn; `run` then returns the outcome so far."""
        self._stream.cancel()

    def _show_progress(self, message: str, percentage: int | None) -> None:
        if not self._output.is_open:  # The spinner would overwrite the answer, which uses the same rows.
            self._spinner.progress(message, percentage)

    async def _handle_delta(self, delta: Delta) -> None:
        if is_about_call(delta):
            self._thinking.finish()
        if await self._tools.handle(delta):
            return
        if delta.text:
            self._thinking.finish()
            self._spinner.pause()
            self._output.write(delta.text)
            self._text += delta.text
            return
        if delta.type == "thinking_delta":
            self._thinking.write(str(delta.get("text", "")))
        elif delta.type == "start":
            self.outcome.model = f"{delta.get('provider', '')}:{delta.get('model', '')}"
            self.outcome.conversation_id = delta.get("conversationId")
        note = handle_delta(delta, self._spinner)
        if delta.get("stopReason") == "max_rounds":
            note = LIMIT_REACHED
        if delta.type == "start":
            self.outcome.rules_note = note
        elif delta.get("code") == "conversation_not_kept":
            self.outcome.keep_warning = note
        # The user forks the conversation intentionally, by changing or dropping a question: do not warn.
        elif note is not None and delta.get("code") != "conversation_forked":
            self.outcome.notes.append(note)

    def _store_result(self, result: Mapping[str, Any]) -> None:
        self.outcome.content = list(result.get("content") or [])
        self.outcome.usage = result.get("usage") or {}

    def _finish(self) -> None:
        self._thinking.finish()
        self._spinner.stop()
        self._output.finish()
        self.outcome.thinking = self._thinking.text
        if not self.outcome.content and self._text:
            # The daemon died, so there is no partial result.
            self.outcome.content = [{"type": "text", "text": self._text}]
