"""Converts clients' URIs to paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pygls.uris import to_fs_path


def path_of_uri(uri: Any) -> Path | None:
    """Return the path of a `file:` URI; None for other values and for paths that are not absolute."""
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return None
    try:
        path = to_fs_path(uri)
    except ValueError:
        return None
    return Path(path) if path and Path(path).is_absolute() else None
