"""The child process of a scan, which lists or searches folders. `scanning.py` starts it.

A scan needs its own process for three reasons:

- A model's regular expression may need exponential time and gigabytes of memory. Python's matcher holds the
  GIL meanwhile, so a thread could not be stopped.
- A walk through thousands of files runs Python code. In the daemon, each step would delay every chat by some
  milliseconds.
- A process can be abandoned while it waits for a network drive.

The process reads one line of JSON (`ScanOrder`) and writes an empty array. Then it writes an array for each
line of the result. For a list, the array contains the name and the kind of an entry. For a search, it
contains the name of a file, the number of a line, and the text of the line. Finally, the process writes an
object (`ScanSummary`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypedDict

from jumpseat.system.folder import Folder
from jumpseat.system.process_life import end_with_parent
from jumpseat.tools.files.credentials import START_BYTES, has_private_key, is_credential_path
from jumpseat.tools.files.kinds import find_kind
from jumpseat.tools.files.matching import Matcher
from jumpseat.tools.files.text import MAX_TEXT, NotTextError, decode
from jumpseat.tools.files.walking import Entry, Walk

MAX_MEMORY = 1024 * 1024 * 1024
"""The maximum address space of the process, in bytes, on Linux only; a match that needs more fails."""


class ScanOrder(TypedDict):
    """The parent's order."""

    roots: list[tuple[str, str]]
    """The resolved path of each file or folder to scan, and a prefix for the result.

    If the root is a folder, the result names each entry by the prefix and the path below the folder. If the
    root is a file, the result names it by the prefix alone.
    """

    recursive: bool
    pattern: str | None
    """The pattern to search for; None to list."""

    regex: bool
    own: list[str]
    """The directories and files of jumpseat, which are not searched."""

    unsaved: dict[str, str]
    """The texts in the editor by path."""

    most: int
    """The maximum number of lines of the result."""

    seconds: float
    """The time limit."""


class ScanSummary(TypedDict, total=False):
    """The parts that are missing from the result."""

    more: int
    """The number of entries that were left out of a list."""

    is_full: bool
    """Whether the search ended early, because it had found the maximum number of lines."""

    is_late: bool
    """Whether the time limit was reached."""

    is_long: bool
    """Whether the process was killed because its output was too long."""

    credentials: int
    """The number of files that were skipped because they may contain credentials or belong to jumpseat."""

    large: int
    """The number of files that were skipped because of their size."""

    hard: int
    """The number of files for which the pattern needed too much memory."""

    unreadable: int
    """The number of files and folders that could not be read."""

    error: str
    """Why there is no result: a sentence."""


class Scan:
    """One list or search."""

    def __init__(self, order: ScanOrder) -> None:
        """
        Raises:
            ValueError: the pattern is not valid.
        """
        pattern = order["pattern"]
        self.summary: ScanSummary = {}
        self._order = order
        self._matcher = None if pattern is None else Matcher(pattern, is_regex=order["regex"])
        self._end = time.monotonic() + order["seconds"]
        self._own = frozenset(map(Path, order["own"]))
        self._unsaved_names: defaultdict[Path, list[str]] = defaultdict(list)
        for path in map(Path, order["unsaved"]):
            self._unsaved_names[path.parent].append(path.name)

    def run(self) -> Iterator[tuple[str | int, ...]]:
        """Yield the lines of the result."""
        count = 0
        for name, entry in self._list_entries():
            if time.monotonic() > self._end:
                self.summary["is_late"] = True
                return
            if self._matcher is None:
                count += 1
                if count > self._order["most"]:
                    self.summary["more"] = count - self._order["most"]
                else:
                    yield name, entry.kind
            elif entry.kind == "file":
                for number, line in self._find_lines(entry, self._matcher):
                    count += 1
                    if count > self._order["most"]:
                        self.summary["is_full"] = True
                        return
                    yield name, number, line

    def _list_entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield the entries of all roots, with their names for the result."""
        is_search = self._matcher is not None
        for text, prefix in self._order["roots"]:
            root = Path(text)
            if find_kind(root) != "folder":
                with Folder.open(root.parent) as folder:
                    yield prefix, Entry(folder, root.name, "file")
                continue
            walk = Walk(
                root,
                recursive=self._order["recursive"],
                skipped=self._own if is_search else frozenset(),
                unsaved=self._unsaved_names,
            )
            length = len(root.as_posix().rstrip("/")) + 1
            for entry in walk:
                yield prefix + entry.path.as_posix()[length:], entry
            if walk.unreadable:
                self._count("unreadable", walk.unreadable)

    def _find_lines(self, entry: Entry, matcher: Matcher) -> Iterator[tuple[int, str]]:
        path = entry.path
        if is_credential_path(path.parts[1:]) or any(path.is_relative_to(own) for own in self._own):
            self._count("credentials")
            return
        try:
            text = self._order["unsaved"].get(str(path))
            if text is None:
                text = self._read(entry)
            elif has_private_key(text[:START_BYTES].encode("utf-8", "replace")):
                self._count("credentials")
                return
            if text is not None:
                yield from matcher.find_lines(text)
        except OSError:
            self._count("unreadable")
        except MemoryError:
            self._count("hard")

    def _read(self, entry: Entry) -> str | None:
        """Return the text of a file; None if it is skipped."""
        descriptor = entry.folder.open_regular(entry.name)
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            if os.fstat(descriptor).st_size > MAX_TEXT:
                self._count("large")
                return None
            content = stream.readall()
        if has_private_key(content):
            self._count("credentials")
            return None
        try:
            return decode(content)[0]
        except NotTextError:
            return None

    def _count(self, reason: Literal["credentials", "large", "hard", "unreadable"], number: int = 1) -> None:
        self.summary[reason] = self.summary.get(reason, 0) + number


def main() -> None:
    """Scan, and write the result."""
    end_with_parent()
    order: ScanOrder = json.loads(sys.stdin.buffer.readline())
    _write([])
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    try:
        scan = Scan(order)
    except ValueError as error:
        _write({"error": f"The regular expression is not valid: {error}."})
        return
    try:
        for line in scan.run():
            _write(line)
        _write(scan.summary)
    except OSError as error:
        _write({"error": f"The path cannot be used: {error.strerror or type(error).__name__}."})


def _write(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    # The process may be killed at the time limit. Without a flush, lines would then be lost.
    sys.stdout.flush()


if __name__ == "__main__":
    main()
