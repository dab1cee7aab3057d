"""The files of the kept conversations, with a cache of the states that were read from them."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from jumpseat.chat import RequestError
from jumpseat.conversations import lines
from jumpseat.conversations.state import FORMAT_VERSION, DamagedError, State
from jumpseat.system.regular_file import open_regular
from jumpseat.system.state_file import StateError
from jumpseat.system.watch import Stamp

CACHED_BYTES = 16 << 20
"""The maximum total size of files whose states are cached; the state that was used last is always cached."""

SUFFIX = ".jsonl"

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names that are devices on Windows, with any extension."""

_COPY = re.compile(r"(?P<aside>.+)\.damaged-[^.]+|\.(?P<unfinished>.+)\.[0-9a-f]{12}")
"""Matches a damaged file that was set aside, or a temporary file that a killed process left behind."""

_HEAD = 256
"""The length, in bytes, of the start by which a file is recognized.

The start contains the conversation's id and creation time.
"""


def is_id(text: str) -> bool:
    """Whether a kept conversation can have this id."""
    return _ID.fullmatch(text) is not None


def parse_file_name(file_name: str) -> tuple[str, bool] | None:
    """Return the id of the conversation that a file belongs to, and whether the file is only a copy.

    The result is None if the file does not belong to a conversation.
    """
    own_name, is_copy = file_name, False
    if not file_name.endswith(SUFFIX):
        copy = _COPY.fullmatch(file_name)
        if copy is None:
            return None
        own_name, is_copy = copy["aside"] or copy["unfinished"], True
    id_ = own_name.removeprefix("~").removesuffix(SUFFIX)
    return (id_, is_copy) if is_id(id_) and _file_name(id_) == own_name else None


def new_id(now: datetime) -> str:
    """Create an id for a new conversation. Ids sort by time, for people who read a list."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


class UnknownConversationError(RequestError):
    """No kept conversation has this id."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(
            f"There is no kept conversation with the id {conversation_id[:128]!r}.",
            hint="It may have been deleted or pruned. The list of conversations shows those that remain.",
        )


@dataclass(slots=True)
class ReadFile:
    """The data read from one file."""

    path: Path
    state: State
    inode: int = 0
    changed_ns: int = 0
    offset: int = 0
    """The offset of the end of the last line that is folded into the state."""

    tail: bytes = b""
    """The incomplete line that a crash left after the last line ending, or that is still being written."""

    head: bytes = b""
    is_damaged: bool = False
    unannounced: int = 0
    """The number of bytes at the end of the file that were not announced as a change."""

    new_texts: list[str] = field(default_factory=list)
    """The searchable texts that the last read or write added."""

    @property
    def size(self) -> int:
        """The file's size when it was read."""
        return self.offset + len(self.tail)

    @property
    def stamp(self) -> Stamp:
        """The file's stamp when it was read."""
        return self.changed_ns, self.inode, self.size


