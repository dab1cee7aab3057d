"""The client's workspace: its folders, as LSP names them, and its rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pygls.uris import to_fs_path

from jumpseat.connections.session import Session
from jumpseat.context.rules import WorkspaceRules, read_rules
from jumpseat.rpc.params import InitializeParams, TurnParams
from jumpseat.system.threads import run_blocking


def find_folders(params: InitializeParams) -> Sequence[Path]:
    """Return the workspace folders, else the root, or nothing if the client names neither."""
    folders: Any = params.workspace_folders
    uris = (
        [each.get("uri") for each in folders if isinstance(each, dict)] if isinstance(folders, list) else []
    )
    paths = [path for uri in uris if (path := to_path(uri)) is not None]
    root = to_path(params.root_uri)
    return paths or ([] if root is None else [root])


def to_path(uri: Any) -> Path | None:
    """Return the absolute path of a `file:` URI; None if it is not one."""
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return None
    try:
        path = to_fs_path(uri)
    except ValueError:
        return None
    return Path(path) if path and Path(path).is_absolute() else None


async def read_workspace_rules(session: Session, params: TurnParams) -> WorkspaceRules | None:
    """Return the rules of the first folder, or of the working directory, if the client asks for them."""
    if not params.workspace_rules:
        return None
    named = (params.workspace_folders or [""])[0]
    folder = to_path(named) or Path(named)
    return await run_blocking(read_rules, folder if folder.is_absolute() else session.directory)
