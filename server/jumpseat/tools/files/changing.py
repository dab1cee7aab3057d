"""The tools `edit` and `write`."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from jumpseat.chat import FileDiff
from jumpseat.system.folder import Folder
from jumpseat.system.replacing import FileChangedError, check_entry_writable, replace_entry
from jumpseat.system.tasks import run_to_end
from jumpseat.system.threads import run_blocking
from jumpseat.tools.files.access import (
    CurrentText,
    ReadTexts,
    find_unsaved,
    make_file_error,
    read_current,
    read_from,
    read_unsaved,
    use_disk,
)
from jumpseat.tools.files.arguments import EditArguments, WriteArguments
from jumpseat.tools.files.locations import Location
from jumpseat.tools.files.replacements import Replacement, replace_all, replace_once
from jumpseat.tools.files.resources import FileResources
from jumpseat.tools.files.text import UTF_8, digest_text
from jumpseat.tools.files.tool import FileCall, FileTool, make_preview
from jumpseat.tools.server import Preview, ToolError, ToolOutput
from jumpseat.tools.workspace import UnsavedFile

A = TypeVar("A", EditArguments, WriteArguments)
T = TypeVar("T")


class ChangeTool(FileTool[A], Generic[A]):
    """A tool that changes one file. A change is checked before the user is asked, and again afterwards."""

    kind = "edit"

    def __init__(self, resources: FileResources) -> None:
        """
        Args:
            resources: the source of the lock for each file.
        """
        self._resources = resources

    @abstractmethod
    def replace(self, call: FileCall[A], text: str | None, location: Location) -> Replacement:
        """Return the change of the file's text, which is None if the file does not exist.

        Raises:
            ToolError: the arguments do not fit the text, or the tool cannot create a file.
        """

    async def preview(self, call: FileCall[A]) -> Preview:
        """Check the change, and show it as a diff."""
        location = await use_disk(call.locator.locate, call.arguments.path)
        await use_disk(call.locator.check_allowed, location)
        try:
            current = await read_current(call.context, location)
        except TimeoutError:
            raise _make_no_editor_error(location) from None
        if current is not None and current.unsaved and not call.context.workspace.can_replace_text:
            raise ToolError(
                f"{location.name} has unsaved changes in the editor. Ask the user to save the file."
            )
        known = ReadTexts.of(call.context).find(location)
        replacement = await use_disk(self._check, call, location, current, known)
        if current is not None and current.status is not None:
            await use_disk(_check_writable, location, current)
        old, new = await use_disk(replacement.show)
        uri = current.unsaved.uri if current and current.unsaved else location.path.as_uri()
        return make_preview(
            f"{'Create' if current is None else self.name.capitalize()} {location.name}",
            [location],
            None if current is None else current.digest,
            [FileDiff(uri, None if current is None else old, new)],
        )

    async def run(self, call: FileCall[A]) -> ToolOutput:
        """Change the text in the editor if the file has unsaved changes there, else the file itself."""
        location = await use_disk(call.locator.locate, call.arguments.path)
        call.check_unmoved(location)
        async with self._resources.lock(location.path):
            texts = ReadTexts.of(call.context)
            known = texts.find(location)
            try:
                unsaved = await find_unsaved(call.context, location)
            except TimeoutError:
                raise _make_no_editor_error(location) from None
            if unsaved is not None:
                digest = await _finish(self._change_in_editor(call, location, unsaved, known))
            else:
                digest = await _finish(run_blocking(self._change_on_disk, call, location, known))
            texts.note(location, digest)
        done = "Created" if call.subject.digest is None else "Changed"
        if unsaved is not None and not call.context.workspace.saves_text:
            return ToolOutput(f"{done} {location.name} in the editor. It has unsaved changes there.")
        return ToolOutput(f"{done} {location.name}.")

    def _check(
        self, call: FileCall[A], location: Location, current: CurrentText | None, known: bytes | None
    ) -> Replacement:
        """Return the change of the current text.

        Raises:
            ToolError: the conversation does not know the current text, or the change does not fit it.
        """
        if current is not None:
            _check_known(location, current, known)
        replacement = self.replace(call, None if current is None else current.text, location)
        try:
            replacement.passage.encode()
        except UnicodeEncodeError:
            raise ToolError("The new text contains half of a surrogate pair.") from None
        return replacement

    async def _change_in_editor(
        self, call: FileCall[A], location: Location, unsaved: UnsavedFile, known: bytes | None
    ) -> bytes:
        current = await use_disk(read_unsaved, unsaved, location)
        replacement = await use_disk(self._check, call, location, current, known)
        self._check_approved(call, location, current)
        try:
            is_applied = await call.context.workspace.replace_text(unsaved, replacement.after)
        except TimeoutError:
            raise ToolError(
                f"The editor did not answer, so {location.name} may have been changed. Read it again."
            ) from None
        if not is_applied:
            raise ToolError(f"The editor did not change {location.name}. Read it again, and repeat the call.")
        return digest_text(replacement.after)

    def _change_on_disk(self, call: FileCall[A], location: Location, known: bytes | None) -> bytes:
        """Check and change a file, and return the digest of its new text. Blocks."""
        umask = call.context.environment.umask
        name = location.path.name
        is_new = call.subject.digest is None
        try:
            with Folder.open(location.path.parent, create=is_new, umask=umask) as folder:
                current = read_from(folder, location) if folder.find_status(name) is not None else None
                replacement = self._check(call, location, current, known)
                self._check_approved(call, location, current)
                form = UTF_8 if current is None else current.form
                content = form.encode(replacement.after)
                before = None if current is None else current.status
                replace_entry(folder, name, content, before, umask=umask)
        except FileChangedError:
            raise _make_changed_error(location) from None
        except OSError as error:
            raise make_file_error(error, location) from None
        return digest_text(replacement.after)

    def _check_approved(self, call: FileCall[A], location: Location, current: CurrentText | None) -> None:
        """Check that the call still makes the change that was approved. By default, do nothing.

        Raises:
            ToolError: the call would make another change.
        """


class EditTool(ChangeTool[EditArguments]):
    """Replaces one passage of a file."""

    name = "edit"
    title = "Edit a file"
    description = (
        "Replace one passage of a text file that you have read: oldText, which must occur exactly once, "
        "with newText."
    )
    arguments = EditArguments

    def replace(self, call: FileCall[EditArguments], text: str | None, location: Location) -> Replacement:
        """Replace the passage."""
        if text is None:
            raise ToolError(f"There is no file {location.name}. Use the tool write to create it.")
        return replace_once(text, call.arguments.old_text, call.arguments.new_text, location.name)


class WriteTool(ChangeTool[WriteArguments]):
    """Creates a file, or replaces its whole text."""

    name = "write"
    title = "Write a file"
    description = (
        "Create a text file, with the folders that are missing, or replace the whole text of a file that you "
        "have read. To change a part of a file, use edit."
    )
    arguments = WriteArguments

    def replace(self, call: FileCall[WriteArguments], text: str | None, location: Location) -> Replacement:
        """Replace the whole text."""
        return replace_all(text, call.arguments.text)

    def _check_approved(
        self, call: FileCall[WriteArguments], location: Location, current: CurrentText | None
    ) -> None:
        # `_check_known` accepts a text that this conversation has edited since the approval. Replacing that
        # text would undo the edit.
        if (None if current is None else current.digest) != call.subject.digest:
            raise _make_changed_error(location)


async def _finish(change: Coroutine[Any, Any, T]) -> T:
    """Wait for a change that cannot be stopped. Return its result even if the caller is cancelled."""
    result, _ = await run_to_end(asyncio.ensure_future(change))
    return result


def _check_known(location: Location, current: CurrentText, known: bytes | None) -> None:
    if known is None:
        raise ToolError(f"{location.name} was not read in this conversation. Read the file first.")
    if known != current.digest:
        raise ToolError(f"{location.name} has changed since it was read. Read it again.")


def _check_writable(location: Location, current: CurrentText) -> None:
    assert current.status is not None  # noqa: S101 - the text was read from a file
    try:
        with Folder.open(location.path.parent) as folder:
            check_entry_writable(folder, location.path.name, current.status)
    except OSError as error:
        raise make_file_error(error, location) from None


def _make_changed_error(location: Location) -> ToolError:
    return ToolError(f"{location.name} has changed since the call was approved. Read it again.")


def _make_no_editor_error(location: Location) -> ToolError:
    return ToolError(
        f"The editor did not answer, so {location.name} may have unsaved changes and was not changed. "
        "Try again later."
    )
