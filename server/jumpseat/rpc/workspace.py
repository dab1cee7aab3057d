"""The client's workspace: its folders, as LSP names them, and its rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumpseat.connections.session import Session
from jumpseat.connections.uris import path_of_uri
from jumpseat.context.rules import WorkspaceRules, read_rules
from jumpseat.rpc.params import InitializeParams, TurnParams
from jumpseat.system.threads import run_blocking


def find_folders(params: InitializeParams) -> Sequence[Path]:
    """Return the client's workspace folders, or else its root; empty if the client names neither."""
    folders: Any = params.workspace_folders
    uris = (
        [each.get("uri") for each in folders if isinstance(each, dict)] if isinstance(folders, list) else []
    )
    paths = [path for uri in uris if (path := path_of_uri(uri)) is not None]
    root = path_of_uri(params.root_uri)
    return paths or ([] if root is None else [root])


async def read_workspace_rules(session: Session, params: TurnParams) -> WorkspaceRules | None:
    """Return the rules of the first workspace folder in the params, or else of the session's directory.

    Returns:
        None if the client does not ask for the rules.
    """
    if not params.workspace_rules:
        return None
    named = (params.workspace_folders or [""])[0]
    folder = path_of_uri(named) or Path(named)
    return await run_blocking(read_rules, folder if folder.is_absolute() else session.directory)
