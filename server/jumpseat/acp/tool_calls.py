"""Shows the tool calls of a turn to the client, and asks its user for approvals."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jumpseat.acp.client import AcpClient
from jumpseat.acp.content import encode_block
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.permissions import ask_permission
from jumpseat.chat import (
    FileDiff,
    TextBlock,
    ToolApprovalEvent,
    ToolResultBlock,
    ToolStatusEvent,
    ToolUseBlock,
    ToolUseDoneEvent,
    ToolUseStartEvent,
)
from jumpseat.connections.uris import path_of_uri
from jumpseat.tools.approvals import Approvals
from jumpseat.tools.display import make_title, show_arguments
from jumpseat.tools.server import Preview
from jumpseat.tools.turn_tools import TurnTools

CallEvent: TypeAlias = ToolUseStartEvent | ToolUseDoneEvent | ToolApprovalEvent | ToolStatusEvent

STATUSES = {"running": "in_progress", "completed": "completed", "failed": "failed", "denied": "failed"}
"""The protocol's status for each of our statuses."""

REASONS = {
    "changed": "This tool has changed since you allowed it.",
    "outside": "This call uses a path outside the directories of the session.",
}
"""The sentence to show below a call, by the reason for asking."""


@dataclass(slots=True)
class _ShownCall:
    """A call that the client shows."""

    id: str
    """The id that the client knows, unique in the conversation; see `AcpConversation.make_call_id`."""

    title: str
    kind: str
    diffs: Sequence[Mapping[str, Any]] = ()
    """The changes to files, in the protocol's form."""

    locations: Sequence[Mapping[str, Any]] = ()
    question: asyncio.Task[None] | None = None
    is_finished: bool = False


class TurnCalls:
    """The tool calls of one turn."""

    def __init__(
        self,
        client: AcpClient,
        conversation: AcpConversation,
        tools: TurnTools,
        approvals: Approvals,
        turn_id: str,
    ) -> None:
        """
        Args:
            client: the client.
            conversation: the conversation of the turn.
            tools: the tools of the turn.
            approvals: receives the user's decisions.
            turn_id: the id of the turn.
        """
        self._client = client
        self._conversation = conversation
        self._tools = tools
        self._approvals = approvals
        self._turn_id = turn_id
        self._calls: dict[str, _ShownCall] = {}
        """The calls, by the provider's id."""

        tools.on_preview = self._show_preview

    def show(self, event: CallEvent) -> None:
        """Show an event of a call."""
        match event:
            case ToolUseStartEvent():
                self._begin(event)
            case ToolUseDoneEvent(content=block):
                self._update(block.id, rawInput=show_arguments(block.arguments or {}))
            case ToolApprovalEvent():
                call = self._calls[event.tool_use_id]
                call.question = asyncio.create_task(self._ask(call, event))
            case ToolStatusEvent():
                self._show_status(event)

    def show_result(self, result: ToolResultBlock) -> None:
        """Show the result of a call."""
        call = self._calls[result.tool_use_id]
        call.is_finished = True
        diffs = () if result.is_error else call.diffs
        self._update(result.tool_use_id, **encode_result(result, diffs))

    def fail_unfinished(self) -> None:
        """Mark calls without a result as failed, when the model restarts its answer or the turn ends."""
        for tool_use_id, call in self._calls.items():
            if not call.is_finished:
                call.is_finished = True
                self._update(tool_use_id, status="failed")

    def close(self) -> None:
        """Close the open questions, and mark unfinished calls as failed."""
        for call in self._calls.values():
            if call.question is not None:
                call.question.cancel()
        self.fail_unfinished()

    def _begin(self, event: ToolUseStartEvent) -> None:
        offered = self._tools.find(event.name)
        title, kind = event.name, "other"
        if offered is not None:
            title, kind = (
                offered.tool.title or f"{offered.server.name}/{offered.tool.name}",
                offered.tool.kind,
            )
        call = _ShownCall(self._conversation.make_call_id(event.id), make_title(title), kind)
        self._calls[event.id] = call
        self._send("tool_call", call, status="pending")

    def _show_preview(self, block: ToolUseBlock, preview: Preview) -> None:
        call = self._calls[block.id]
        call.title = make_title(preview.title)
        call.diffs = encode_diffs(preview.diff)
        call.locations = [{"path": str(path)} for path in preview.paths]
        shown = {"content": call.diffs, "locations": call.locations}
        self._update(block.id, **{key: value for key, value in shown.items() if value})

    def _show_status(self, event: ToolStatusEvent) -> None:
        call = self._calls[event.tool_use_id]
        if call.question is not None:
            # The answer to another question may have decided this call too. The question about this call is
            # then still open.
            call.question.cancel()
        fields: dict[str, Any] = {"status": STATUSES[event.status]}
        if event.status == "running" and (progress := describe_progress(event)):
            fields["content"] = [*call.diffs, encode_text(progress)]
        self._update(event.tool_use_id, **fields)

    async def _ask(self, call: _ShownCall, event: ToolApprovalEvent) -> None:
        reason = REASONS.get(event.reason)
        shown = {
            "toolCallId": call.id,
            "title": call.title,
            "kind": call.kind,
            "status": "pending",
            "rawInput": event.arguments,
            # Put the diff first, because some clients look for a diff only in the first element.
            "content": [*call.diffs, *([] if reason is None else [encode_text(reason)])],
            "locations": call.locations,
        }
        tool = f"{event.server}/{event.tool}"
        decision = await ask_permission(self._client, self._conversation.id, shown, tool, event.remember)
        self._approvals.decide(self._turn_id, event.tool_use_id, decision)

    def _update(self, tool_use_id: str, **fields: Any) -> None:
        self._send("tool_call_update", self._calls[tool_use_id], **fields)

    def _send(self, variant: str, call: _ShownCall, **fields: Any) -> None:
        # Repeat the title and the kind, because some clients show each update by itself.
        shown = {"toolCallId": call.id, "title": call.title, "kind": call.kind}
        self._client.update(self._conversation.id, variant, **shown, **fields)


def encode_result(result: ToolResultBlock, diffs: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the fields of an update with a result."""
    parts = [TextBlock(result.content)] if isinstance(result.content, str) else result.content
    content = [{"type": "content", "content": encode_block(part)} for part in parts]
    return {"status": "failed" if result.is_error else "completed", "content": [*diffs, *content]}


def encode_diffs(diffs: Sequence[FileDiff]) -> list[dict[str, Any]]:
    """Return changes to files as content of a call."""
    return [
        {
            "type": "diff",
            "path": str(path),
            **({} if diff.old_text is None else {"oldText": diff.old_text}),
            "newText": diff.new_text,
        }
        for diff in diffs
        if (path := path_of_uri(diff.uri)) is not None
    ]


def encode_text(text: str) -> dict[str, Any]:
    """Return a text as content of a call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def describe_progress(event: ToolStatusEvent) -> str:
    """Return the progress of a call as a line; empty if the event does not contain progress."""
    number = "" if event.progress is None else f"{event.progress:g}"
    if event.total is not None:
        number = f"{number} of {event.total:g}"
    return ": ".join(filter(None, (number, event.message)))
