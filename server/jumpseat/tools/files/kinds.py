"""The kinds of entries of the file system."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal, TypeAlias

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]


def find_kind(path: Path) -> EntryKind | None:
    """Return the kind of the entry at a path; None if there is none. Blocks."""
    try:
        return _kind_of(stat.S_IFMT(path.lstat().st_mode))
    except OSError:
        return None


def find_kind_of_entry(entry: os.DirEntry[str]) -> EntryKind:
    """Return the kind of an entry of a folder. Seldom needs a system call."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind_of(mode: int) -> EntryKind:
    kinds: dict[int, EntryKind] = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFREG: "file"}
    return kinds.get(mode, "other")
