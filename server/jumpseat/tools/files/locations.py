"""Resolves the paths that models write. Decides which paths are outside the workspace, and which are denied.

Everything here blocks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from jumpseat.tools.files.credentials import is_credential_path
from jumpseat.tools.server import ToolError


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the file system, whether or not a file exists there."""

    path: Path
    """The absolute path without links."""

    spelled: Path
    """The absolute path as the model wrote it, possibly with links."""

    name: str
    """The path for people and models: relative to the first workspace folder, or absolute."""

    is_outside: bool
    """Whether the path is outside the workspace folders."""


class Locator:
    """Resolves paths for one turn."""

    def __init__(self, folders: Sequence[Path], own: Sequence[Path]) -> None:
        """
        Args:
            folders: the workspace folders, of which there is at least one.
            own: the directories and files of jumpseat, which the tools must not touch.
        """
        self.own = tuple(map(resolve, own))
        self._first = folders[0]
        self._folders = tuple(map(resolve, folders))

    @property
    def folders(self) -> Sequence[Location]:
        """The workspace folders."""
        return [Location(path, path, self._name(path), is_outside=False) for path in self._folders]

    def locate(self, text: str) -> Location:
        """Resolve a path with all its links.

        Raises:
            ToolError: the path is not valid, or `refuse_devices` refuses it.
        """
        spelled = self._first / text
        if sys.platform == "win32":
            refuse_devices(spelled, self._first)
        try:
            path = resolve(spelled)
        except (OSError, ValueError):  # `ValueError` is raised for null characters.
            raise ToolError("The path is not valid.") from None
        is_outside = not any(path.is_relative_to(folder) for folder in self._folders)
        return Location(path, spelled, self._name(path), is_outside)

    def check_allowed(self, location: Location) -> None:
        """Check that the tools may read or change a file, judged by its path.

        Raises:
            ToolError: the file is denied.
        """
        paths = (location.path, location.spelled)
        if any(is_credential_path(path.parts[1:]) for path in paths):
            raise ToolError(f"{location.name} may contain credentials, so the tools never use it.")
        if any(_is_same_or_below(location.path, own) for own in self.own):
            raise ToolError(f"{location.name} belongs to jumpseat, so the tools never use it.")

    def _name(self, path: Path) -> str:
        first = self._folders[0]
        return path.relative_to(first).as_posix() if path.is_relative_to(first) else str(path)


def resolve(path: Path) -> Path:
    """Return an absolute path without its links."""
    # `realpath` does not raise for a loop of links. Opening the file then fails.
    return Path(os.path.realpath(path))


def _is_same_or_below(path: Path, directory: Path) -> bool:
    """Whether a path leads to a directory or below it, possibly by a name in another case or by a mount."""
    if path.is_relative_to(directory):
        return True
    try:
        status = directory.stat()
    except OSError:
        return False
    return any(os.path.samestat(status, each) for each in _list_statuses(path))


def _list_statuses(path: Path) -> Iterator[os.stat_result]:
    for each in (path, *path.parents):
        try:
            yield each.stat()
        except OSError:
            continue


def refuse_devices(path: PurePath, folder: PurePath) -> None:
    """Refuse a Windows path that leads to a device, a server or a stream.

    The check comes before the path is resolved, because resolving a path on a server sends the user's
    credentials to that server. `NAME:STREAM` reaches a file by a name that `is_credential_path` does not
    recognise.

    Args:
        path: the path.
        folder: the workspace folder. If it is on a share of a server, paths on the same share are allowed.

    Raises:
        ToolError: the path is refused.
    """
    if path.drive.startswith(("\\\\", "//")) and path.drive.lower() != folder.drive.lower():
        raise ToolError(f"{path} is on a server or a device, which the tools do not use.")
    if any(":" in part for part in path.parts[1:]):
        raise ToolError(f"{path} names a stream, which the tools do not use.")
