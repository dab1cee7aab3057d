"""Opens files by the descriptor of their directory, without following links.

A path that was checked may lead elsewhere when it is used, if another program replaces a directory with a
link in between. A descriptor of the directory cannot be redirected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from jumpseat.system.regular_file import open_regular

HAS_DESCRIPTORS = sys.platform != "win32"
"""Whether directories have descriptors.

Without descriptors, files are reached by their paths. If a directory is replaced by a link after the check,
the replacement goes unnoticed.
"""

_DIRECTORY_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# Linux's O_PATH also opens directories that this process can search but not read.
_ENTER_FLAGS = _DIRECTORY_FLAGS | getattr(os, "O_PATH", os.O_RDONLY)


class Folder:
    """An open directory. Use it as a context manager, which closes it.

    All methods may raise `OSError`, for example for a name that has become a link.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        """
        Args:
            path: the absolute path of the directory.
            descriptor: its descriptor, which the folder closes; None on Windows.
        """
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def open(cls, path: Path, *, create: bool = False, umask: int = -1) -> Self:
        """Open a directory by an absolute path in which all links have been resolved.

        Args:
            path: the path.
            create: whether to create the directories that are missing.
            umask: the umask for directories that are created; -1 for the umask of this process.
        """
        if not HAS_DESCRIPTORS:
            if create:
                path.mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                raise NotADirectoryError(f"{path} is not a directory")
            return cls(path, None)
        root = Path(path.anchor)
        folder = cls(root, os.open(root, _ENTER_FLAGS))
        for name in path.relative_to(root).parts:
            with folder:
                if create:
                    folder._create(name, umask)
                folder = folder.enter(name)
        return folder

    def enter(self, *names: str) -> Self:
        """Open a directory below this one. The names are the components of its relative path."""
        path = self.path.joinpath(*names)
        if self.descriptor is None:
            return type(self)(path, None)
        descriptor = os.dup(self.descriptor)
        for name in names:
            try:
                inner = os.open(name, _ENTER_FLAGS, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = inner
        return type(self)(path, descriptor)

    def scan(self) -> Iterator[os.DirEntry[str]]:
        """Yield the entries."""
        if self.descriptor is None:
            with os.scandir(self.path) as entries:
                yield from entries
            return
        # Descriptors with O_PATH cannot be read. Keep the new one open, because the entries' methods use it.
        descriptor = os.open(".", os.O_RDONLY | _DIRECTORY_FLAGS, dir_fd=self.descriptor)
        try:
            with os.scandir(descriptor) as entries:
                yield from entries
        finally:
            os.close(descriptor)

    def find_status(self, name: str) -> os.stat_result | None:
        """Return the status of an entry, without following a link; None if there is no such entry."""
        try:
            return os.stat(self.locate(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_regular(self, name: str, check: Callable[[os.stat_result], None] = lambda status: None) -> int:
        """Open a regular file for reading; see `regular_file.open_regular`."""
        return open_regular(self.locate(name), follow=False, check=check, directory=self.descriptor)

    def locate(self, name: str) -> str:
        """Return the path of an entry, for functions that also receive `descriptor` as `dir_fd`."""
        return name if self.descriptor is not None else str(self.path / name)

    def close(self) -> None:
        """Close the descriptor."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _create(self, name: str, umask: int) -> None:
        try:
            os.mkdir(name, dir_fd=self.descriptor)
        except FileExistsError:
            return
        if sys.platform != "win32" and umask != -1:
            # `mkdir` has applied the umask of this process, which may be stricter.
            descriptor = os.open(name, os.O_RDONLY | _DIRECTORY_FLAGS, dir_fd=self.descriptor)
            try:
                os.fchmod(descriptor, 0o777 & ~umask)
            finally:
                os.close(descriptor)