class Files:
    """The files of one directory. Not thread-safe; a change requires the store's lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._cache: OrderedDict[str, ReadFile] = OrderedDict()

    def path(self, conversation_id: str) -> Path:
        """Return the path of the conversation's file, whether or not it exists."""
        return self.directory / _file_name(conversation_id)

    def copies(self, conversation_id: str) -> list[Path]:
        """Return the set-aside and unfinished copies of the conversation's file."""
        return [
            each for each in self.directory.iterdir() if parse_file_name(each.name) == (conversation_id, True)
        ]

    def list_files(self) -> Iterator[tuple[str, Stamp]]:
        """Yield every conversation's id with the stamp of its file."""
        try:
            entries = os.scandir(self.directory)
        except OSError:
            return
        with entries:
            for entry in entries:
                id_, is_copy = parse_file_name(entry.name) or ("", True)
                if not is_copy:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # It was deleted meanwhile.
                    if stat.S_ISREG(status.st_mode):
                        yield id_, (status.st_mtime_ns, status.st_ino, status.st_size)

    def read(self, conversation_id: str, *, cached: bool = True) -> ReadFile | None:
        """Read the conversation from its file; return None if there is none.

        Args:
            conversation_id: any text.
            cached: whether to cache the state, so that later reads only add new lines to it.

        Raises:
            OSError: the file cannot be read.
        """
        if not is_id(conversation_id):
            return None
        path = self.path(conversation_id)
        try:
            descriptor = open_regular(path, follow=False)
            try:
                read = self._read(conversation_id, path, descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            self._cache.pop(conversation_id, None)
            return None
        if cached:
            self._add_to_cache(conversation_id, read)
        return read

    def _read(self, conversation_id: str, path: Path, descriptor: int) -> ReadFile:
        status = os.fstat(descriptor)
        read = self._cache.get(conversation_id)
        # Read a damaged file again: a network file system may show damage while another machine writes.
        is_sound = read is not None and not read.is_damaged
        if (
            read is not None
            and is_sound
            and read.stamp == (status.st_mtime_ns, status.st_ino, status.st_size)
        ):
            return read
        head = os.pread(descriptor, _HEAD, 0) if hasattr(os, "pread") else os.read(descriptor, _HEAD)
        # Compare the head too, because a file that was deleted and created again may have the same inode.
        has_grown = (
            read is not None
            and is_sound
            and read.inode == status.st_ino
            and read.size < status.st_size
            and head.startswith(read.head)
        )
        if read is None or not has_grown:
            read = ReadFile(path, State(conversation_id), head=head)
        read.inode, read.changed_ns = status.st_ino, status.st_mtime_ns
        os.lseek(descriptor, read.offset, os.SEEK_SET)
        _fold(read, _read_rest(descriptor, status.st_size - read.offset))
        return read

    def append(self, read: ReadFile, new: Sequence[Mapping[str, Any]], *, announced: bool = True) -> int:
        """Append lines and return the file's descriptor, which the caller syncs and closes.

        Args:
            read: the conversation.
            new: the lines.
            announced: whether the caller announces these lines as a change.

        Raises:
            OSError: the file cannot be written; it is unchanged.
            StateError: a newer version wrote the file.
            ValueError: a line cannot be represented in JSON.
        """
        if read.state.version > FORMAT_VERSION:
            raise StateError(
                f"{read.path} was written by a newer version of jumpseat and is not changed.",
                hint="Update jumpseat.",
            )
        data = lines.join_bytes(read.tail) + lines.encode_lines(new)
        descriptor = lines.append(read.path, data, size=read.size)
        read.unannounced = 0 if announced else read.unannounced + len(data)
        read.offset, read.tail = read.size + len(data), b""
        self._note_write(read, new, descriptor)
        return descriptor

    def create(self, conversation_id: str, new: Sequence[Mapping[str, Any]]) -> tuple[ReadFile, int]:
        """Create a file with these lines, and return it with its descriptor, as `append` does.

        Raises:
            OSError: the file cannot be written; it does not exist afterwards.
            ValueError: a line cannot be represented in JSON.
        """
        data = lines.encode_lines(new)
        path = self.path(conversation_id)
        descriptor = lines.create(path, data)
        read = ReadFile(path, State(conversation_id), offset=len(data), head=data[:_HEAD])
        self._note_write(read, new, descriptor)
        self._add_to_cache(conversation_id, read)
        return read, descriptor

    def set_aside(self, read: ReadFile) -> ReadFile | None:
        """Rename a damaged file; return a new file with its readable part, or None if nothing is readable.

        Raises:
            OSError: the file cannot be renamed or copied; it is unchanged.
        """
        readable = read.path.read_bytes()[: read.offset]
        lines.set_aside(read.path, readable)
        self._cache.pop(read.state.id, None)
        return self.read(read.state.id)

    def delete(self, conversation_id: str, copies: Iterable[Path]) -> bool:
        """Delete the conversation's file and these copies; return whether the file existed.

        Raises:
            OSError: a file cannot be deleted.
        """
        self._cache.pop(conversation_id, None)
        path = self.path(conversation_id)
        existed = path.exists()
        for each in (path, *copies):
            each.unlink(missing_ok=True)
        return existed

    def _note_write(self, read: ReadFile, new: Sequence[Mapping[str, Any]], descriptor: int) -> None:
        status = os.fstat(descriptor)
        read.inode, read.changed_ns = status.st_ino, status.st_mtime_ns
        read.new_texts = [text for line in new for text in read.state.apply(line)]

    def _add_to_cache(self, conversation_id: str, read: ReadFile) -> None:
        self._cache[conversation_id] = read
        self._cache.move_to_end(conversation_id)
        size = sum(each.size for each in self._cache.values())
        while size > CACHED_BYTES and len(self._cache) > 1:
            size -= self._cache.popitem(last=False)[1].size


def _file_name(conversation_id: str) -> str:
    prefix = "~" if _RESERVED.fullmatch(conversation_id) else ""
    return f"{prefix}{conversation_id}{SUFFIX}"


def _read_rest(descriptor: int, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _fold(read: ReadFile, data: bytes) -> None:
    """Fold the bytes after `read.offset` into the state."""
    start = read.offset
    read.new_texts, read.unannounced = [], 0
    for end, line in lines.decode_lines(data):
        try:
            if line is None:
                raise DamagedError("a line is not JSON")
            read.new_texts += read.state.apply(line)
        except DamagedError:
            # If a newer version wrote the file, a line that this version cannot read is not damage.
            read.is_damaged = read.state.version <= FORMAT_VERSION
            break
        read.offset = start + end
    read.tail = data[read.offset - start :]
