"""Handles `session/prompt` and `session/cancel`."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from jumpseat.acp.client import AcpClient
from jumpseat.acp.commands import parse_command, run_command
from jumpseat.acp.conversation import AcpConversation, LatestPrompt
from jumpseat.acp.params import ConversationIdParams, PromptParams
from jumpseat.acp.prompt_content import read_content
from jumpseat.acp.turns import run_question
from jumpseat.chat import ChatCancelled, InvalidRequestError, Message
from jumpseat.connections.faults import RpcFault
from jumpseat.connections.method import MethodCall
from jumpseat.wire import INVALID_REQUEST

CANCELLED = {"stopReason": "cancelled"}


def reserve_prompt(client: AcpClient, call: MethodCall[PromptParams]) -> None:
    """Record the prompt before the next message is read, because that message may cancel the prompt.

    Raises:
        RpcFault: another prompt of the conversation is running.
    """
    call.entry.turn_id = uuid4().hex
    client.turns[call.entry.turn_id] = call.request_id
    conversation = client.open_conversations.get(call.params.session_id)
    if conversation is None:
        return  # The handler reports the unknown session.
    running = conversation.turn
    if running is not None and not running.entry.finished.is_set():
        raise RpcFault(INVALID_REQUEST, "Another prompt of this session is still running.")
    conversation.turn = LatestPrompt(call.request_id, call.entry)


async def prompt(client: AcpClient, call: MethodCall[PromptParams]) -> dict[str, Any]:
    """Run a command or a turn, and respond with the reason why it ended."""
    conversation = client.conversation(call.params.session_id)
    turn = conversation.turn
    if turn is None or turn.request_id != call.request_id:
        raise RuntimeError("a prompt was started without being reserved")
    if turn.is_cancelled:
        return CANCELLED
    turn.has_started = True
    try:
        return {"stopReason": await _answer(client, conversation, call)}
    except (ChatCancelled, asyncio.CancelledError):
        return CANCELLED


async def _answer(client: AcpClient, conversation: AcpConversation, call: MethodCall[PromptParams]) -> str:
    content = await read_content(client, conversation, call.params.prompt)
    if not content:
        raise InvalidRequestError.at("prompt", "must not be empty")
    line = parse_command(client, content)
    if line is not None:
        return await run_command(client, conversation, call.entry, line)
    question = Message("user", tuple(content))
    return await run_question(client, conversation, call.entry, (*conversation.messages, question))


def cancel(client: AcpClient, call: MethodCall[ConversationIdParams]) -> None:
    """Cancel the running prompt of a conversation, if there is one."""
    conversation = client.open_conversations.get(call.params.session_id)
    if conversation is not None:
        client.cancel_prompt(conversation)
