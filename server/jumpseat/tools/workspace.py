"""A client's workspace, as tools see it: its folders, and the files that it has open with unsaved changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EDITOR_SECONDS = 5.0
"""The time limit for an answer, which the editor gives without asking its user."""


@dataclass(frozen=True, slots=True)
class UnsavedFile:
    """A file whose text in the editor differs from the file on the disk."""

    uri: str
    version: int | None
    """The editor's version of the text; None if it has none."""

    text: str
    path: Path | None = None
    """The absolute path of the file, which may have links; None if the URI does not name a file."""


class Workspace:
    """The workspace of a turn. This base class serves clients without an editor."""

    can_replace_text = False
    """Whether the editor can change an unsaved file."""

    saves_text = False
    """Whether the editor saves the file when it changes the text."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        """
        Args:
            folders: the absolute paths of the workspace folders; relative paths start at the first one.
        """
        self.folders = tuple(folders)

    async def find_unsaved(self, uris: Sequence[str] | None = None) -> Sequence[UnsavedFile]:
        """Return the unsaved files among these, or all of them, and files that the editor wants to change.

        Raises:
            TimeoutError: the editor did not answer, so a file may have unsaved changes.
        """
        return ()

    async def replace_text(self, file: UnsavedFile, text: str) -> bool:
        """Replace the text of an unsaved file in the editor, unless it has changed since.

        Returns:
            False if the editor cannot do that or refused.

        Raises:
            TimeoutError: the editor did not answer.
        """
        return False
