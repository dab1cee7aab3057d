"""The client's working directory, as LSP names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pygls.uris import to_fs_path

from jumpseat.rpc.params import InitializeParams


def find_workspace(params: InitializeParams) -> Path | None:
    """Return the first workspace folder, else the root, or None if the client names neither."""
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
