"""Runs the turns of a conversation, and reports its title and its usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import resolve_choice
from jumpseat.acp.options import select_settings
from jumpseat.acp.updates import UpdateSink
from jumpseat.chat import ChatError, Message, Response, StopReason, Usage
from jumpseat.chat.json_form import to_json_form
from jumpseat.chat.usage import add_costs
from jumpseat.connections.keeping import create_keeper, record_use
from jumpseat.connections.session import InFlight
from jumpseat.engine import Keeper, TurnRequest, run_turn
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking

if TYPE_CHECKING:
    from jumpseat.tools.turn_tools import TurnTools

STOP_REASONS: Mapping[StopReason, str] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "pause_turn": "end_turn",
    "tool_use": "end_turn",
    "max_tokens": "max_tokens",
    "context_exceeded": "max_tokens",
    "max_rounds": "max_turn_requests",
    "refusal": "refusal",
    "content_filter": "refusal",
    "cancelled": "cancelled",
}
"""The protocol's stop reason for each of our stop reasons."""


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
        model: a model for this turn only; None for the conversation's model.
        system: a system prompt for this turn only; None for the conversation's system prompt.
        settings: settings for this turn only, in addition to the conversation's settings.

    Raises:
        ChatError: the turn failed; the conversation keeps the partial answer, if there is any output.
    """
    from jumpseat.acp.tools import begin_tools  # Deferred: the handshake does not need the tools.

    target = await resolve_choice(client.registry, model or conversation.model)
    chosen = select_settings(client, conversation, target.provider) if target is not None else {}
    request = TurnRequest(
        messages=tuple(messages),
        system=system or conversation.system,
        model=model or conversation.model,
        thinking=conversation.thinking,
        settings={**chosen, **(settings or {})},
        conversation_id=conversation.branch,
        paths=client.shown_paths_in(conversation.directory),
    )
    turn_id = entry.turn_id or ""
    keeper = None
    if client.keeps:
        keeper = create_keeper(
            client,
            request,
            turn_id,
            directory=conversation.directory,
            kept_session=(conversation.id, conversation.choices),
        )
    sink = UpdateSink(client, conversation, on_begin=entry.begun.set, on_answer=entry.on_answer)
    tools: TurnTools | None = None
    try:
        if (begun := await begin_tools(client, conversation, request, turn_id)) is not None:
            tools, sink.calls = begun
        answer = await run_turn(client.registry, request, sink, client.memory, client.tokens, keeper, tools)
    except ChatError as error:
        _use_branch(conversation, keeper)
        # If there is no output, leave the question out, so that the next question takes its place.
        if error.partial is not None and error.partial.content:
            await _continue_with(client, conversation, sink, messages, error.partial)
        raise
    finally:
        sink.close()
        record_use(client, keeper)
    _use_branch(conversation, keeper)
    await _continue_with(client, conversation, sink, messages, answer)
    return STOP_REASONS.get(answer.stop_reason or "end_turn", "end_turn")


def _use_branch(conversation: AcpConversation, keeper: Keeper | None) -> None:
    if keeper is not None:
        conversation.branch = keeper.conversation_id or conversation.branch


async def _continue_with(
    client: AcpClient,
    conversation: AcpConversation,
    sink: UpdateSink,
    messages: Sequence[Message],
    answer: Response,
) -> None:
    """Continue the conversation with a complete or partial answer, and report its new title and usage."""
    conversation.messages = (*messages, answer.as_message())
    await report_title(client, conversation)
    if answer.usage is not None and sink.start is not None:
        conversation.cost = add_costs(conversation.cost, answer.usage.cost)
        report_usage(client, conversation, sink.start.provider, sink.start.model, answer.usage)


async def report_title(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the time of the last change of a kept conversation, and the title if it has changed."""
    if not client.keeps:
        return
    try:
        row = await run_blocking(client.conversations.row, conversation.branch)
    except StateError:
        return
    if row is not None:
        title = {"title": row.title} if row.title != conversation.title else {}
        conversation.title = row.title
        changed = to_json_form(row.updated_at)
        client.update(conversation.id, "session_info_update", **title, updatedAt=changed)


def report_usage(
    client: AcpClient, conversation: AcpConversation, provider: str, model: str, usage: Usage
) -> None:
    """Send how much of the model's context a turn used, and the cost of all turns.

    If the size of the context is unknown, nothing is sent.
    """
    known = client.registry.known_model(provider, model)
    size = known.info.max_context_tokens if known is not None else None
    if size is None:
        return
    cost = {} if conversation.cost is None else {"cost": to_json_form(conversation.cost)}
    used = usage.input_tokens + usage.output_tokens
    client.update(conversation.id, "usage_update", used=used, size=size, **cost)
