"""The directory of the daemon's socket: safe from other users, and the same for all clients of a user."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - mypy reads it

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from jumpseat.hub.failures import CannotShareError

LONGEST_SOCKET_PATH = 100
"""In bytes; macOS holds 103 and a zero."""

LONGEST_NAME = len("/") + 16 + len(".sock")
"""Of a socket in the directory, with the separator."""

_DARWIN_USER_TEMP_DIR = 65537  # of <unistd.h>


def run_directory(variables: Mapping[str, str]) -> Path:
    """The first usable place, made if it does not exist.

    Raises:
        CannotShareError: there is none.
    """
    reasons = []
    for path in candidates(os.getuid(), variables):
        reason = _prepare(path)
        if reason is None:
            return path
        reasons.append(f"{path}: {reason}")
    raise CannotShareError(f"there is no safe directory for the daemon's socket ({'; '.join(reasons)})")


def candidates(uid: int, variables: Mapping[str, str]) -> Iterator[Path]:
    """Where the directory may be, best first. Never by `TMPDIR`, which some editors set for themselves."""
    yield Path(f"/run/user/{uid}/jumpseat")
    named = variables.get("XDG_RUNTIME_DIR", "")
    if named.startswith("/"):
        yield Path(named, "jumpseat")
    if sys.platform == "darwin":
        yield Path(os.confstr(_DARWIN_USER_TEMP_DIR) or "/", "jumpseat")
    yield Path(f"/tmp/jumpseat-{uid}")  # noqa: S108 - owner, mode and type are checked


def fault_of(path: Path) -> str | None:
    """Why this directory cannot be trusted; None if it can. A symbolic link is not followed."""
    try:
        status = path.lstat()
    except OSError as error:
        return error.strerror or type(error).__name__
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if status.st_uid != os.getuid():
        return "it belongs to another user"
    if status.st_mode & 0o777 != 0o700:
        return f"its mode is {status.st_mode & 0o777:04o}, not 0700"
    return None


def _prepare(path: Path) -> str | None:
    """Make the directory if it is missing; returns why it cannot be used."""
    if len(os.fsencode(path)) + LONGEST_NAME > LONGEST_SOCKET_PATH:
        return "the path is too long for a socket"
    if not path.parent.is_dir():
        return "there is no such directory"
    try:
        path.mkdir(0o700)
    except FileExistsError:
        pass
    except OSError as error:
        return error.strerror or type(error).__name__
    fault = fault_of(path)
    if fault is None and not os.access(path, os.W_OK | os.X_OK):
        return "it is not writable"
    return fault
