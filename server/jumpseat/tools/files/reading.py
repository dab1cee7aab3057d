"""The tool `read`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from functools import partial

from jumpseat.system.folder import Folder
from jumpseat.tools.files.access import (
    CurrentText,
    ReadTexts,
    check_no_private_key,
    find_unsaved,
    make_binary_error,
    make_file_error,
    read_from,
    read_unsaved,
    use_disk,
)
from jumpseat.tools.files.arguments import ReadArguments
from jumpseat.tools.files.credentials import START_BYTES
from jumpseat.tools.files.lines import PIECE, Excerpt, take_lines
from jumpseat.tools.files.locations import Location
from jumpseat.tools.files.text import MAX_MARK, MAX_TEXT, NotTextError, TextForm, normalize
from jumpseat.tools.files.tool import FileCall, FileTool, make_preview
from jumpseat.tools.server import Preview, ToolError, ToolOutput
from jumpseat.tools.workspace import UnsavedFile

ROOM_FOR_NOTES = 512
"""The number of bytes of a result that are reserved for notes about the text."""

NO_ANSWER = "[The editor did not answer. This is the saved file; unsaved changes are missing.]\n"


class ReadTool(FileTool[ReadArguments]):
    """Returns the text of a file, or some of its lines."""

    name = "read"
    title = "Read a file"
    description = "Read a text file, or only its lines from startLine to endLine."
    kind = "read"
    arguments = ReadArguments

    async def preview(self, call: FileCall[ReadArguments]) -> Preview:
        """Check the path."""
        location = await use_disk(call.locator.locate, call.arguments.path)
        await use_disk(call.locator.check_allowed, location)
        return make_preview(f"Read {location.name}", [location])

    async def run(self, call: FileCall[ReadArguments]) -> ToolOutput:
        """Read the text, and remember that the conversation knows it."""
        location = await use_disk(call.locator.locate, call.arguments.path)
        call.check_unmoved(location)
        note = ""
        try:
            unsaved = await find_unsaved(call.context, location)
        except TimeoutError:
            unsaved, note = None, NO_ANSWER
        current, excerpt = await use_disk(_take_lines, unsaved, location, call)
        if current is not None:
            ReadTexts.of(call.context).note(location, current.digest)
        return ToolOutput(note + _render(excerpt, location, call.arguments))


def _take_lines(
    unsaved: UnsavedFile | None, location: Location, call: FileCall[ReadArguments]
) -> tuple[CurrentText | None, Excerpt]:
    """Return the current text and the requested lines. The text is None if the file exceeds `MAX_TEXT`."""
    current = _read_file(location) if unsaved is None else read_unsaved(unsaved, location)
    max_bytes = call.max_bytes - ROOM_FOR_NOTES
    first, last = call.arguments.start_line or 1, call.arguments.end_line
    if current is None:
        return None, _take_lines_of_large_file(location, first, last, max_bytes)
    text = normalize(current.text)
    pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
    return current, take_lines(pieces, first, last, max_bytes, count_all=True)


def _read_file(location: Location) -> CurrentText | None:
    """Return the text of a file; None if the file is larger than `MAX_TEXT`."""
    try:
        with Folder.open(location.path.parent) as folder:
            status = folder.find_status(location.path.name)
            if status is not None and status.st_size > MAX_TEXT:
                return None
            return read_from(folder, location)
    except OSError as error:
        raise make_file_error(error, location) from None


def _take_lines_of_large_file(location: Location, first: int, last: int | None, max_bytes: int) -> Excerpt:
    try:
        with (
            Folder.open(location.path.parent) as folder,
            os.fdopen(folder.open_regular(location.path.name), "rb") as stream,
        ):
            start = stream.peek(START_BYTES)
            check_no_private_key(start, location)
            pieces = _decode_pieces(stream, TextForm.detect(start[:MAX_MARK]))
            return take_lines(pieces, first, last, max_bytes, count_all=False)
    except NotTextError:
        raise make_binary_error(location) from None
    except OSError as error:
        raise make_file_error(error, location) from None


def _decode_pieces(stream: io.BufferedReader, form: TextForm) -> Iterator[str]:
    """Yield the text of a file in pieces with line feeds as line endings."""
    line_endings = io.IncrementalNewlineDecoder(None, translate=True)
    for piece in form.decode(iter(partial(stream.read, PIECE), b"")):
        yield line_endings.decode(piece)
    yield line_endings.decode("", final=True)


def _render(excerpt: Excerpt, location: Location, arguments: ReadArguments) -> str:
    first, total = arguments.start_line or 1, excerpt.total
    if not excerpt.text:
        if total == 0:
            return f"[{location.name} is empty.]"
        if total is not None and first > total:
            raise ToolError(f"{location.name} has only {total} lines.")
        raise ToolError(f"There are no lines from {first} to {arguments.end_line}.")
    if first == 1 and excerpt.last == total and not excerpt.is_cut:
        return excerpt.text
    total_suffix = "" if total is None else f" of {total}"
    if excerpt.is_cut:
        return f"[Line {first}{total_suffix} is too long. This is only its beginning.]\n{excerpt.text}"
    more = "" if excerpt.last == (arguments.end_line or total) else " Read on with startLine."
    return f"[Lines {first} to {excerpt.last}{total_suffix}.{more}]\n{excerpt.text}"
