"""Runs the turns of a conversation, and reports its title and its usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import resolve_choice
from jumpseat.acp.updates import UpdateSink
from jumpseat.chat import ChatError, Message, Response, StopReason, Usage
from jumpseat.connections.keeping import create_keeper, recording_use
from jumpseat.connections.session import InFlight
from jumpseat.engine import Keeper, TurnRequest, run_turn
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking

STOP_REASONS: Mapping[StopReason, str] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "pause_turn": "end_turn",
    "tool_use": "end_turn",
    "max_tokens": "max_tokens",
    "context_exceeded": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "cancelled": "cancelled",
}
"""The protocol's stop reason for each of ours."""


async def run_question(
    client: AcpClient,
    conversation: AcpConversation,
    entry: InFlight,
    messages: Sequence[Message],
    *,
    model: str | None = None,
    system: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Run a turn and return the protocol's stop reason.

    Args:
        conversation: the conversation, which receives the question and the answer.
        entry: the request in flight.
        messages: the messages of the turn; the last is the question.
        model: the model of this turn only.
        system: the system prompt of this turn only.
        settings: settings of this turn only.

    Raises:
        ChatError: the turn failed; the conversation keeps what was received.
    """
    target = await resolve_choice(client.registry, model or conversation.model)
    chosen = conversation.settings.get(target.provider, {}) if target is not None else {}
    ask = TurnRequest(
        messages=tuple(messages),
        system=system or conversation.system,
        model=model or conversation.model,
        thinking=conversation.thinking,
        settings={**chosen, **(settings or {})},
        conversation_id=conversation.branch,
        paths=client.shown_paths_in(conversation.directory),
    )
    keeper = None
    if client.keeps:
        keeper = create_keeper(client, ask, entry.turn_id or "", directory=conversation.directory)
    sink = UpdateSink(client, conversation, on_begin=entry.begun.set, on_answer=entry.on_answer)
    try:
        with recording_use(client, keeper):
            response = await run_turn(client.registry, ask, sink, client.memory, client.tokens, keeper)
    except ChatError as error:
        partial = error.partial
        # If there is no output, leave the question out, so that the next one replaces it.
        if partial is not None and partial.content:
            conversation.messages = (*messages, partial.as_message())
        _use_branch(conversation, keeper)
        raise
    conversation.messages = (*messages, response.as_message())
    _use_branch(conversation, keeper)
    await report_title(client, conversation)
    _report_usage(client, conversation, sink, response)
    return STOP_REASONS.get(response.stop_reason or "end_turn", "end_turn")


def _use_branch(conversation: AcpConversation, keeper: Keeper | None) -> None:
    if keeper is not None:
        conversation.branch = keeper.conversation_id or conversation.branch


async def report_title(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the time of the last change of a kept conversation, and its title if that changed."""
    if not client.keeps:
        return
    try:
        row = await run_blocking(client.conversations.row, conversation.branch)
    except StateError:
        return
    if row is not None:
        title = {"title": row.title} if row.title != conversation.title else {}
        conversation.title = row.title
        changed = row.updated_at.isoformat().replace("+00:00", "Z")
        client.update(conversation.id, "session_info_update", **title, updatedAt=changed)


def _report_usage(
    client: AcpClient, conversation: AcpConversation, sink: UpdateSink, response: Response
) -> None:
    usage, start = response.usage, sink.start
    if usage is None or start is None:
        return
    conversation.add_cost(usage.cost)
    known = client.registry.known_model(start.provider, start.model)
    size = known.info.max_context_tokens if known is not None else None
    if size is not None:
        client.update(conversation.id, "usage_update", **_encode_usage(usage, size, conversation))


def _encode_usage(usage: Usage, size: int, conversation: AcpConversation) -> dict[str, Any]:
    encoded: dict[str, Any] = {"used": usage.input_tokens + usage.output_tokens, "size": size}
    if conversation.cost is not None:
        encoded["cost"] = {"amount": conversation.cost.amount, "currency": conversation.cost.currency}
    return encoded
