"""Which turns of a session are kept, and in whose name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pygls.uris import to_fs_path

from jumpseat.chat import Message
from jumpseat.conversations import NewTurn, new_id
from jumpseat.engine import Keeper, TurnAsk
from jumpseat.rpc.params import InitializeParams
from jumpseat.rpc.session import Session


def keeper_of(
    session: Session, ask: TurnAsk, turn_id: str, messages: Sequence[Message] | None = None
) -> Keeper:
    """The keeper of a turn that the client wants to be kept.

    Args:
        session: the client's.
        ask: the turn.
        turn_id: its id.
        messages: what is kept, if it differs from the messages of the turn.
    """
    client = session.client_info
    turn = NewTurn(
        conversation_id=ask.conversation_id or new_id(datetime.now(UTC)),
        turn_id=turn_id,
        messages=ask.messages if messages is None else messages,
        system=ask.system,
        settings=ask.settings,
        directory=session.workspace or session.environment.directory,
        client=None if client is None else client.name,
    )
    keeps = session.registry.config.conversations.keep
    keeper = Keeper(session.conversations if keeps else None, turn, session.warned_not_kept)
    session.keepers.add(keeper)
    return keeper


def workspace_of(params: InitializeParams) -> Path | None:
    """The directory of the first workspace folder, else of the root; None if the client names none."""
    folders: Any = params.workspace_folders
    first = folders[0] if isinstance(folders, list) and folders else None
    for uri in (first.get("uri") if isinstance(first, dict) else None, params.root_uri):
        if isinstance(uri, str) and uri.startswith("file:"):
            try:
                path = to_fs_path(uri)
            except ValueError:
                continue
            if path and Path(path).is_absolute():
                return Path(path)
    return None
