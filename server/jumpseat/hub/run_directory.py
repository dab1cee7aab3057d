"""The directory of the daemon's socket. All clients of a user share it, and other users cannot change it."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from jumpseat.hub.failures import CannotShareError

MAX_SOCKET_PATH = 100
"""The maximum length of a socket's path in bytes; macOS allows 103 and a terminating zero."""

NAME_LENGTH = len("/") + 16 + len(".sock")
"""The length in bytes of a socket's name in the directory, with the separator."""

_DARWIN_USER_TEMP_DIR = 65537  # <unistd.h> defines this.


def prepare_run_directory(variables: Mapping[str, str]) -> Path:
    """Return the first candidate that can be used, and create it if it does not exist.

    Raises:
        CannotShareError: no candidate can be used.
    """
    reasons = []
    for path in list_candidates(os.getuid(), variables):
        reason = _create(path)
        if reason is None:
            return path
        reasons.append(f"{path}: {reason}")
    raise CannotShareError(f"there is no safe directory for the daemon's socket ({'; '.join(reasons)})")


def list_candidates(uid: int, variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the possible paths, best first. `TMPDIR` is ignored, because some editors change its value."""
    yield Path(f"/run/user/{uid}/jumpseat")
    named = variables.get("XDG_RUNTIME_DIR", "")
    if named.startswith("/"):
        yield Path(named, "jumpseat")
    if sys.platform == "darwin":
        yield Path(os.confstr(_DARWIN_USER_TEMP_DIR) or "/", "jumpseat")
    yield Path(f"/tmp/jumpseat-{uid}")  # noqa: S108 - owner, mode and type are checked


def find_fault(path: Path) -> str | None:
    """Return why this directory cannot be trusted, or None if it can. Symbolic links are not followed."""
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


def _create(path: Path) -> str | None:
    """Create the directory if it is missing. Return why it cannot be used, or None if it can."""
    if len(os.fsencode(path)) + NAME_LENGTH > MAX_SOCKET_PATH:
        return "the path is too long for a socket"
    if not path.parent.is_dir():
        return "there is no such directory"
    try:
        path.mkdir(0o700)
    except FileExistsError:
        pass
    except OSError as error:
        return error.strerror or type(error).__name__
    fault = find_fault(path)
    if fault is None and not os.access(path, os.W_OK | os.X_OK):
        return "it is not writable"
    return fault
