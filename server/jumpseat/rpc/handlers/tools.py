"""Handles `tools/…` and `mcp/…`, and opens tools for a chat or one call. See `docs/protocol/tools.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpseat.chat import ConfigError, InvalidRequestError, ToolDefinition
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.tools import begin_turn_with_tools, open_tools
from jumpseat.connections.uris import path_of_uri
from jumpseat.engine.tokens import estimate_tool_tokens
from jumpseat.rpc.handlers.server_sign_ins import follow_server_sign_ins
from jumpseat.rpc.params import (
    ChatStartParams,
    McpRestartParams,
    McpTrustParams,
    StreamParams,
    ToolsDecideParams,
    ToolsListParams,
    ToolsRunParams,
)
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import compute

if TYPE_CHECKING:
    from jumpseat.tools.host import ListedTool
    from jumpseat.tools.server import ToolServer
    from jumpseat.tools.turn_tools import TurnTools

DID_CHANGE = "tools/didChange"

MANY_TOOLS = 500
"""The number of tools above which their rows are encoded in a thread."""


async def begin_chat_with_tools(
    session: Session, params: ChatStartParams, turn_id: str, conversation_id: str | None
) -> TurnTools:
    """Return the tools for a chat.

    Raises:
        InvalidRequestError: a selector or a workspace folder is not valid.
    """
    return await _begin(
        session, params, params.daemon_tools, turn_id, conversation_id, max_rounds=params.max_rounds
    )


async def begin_call(session: Session, params: ToolsRunParams, turn_id: str) -> TurnTools:
    """Return the tool for one call outside a chat.

    Raises:
        InvalidRequestError: there is no such server, or a workspace folder is not valid.
    """
    server = (await open_tools(session)).find_server(params.server)
    return await _begin(session, params, [f"{server.name}/{params.tool}"], turn_id, params.conversation_id)


async def _begin(
    session: Session,
    params: StreamParams,
    selectors: Sequence[str],
    turn_id: str,
    conversation_id: str | None,
    *,
    max_rounds: int | None = None,
) -> TurnTools:
    from jumpseat.rpc.editor import EditorWorkspace, has_capability  # Deferred: most chats have no tools.

    await announce_changes(session)
    folders = list(session.folders)
    for index, text in enumerate(params.workspace_folders or ()):
        path = path_of_uri(text) or Path(text)
        if not path.is_absolute():
            raise InvalidRequestError.at(
                f"workspaceFolders.{index}", "must be an absolute path or a file: URI"
            )
        # The folders of the request replace the folders of the session.
        folders = [path] if index == 0 else [*folders, path]
    return await begin_turn_with_tools(
        session,
        selectors,
        EditorWorkspace(session, folders),
        turn_id=turn_id,
        conversation_id=conversation_id,
        max_rounds=max_rounds,
        can_ask=params.stream and has_capability(session, "experimental", "jumpseat", "approveTools"),
    )


async def announce_changes(session: Session) -> None:
    """Notify the client when its tools change or a sign-in to a tool server changes, from now on."""
    host = await open_tools(session)
    if session.announces_tools:
        return
    session.announces_tools = True
    host.on_change = lambda: session.outbox.notify(DID_CHANGE, {})
    follow_server_sign_ins(session, host)


async def tools_decide(session: Session, call: MethodCall[ToolsDecideParams]) -> dict[str, Any]:
    """Apply the user's decision to a call that waits for an approval."""
    from jumpseat.tools.approvals import Decision  # Deferred: few chats have tools.

    params = call.params
    if session.tools is None:
        return {"decided": False}
    decision = Decision(params.decision == "allow", params.remember, params.scope, params.message)
    return {"decided": session.tools.approvals.decide(params.turn_id, params.tool_use_id, decision)}


async def tools_list(session: Session, call: MethodCall[ToolsListParams]) -> dict[str, Any]:
    """Return the tools and their servers."""
    await announce_changes(session)
    host = await open_tools(session)
    listed = await host.list_tools(refresh=call.params.refresh)
    return {
        "tools": await compute(len(listed) > MANY_TOOLS, _tools_to_wire, listed),
        "servers": [server_to_wire(server) for server in host.servers.values()],
    }


async def mcp_restart(session: Session, call: MethodCall[McpRestartParams]) -> dict[str, Any]:
    """Restart a server, and return its row of `tools/list`."""
    host = await open_tools(session)
    server = host.find_server(call.params.server)
    await server.restart()
    return server_to_wire(server)


async def mcp_trust(session: Session, call: MethodCall[McpTrustParams]) -> dict[str, Any]:
    """Trust a server of the workspace, or withdraw the trust, and return the server's row."""
    host = await open_tools(session)
    server = host.find_server(call.params.server)
    await server.prepare()
    try:
        await server.set_trust(call.params.fingerprint, trusted=call.params.trusted)
    except StateError as error:
        raise ConfigError(error.message, hint=error.hint) from None
    return server_to_wire(server)


def _tools_to_wire(listed: Sequence[ListedTool]) -> list[dict[str, Any]]:
    return [_tool_to_wire(each) for each in listed]


def _tool_to_wire(listed: ListedTool) -> dict[str, Any]:
    tool = listed.tool
    return {
        "server": listed.server,
        "tool": tool.name,
        **({} if tool.title is None else {"title": tool.title}),
        "description": tool.description,
        "parameters": tool.parameters,
        "decision": listed.decision,
        "tokens": estimate_tool_tokens(ToolDefinition(tool.name, tool.description, tool.parameters)),
    }


def server_to_wire(server: ToolServer) -> dict[str, Any]:
    """Return a server's row of `tools/list`."""
    status = server.status
    row = {
        "name": server.name,
        "origin": server.origin,
        "state": status.state,
        "definition": status.definition,
        "fingerprint": status.fingerprint,
        "error": status.error,
    }
    return {key: value for key, value in row.items() if value is not None}
