"""Walks through folders. Does not follow links, and skips what Git ignores."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumpseat.system.folder import Folder
from jumpseat.tools.files.ignoring import GIT, IgnoreRules
from jumpseat.tools.files.kinds import EntryKind, find_kind_of_entry


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder."""

    folder: Folder
    name: str
    kind: EntryKind

    @property
    def path(self) -> Path:
        """The absolute path."""
        return self.folder.path / self.name


class Walk:
    """Iterates over the entries of a folder and of the folders below it, level by level, sorted by name."""

    def __init__(
        self,
        root: Path,
        *,
        recursive: bool,
        skipped: frozenset[Path] = frozenset(),
        unsaved: Mapping[Path, Sequence[str]],
    ) -> None:
        """
        Args:
            root: the absolute path of the folder, without links. It is read even if Git ignores it.
            recursive: whether to read the folders below.
            skipped: folders that are listed, but not read.
            unsaved: the names of files with unsaved changes, by the path of their folder. These files are
                listed even if they do not exist on the disk.
        """
        self.unreadable = 0
        """The number of folders that could not be read."""

        self._root = root
        self._recursive = recursive
        self._skipped = skipped
        self._unsaved = unsaved

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries. The folder of an entry is open until the next entry is requested."""
        try:
            root = Folder.open(self._root)
        except OSError:
            self.unreadable += 1
            return
        with root:
            waiting: deque[tuple[tuple[str, ...], IgnoreRules]] = deque([((), IgnoreRules.above(self._root))])
            while waiting:
                names, rules = waiting.popleft()
                try:
                    folder = root.enter(*names)
                except OSError:  # It was removed or replaced by a link, or the user cannot read it.
                    self.unreadable += 1
                    continue
                with folder:
                    rules = rules.enter(folder)
                    for entry in self._read(folder, rules):
                        yield entry
                        if entry.kind == "folder" and self._recursive and entry.path not in self._skipped:
                            waiting.append(((*names, entry.name), rules))

    def _read(self, folder: Folder, rules: IgnoreRules) -> Iterator[Entry]:
        kinds: dict[str, EntryKind] = dict.fromkeys(self._unsaved.get(folder.path, ()), "file")
        try:
            for each in folder.scan():
                kinds[each.name] = find_kind_of_entry(each)
        except OSError:
            self.unreadable += 1
        base = os.fsencode(folder.path.as_posix()).rstrip(b"/") + b"/"
        for name in sorted(kinds):
            kind = kinds[name]
            if name != GIT and not rules.is_ignored(base + os.fsencode(name), is_folder=kind == "folder"):
                yield Entry(folder, name, kind)
