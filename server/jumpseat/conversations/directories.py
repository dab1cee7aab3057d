"""The directory of the kept conversations; working directories as the index compares them, links resolved."""

from __future__ import annotations

import os
from pathlib import Path


def directory_key(directory: str) -> str:
    """An absolute directory in the form in which it is stored and compared; it ends with a separator."""
    key = os.path.normcase(os.path.normpath(directory)).rstrip(os.sep) + os.sep
    # A name that is no UTF-8 comes with lone surrogates, which SQLite's texts cannot hold.
    return key.encode("utf-8", "backslashreplace").decode()


def resolved(directory: str) -> str:
    """The directory with its links resolved; one that does not exist as far as it does."""
    try:
        return os.path.realpath(directory)
    except (OSError, ValueError):  # A null byte, or on Windows a loop of links.
        return directory


def conversations_directory(state_dir: Path) -> Path:
    """Where a state directory has its kept conversations."""
    return state_dir / "conversations"
