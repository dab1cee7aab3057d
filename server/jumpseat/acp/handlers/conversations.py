"""Handles `session/new`, `load`, `resume`, `list`, `delete`, `close` and `set_config_option`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jumpseat.acp.client import AcpClient, UnknownSessionError, absolute_path
from jumpseat.acp.commands import announce_commands
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import require_provider
from jumpseat.acp.options import list_options, set_option
from jumpseat.acp.params import (
    ConversationIdParams,
    ListParams,
    OpenParams,
    OptionParams,
    SetupParams,
)
from jumpseat.acp.restoring import report_kept_usage, restore
from jumpseat.acp.turns import report_title
from jumpseat.chat import RequestError
from jumpseat.chat.json_form import to_json_form
from jumpseat.config.state_files import use_state_file
from jumpseat.connections.faults import RpcFault
from jumpseat.connections.method import MethodCall
from jumpseat.wire import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from jumpseat.tools.server import ToolServer


async def new_session(client: AcpClient, call: MethodCall[SetupParams]) -> dict[str, Any]:
    """Begin a conversation."""
    from jumpseat.conversations import new_id  # Deferred: the handshake does not need it.

    await require_provider(client.registry)
    conversation = _open(client, call.params, new_id(datetime.now(UTC)))

    async def announce() -> None:
        announce_commands(client, conversation)

    _run_after_response(client, call, announce)
    return {"sessionId": conversation.id, "configOptions": await list_options(client, conversation)}


async def load_session(client: AcpClient, call: MethodCall[OpenParams]) -> dict[str, Any]:
    """Open a kept conversation and send its messages to the client."""
    conversation = await _restore(client, call)
    from jumpseat.acp.replay import replay  # Deferred: few clients load a session.

    await replay(client, conversation)
    await report_title(client, conversation)
    return {"configOptions": await list_options(client, conversation)}


async def resume_session(client: AcpClient, call: MethodCall[OpenParams]) -> dict[str, Any]:
    """Open a kept conversation whose messages the client already has."""
    return {"configOptions": await list_options(client, await _restore(client, call))}


async def list_sessions(client: AcpClient, call: MethodCall[ListParams]) -> dict[str, Any]:
    """Return a page of the kept conversations, most recently changed first."""
    _require_keeping(client)
    library, params = client.library, call.params
    directory = None if params.cwd is None else str(absolute_path("cwd", params.cwd))
    page = await use_state_file(
        lambda: library.index.page(directory=directory, cursor=params.cursor, by_session=True)
    )
    sessions = [
        {
            "sessionId": row.id,
            "cwd": row.cwd or str(client.directory),
            "title": row.title,
            "updatedAt": to_json_form(row.updated_at),
        }
        for row in page.conversations
    ]
    return {"sessions": sessions, **({"nextCursor": page.next_cursor} if page.next_cursor else {})}


async def delete_session(client: AcpClient, call: MethodCall[ConversationIdParams]) -> dict[str, Any]:
    """Close a conversation and delete its kept turns. An unknown id is not an error."""
    _require_keeping(client)
    await _end_prompt(client, call.params.session_id)
    _close(client, call.params.session_id)
    await use_state_file(client.conversations.delete_session, call.params.session_id)
    return {}


async def close_session(client: AcpClient, call: MethodCall[ConversationIdParams]) -> dict[str, Any]:
    """Cancel a conversation's prompt and close the conversation. Its kept turns remain."""
    client.conversation(call.params.session_id)
    _close(client, call.params.session_id)
    return {}


async def set_config_option(client: AcpClient, call: MethodCall[OptionParams]) -> dict[str, Any]:
    """Change an option and respond with all options."""
    conversation = client.conversation(call.params.session_id)
    await set_option(client, conversation, call.params.config_id, call.params.value)
    return {"configOptions": await list_options(client, conversation)}


def _open(client: AcpClient, params: SetupParams, conversation_id: str) -> AcpConversation:
    directory = absolute_path("cwd", params.cwd)
    more = [
        absolute_path(f"additionalDirectories.{index}", path)
        for index, path in enumerate(params.additional_directories)
    ]
    servers: Mapping[str, ToolServer] = {}
    if params.mcp_servers:
        from jumpseat.acp.servers import create_servers  # Deferred: many clients have no servers.

        servers = create_servers(client, params.mcp_servers)
    _close(client, conversation_id)
    conversation = AcpConversation(conversation_id, directory, more, servers=servers)
    client.open_conversations[conversation_id] = conversation
    return conversation


def _close(client: AcpClient, conversation_id: str) -> None:
    if (conversation := client.open_conversations.pop(conversation_id, None)) is not None:
        client.cancel_prompt(conversation)
        client.release_servers(conversation)


async def _end_prompt(client: AcpClient, conversation_id: str) -> None:
    """Cancel the running prompt of a conversation, if there is one, and wait until it has ended."""
    conversation = client.open_conversations.get(conversation_id)
    if conversation is not None and conversation.turn is not None:
        client.cancel_prompt(conversation)
        await conversation.turn.entry.finished.wait()


async def _restore(client: AcpClient, call: MethodCall[OpenParams]) -> AcpConversation:
    """Open a kept conversation, on the branch that was used last."""
    _require_keeping(client)
    await require_provider(client.registry)
    await _end_prompt(client, call.params.session_id)
    try:
        kept = await use_state_file(client.conversations.get_session, call.params.session_id)
    except RequestError:
        raise UnknownSessionError(call.params.session_id) from None
    conversation = _open(client, call.params, call.params.session_id)
    restore(client, conversation, kept)
    client.use_conversation(conversation.branch)

    async def announce() -> None:
        announce_commands(client, conversation)
        await report_kept_usage(client, conversation, kept)

    _run_after_response(client, call, announce)
    return conversation


def _run_after_response(
    client: AcpClient, call: MethodCall[Any], announce: Callable[[], Awaitable[None]]
) -> None:
    """Send updates after the response: a client that does not have the session's id yet ignores updates."""

    async def wait_and_announce() -> None:
        await call.entry.finished.wait()
        await announce()

    client.run_in_background("announcing a session", wait_and_announce)


def _require_keeping(client: AcpClient) -> None:
    if not client.keeps:
        raise RpcFault(METHOD_NOT_FOUND, "Keeping conversations is switched off.")
