"""A client's workspace, as tools see it: its folders, and the files with unsaved changes in the editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EDITOR_SECONDS = 5.0
"""The time limit for an answer from the editor, which answers without asking its user."""


@dataclass(frozen=True, slots=True)
class UnsavedFile:
    """A file whose text in the editor differs from the file on the disk."""

    uri: str
    version: int | None
    """The editor's version number of the text; None if the editor does not number its texts."""

    text: str
    path: Path | None = None
    """The absolute path of the file, possibly with links; None if the URI does not name a file."""


class Workspace:
    """The workspace of a turn. This base class serves clients without an editor."""

    can_replace_text = False
    """Whether the editor can change an unsaved file."""

    saves_text = False
    """Whether the editor saves the file when it changes the text."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """
        Args:
            folders: the absolute paths of the workspace folders; relative paths are resolved against
                the first one.
        """
        self.folders = tuple(folders)

    async def find_unsaved(self, uris: Sequence[str] | None = None) -> Sequence[UnsavedFile]:
        """Return the unsaved files.

        The result also contains saved files if the editor wants to make the changes to these files itself.

        Args:
            uris: the URIs of the files to check; None for all files.

        Raises:
            TimeoutError: the editor did not answer, so a file may have unsaved changes.
        """
        return ()

    async def replace_text(self, file: UnsavedFile, text: str) -> bool:
        """Replace the text of an unsaved file in the editor, unless that text now differs from `file.text`.

        Returns:
            Whether the editor replaced the text.

        Raises:
            TimeoutError: the editor did not answer.
        """
        return False
