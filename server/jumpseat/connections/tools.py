"""Opens the tools of a session and of its turns, for `rpc/` and `acp/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import uuid4

from jumpseat.connections.keeping import can_be_kept
from jumpseat.connections.session import Session
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking

if TYPE_CHECKING:
    from jumpseat.tools.host import ToolHost
    from jumpseat.tools.server import ToolServer
    from jumpseat.tools.turn_tools import TurnTools
    from jumpseat.tools.workspace import Workspace


async def open_tools(session: Session) -> ToolHost:
    """Return the session's tools, creating them on first use."""
    if session.tools is None:
        from jumpseat.tools.files.server import NAME, FileTools  # Deferred: most clients use no tools.
        from jumpseat.tools.host import ToolHost
        from jumpseat.tools.plugins import load_plugins

        plugins = await run_blocking(load_plugins, session.environment, {NAME})
        if session.tools is None:  # Another request may have created them meanwhile.
            config = session.registry.config
            folder = session.folders[0] if session.folders else None
            servers = [FileTools(session.environment, config.file), *plugins]
            session.tools = ToolHost(config, servers, folder)
    return session.tools


async def begin_turn_with_tools(
    session: Session,
    selectors: Sequence[str],
    workspace: Workspace,
    *,
    turn_id: str,
    conversation_id: str | None,
    max_rounds: int | None,
    can_ask: bool,
    own_servers: Mapping[str, ToolServer] = MappingProxyType({}),
) -> TurnTools:
    """Return the tools for a turn.

    Args:
        session: the client's session.
        selectors: the tools that the client selected.
        workspace: the client's folders and unsaved files.
        turn_id: the id of the turn.
        conversation_id: the conversation that the client named; None for a turn without one.
        max_rounds: the client's limit on requests to the provider; None if it has none.
        can_ask: whether the client can ask the user for an approval.
        own_servers: the conversation's own servers, which replace others with the same name.

    Raises:
        InvalidRequestError: see `ToolHost.begin_turn`.
    """
    from jumpseat.tools.server import CallContext  # Deferred: most clients use no tools.

    host = await open_tools(session)
    # The turn's id would not do as a key: clients choose these ids, so two clients may choose the same one.
    key = uuid4().hex if conversation_id is None else await _find_root(session, conversation_id)
    return host.begin_turn(
        selectors,
        CallContext(session.environment, workspace, key),
        turn_id=turn_id,
        max_rounds=max_rounds,
        has_conversation_id=conversation_id is not None,
        can_ask=can_ask,
        own_servers=own_servers,
    )


async def _find_root(session: Session, conversation_id: str) -> str:
    """Follow `fork_of` back from this conversation, and return the id of the first conversation."""
    from jumpseat.conversations.forks import find_root  # Deferred: most clients use no tools.

    if not can_be_kept(conversation_id):
        return conversation_id
    try:
        return await run_blocking(find_root, session.conversations.row, conversation_id)
    except StateError:
        return conversation_id
