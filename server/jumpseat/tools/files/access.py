"""The current text of a file: the editor's text if the file has unsaved changes, else the stored text."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from jumpseat.system.folder import Folder
from jumpseat.system.threads import run_blocking
from jumpseat.tools.files.credentials import START_BYTES, has_private_key
from jumpseat.tools.files.locations import Location, resolve
from jumpseat.tools.files.text import MAX_TEXT, UTF_8, NotTextError, TextForm, decode, digest_text
from jumpseat.tools.server import CallContext, ToolError
from jumpseat.tools.workspace import UnsavedFile

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

FILE_SECONDS = 30.0
"""The time limit for the file system to answer; a network drive may never answer."""

MAX_READ_TEXTS = 5000
"""The maximum number of digests to remember for each conversation; the oldest are forgotten first."""

MEMORY_KEY = "files"
"""The key of the file tools in `CallContext.memory`, whose keys are names of tool servers.

No plug-in can have this name.
"""


@dataclass(frozen=True, slots=True)
class CurrentText:
    """The text of a file at one moment."""

    text: str
    digest: bytes
    unsaved: UnsavedFile | None = None
    """The file in the editor, if the text comes from there."""

    form: TextForm = UTF_8
    """How the file stores the text, if it comes from the disk."""

    status: os.stat_result | None = None
    """The status of the file, if the text comes from the disk."""


class ReadTexts:
    """The digests of the texts that a conversation has read or written, by path."""

    def __init__(self) -> None:
        self._digests: OrderedDict[Path, bytes] = OrderedDict()

    @classmethod
    def of(cls, context: CallContext) -> ReadTexts:
        """Return the digests of a conversation."""
        found: ReadTexts = context.memory.setdefault(MEMORY_KEY, cls())
        return found

    def note(self, location: Location, digest: bytes) -> None:
        """Remember that the conversation knows this text of a file."""
        self._digests[location.path] = digest
        self._digests.move_to_end(location.path)
        if len(self._digests) > MAX_READ_TEXTS:
            self._digests.popitem(last=False)

    def find(self, location: Location) -> bytes | None:
        """Return the digest of the text that the conversation knows; None if it does not know the file."""
        return self._digests.get(location.path)


async def use_disk(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that uses the file system, with a time limit.

    Raises:
        ToolError: the file system does not answer.
    """
    try:
        return await run_blocking(function, *args, within=FILE_SECONDS)
    except TimeoutError:
        raise ToolError(f"The file system did not answer within {FILE_SECONDS:g} s.") from None


async def find_unsaved(context: CallContext, location: Location) -> UnsavedFile | None:
    """Return the file as the editor has it; None if the file has no unsaved changes there.

    Raises:
        TimeoutError: the editor did not answer.
    """
    uris = list(dict.fromkeys(path.as_uri() for path in (location.spelled, location.path)))
    found = await context.workspace.find_unsaved(uris)
    # The editor may have opened the file under another name, such as through a link.
    found = found or await context.workspace.find_unsaved()
    return await use_disk(_choose, found, location) if found else None


def _choose(files: Sequence[UnsavedFile], location: Location) -> UnsavedFile | None:
    return next((each for each in files if each.path and is_same_file(each.path, location.path)), None)


def is_same_file(path: Path, file: Path) -> bool:
    """Whether a path leads to a file, possibly through links. The file need not exist.

    Args:
        path: an absolute path, which may contain links.
        file: the absolute path of the file, without links.
    """
    if resolve(path) == file:
        return True
    try:
        return path.samefile(file)
    except OSError:
        return False


async def read_current(context: CallContext, location: Location) -> CurrentText | None:
    """Return the text to which a change of the file would apply; None if there is no file.

    Raises:
        TimeoutError: the editor did not answer, so the file may have unsaved changes.
        ToolError: the file cannot be read, or is not text.
    """
    unsaved = await find_unsaved(context, location)
    if unsaved is not None:
        return await use_disk(read_unsaved, unsaved, location)
    return await use_disk(read_stored, location)


def read_unsaved(unsaved: UnsavedFile, location: Location) -> CurrentText:
    """Return the text in the editor with its digest. Blocks.

    Raises:
        ToolError: the text contains a private key.
    """
    check_no_private_key(unsaved.text[:START_BYTES].encode("utf-8", "replace"), location)
    return CurrentText(unsaved.text, digest_text(unsaved.text), unsaved)


def read_stored(location: Location) -> CurrentText | None:
    """Return the text on the disk; None if there is no file. Blocks.

    Raises:
        ToolError: the file cannot be read, or is not text.
    """
    try:
        with Folder.open(location.path.parent) as folder:
            return read_from(folder, location)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise make_file_error(error, location) from None


def read_from(folder: Folder, location: Location) -> CurrentText:
    """Return the text of a file in an open folder. Blocks.

    Raises:
        OSError: the file cannot be read.
        ToolError: the file is not text, is too large, or contains a private key.
    """
    descriptor = folder.open_regular(location.path.name)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        content = stream.read(MAX_TEXT + 1)
    check_no_private_key(content, location)
    if len(content) > MAX_TEXT:
        raise ToolError(f"{location.name} is larger than {MAX_TEXT >> 20} MiB, so it cannot be changed.")
    try:
        text, form = decode(content)
    except NotTextError:
        raise make_binary_error(location) from None
    return CurrentText(text, digest_text(text), form=form, status=status)


def check_no_private_key(start: bytes, location: Location) -> None:
    """Check that a file does not contain a private key.

    Args:
        start: at least the first `START_BYTES` bytes of the file.
        location: the place of the file, for the error.

    Raises:
        ToolError: the file contains a private key.
    """
    if has_private_key(start):
        raise ToolError(f"{location.name} contains a private key, so the tools never use it.")


def make_binary_error(location: Location) -> ToolError:
    """Return the error for a file that is not text."""
    return ToolError(f"{location.name} is a binary file, or its text is neither UTF-8 nor UTF-16.")


def make_file_error(error: OSError, location: Location) -> ToolError:
    """Return the error for a file that cannot be opened or read."""
    name = location.name
    if isinstance(error, FileNotFoundError):
        return ToolError(f"There is no file {name}.")
    if location.path.is_dir():
        return ToolError(f"{name} is a folder. Use the tool list.")
    return ToolError(f"{name} cannot be used: {error.strerror or type(error).__name__}.")
