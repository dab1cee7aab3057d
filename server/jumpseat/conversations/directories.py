"""The directory of the kept conversations, and the form in which the index compares working directories."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from jumpseat.system.state_file import StateError


def directory_key(directory: str) -> str:
    """Return the form in which an absolute directory is stored and compared; it ends with a separator."""
    key = os.path.normcase(os.path.normpath(directory)).rstrip(os.sep) + os.sep
    # A name that is not valid UTF-8 contains lone surrogates, which SQLite cannot store.
    return key.encode("utf-8", "backslashreplace").decode()


def resolve_links(directory: str) -> str:
    """Return the directory with its links resolved, as far as it exists."""
    try:
        return os.path.realpath(directory)
    except (OSError, ValueError):  # The path contains a null byte or, on Windows, a loop of links.
        return directory


def conversations_directory(state_dir: Path) -> Path:
    """Return the directory of the kept conversations in a state directory."""
    return state_dir / "conversations"


def check_directory(directory: Path) -> None:
    """Check that no other user can change the kept conversations; a missing directory passes.

    Raises:
        StateError: the directory is a link, belongs to another user, or can be written by others.
    """
    try:
        status = directory.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode):
        fault, hint = "is a symbolic link", f"Replace the link with a directory: {directory}"
    elif sys.platform == "win32":
        return  # The directory inherits the access list of the user's profile.
    elif status.st_uid != os.geteuid():
        fault, hint = (
            "belongs to another user",
            f"Make yourself the owner: sudo chown -R {os.geteuid()} {directory}",
        )
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        fault, hint = "can be written by other users", f"Run: chmod 700 {directory}"
    else:
        return
    raise StateError(f"{directory} {fault}, so the conversations in it are not used.", hint=hint)
