"""The rules of `.gitignore` and `.git/info/exclude`, which Dulwich matches exactly as Git does."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from dulwich.ignore import Pattern, read_ignore_patterns

from jumpseat.system.folder import Folder

MAX_BYTES = 1024 * 1024
"""The maximum number of bytes to read from a file of rules."""

MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, which Git skips."""

GIT = ".git"
RULES = ".gitignore"


class IgnoreRules:
    """The rules that apply in one folder: its own and those of the folders above."""

    def __init__(self, rules: Sequence[tuple[int, Sequence[Pattern]]] = ()) -> None:
        """
        Args:
            rules: a pair for each file of rules: the length in bytes of its folder's path, including a
                final slash, and its patterns in reverse order. Paths are matched without the folder's path.
                Later files take precedence.
        """
        self._rules = tuple(rules)

    @classmethod
    def above(cls, folder: Path) -> IgnoreRules:
        """Return the rules of the folders above this one, up to the root of its repository."""
        above: list[Path] = []
        current = folder
        while not (current / GIT).exists():
            if current == current.parent:  # There is no repository, so no rules are inherited.
                return cls()
            current = current.parent
            above.insert(0, current)
        rules = cls()
        for each in above:
            try:
                with Folder.open(each) as opened:
                    rules = rules.enter(opened)
            except OSError:
                continue
        return rules

    def enter(self, folder: Folder) -> IgnoreRules:
        """Return the rules that apply in a folder, given that these rules apply in the folder above it."""
        length = len(os.fsencode(folder.path.as_posix()).rstrip(b"/")) + 1
        found = [(length, patterns) for patterns in (_read_exclude(folder), _read(folder, RULES)) if patterns]
        return IgnoreRules((*self._rules, *found)) if found else self

    def is_ignored(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether an entry of the folder is ignored.

        Args:
            path: the absolute path of the entry, with slashes.
            is_folder: whether the entry is a folder.
        """
        for length, patterns in reversed(self._rules):
            name = path[length:]
            for pattern in patterns:
                if pattern.matches(name, is_folder):
                    return pattern.is_exclude
        return False


def _read_exclude(folder: Folder) -> Sequence[Pattern]:
    status = folder.find_status(GIT)
    if status is None or not stat.S_ISDIR(status.st_mode):
        return ()
    try:
        with folder.enter(GIT, "info") as info:
            return _read(info, "exclude")
    except OSError:
        return ()


def _read(folder: Folder, name: str) -> Sequence[Pattern]:
    try:
        descriptor = folder.open_regular(name)
    except OSError:
        return ()
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(MAX_BYTES).removeprefix(MARK)
    return [Pattern(line) for line in read_ignore_patterns(io.BytesIO(content))][::-1]
