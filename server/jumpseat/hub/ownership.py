"""The daemon's pointer and socket: made under the lock, removed under it, and only while they are its own."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - mypy reads it

import asyncio
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jumpseat import __version__
from jumpseat.hub.control import connect
from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.hub.lock import try_lock
from jumpseat.hub.names import RETIRED, DaemonFiles, all_pointers, read_pointer
from jumpseat.hub.run_directory import fault_of
from jumpseat.system.state_file import StateFile

BACKLOG = 512

LOCK_SECONDS = 1.0
"""How long a daemon that was stopped waits for the lock. Without it the pointer stays, and is stale."""

_LOOK_SECONDS = 0.02

LOOK_AT_OTHERS_SECONDS = 1.0
"""How long another daemon may take to accept."""


class Ownership:
    """What says that this process is the daemon."""

    def __init__(self, files: DaemonFiles, directory: Path) -> None:
        """
        Args:
            files: the daemon's files.
            directory: the run directory, checked.
        """
        self._files = files
        self._pointer = files.pointer
        # A new name for each daemon: taking over a path could take it from a daemon that lives.
        self.socket_path = directory / f"{secrets.token_hex(8)}.sock"

    def take(self) -> socket.socket:
        """Listen, then point to the socket; the caller holds the lock.

        Raises:
            OSError: the socket cannot be made.
            StateError: the pointer cannot be written.
        """
        self._remove_stale()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        pointer = {"socket": str(self.socket_path), "pid": os.getpid(), "daemon": __version__}
        try:
            listener.bind(os.fspath(self.socket_path))
            listener.listen(BACKLOG)
            # Whatever lies there does not lead to a daemon. `write` would follow a symbolic link.
            self._pointer.unlink(missing_ok=True)
            StateFile(self._pointer).write(pointer)
        except BaseException:
            listener.close()
            self.socket_path.unlink(missing_ok=True)
            raise
        return listener

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the lock; False where another process holds it."""
        try:
            lock = try_lock(self._files.lock)
        except CannotShareError:
            # The state directory was removed, say. No other process can take the lock either.
            yield True
            return
        try:
            yield lock is not None
        finally:
            if lock is not None:
                os.close(lock)

    def remove(self) -> None:
        """Remove the pointer if it is this daemon's, and the socket. The caller holds the lock."""
        with suppress(OSError):
            if self._has_pointer():
                self._pointer.unlink()
        with suppress(OSError):
            self.socket_path.unlink()

    def retire(self) -> None:
        """Make room for the pointer of the next daemon. `status` and `stop` still find this one."""
        aside = self._pointer.with_name(f"{self._pointer.stem}-{self.socket_path.stem}{RETIRED}")
        with suppress(OSError):
            if self._has_pointer():
                self._pointer.rename(aside)
                self._pointer = aside

    def _has_pointer(self) -> bool:
        pointer = read_pointer(self._pointer)
        return pointer is not None and pointer.socket == self.socket_path

    async def give_up(self) -> None:
        """Remove them as soon as the lock is free, or leave a pointer that is stale."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOCK_SECONDS):
                while True:
                    with self.locked() as locked:
                        if locked:
                            self.remove()
                            return
                    await asyncio.sleep(_LOOK_SECONDS)

    def other_version_runs(self) -> bool:
        """Whether a daemon of another version takes clients of this host and state directory; blocks."""
        return any(
            path.suffix != RETIRED and pointer.version != __version__ and _listens(pointer.socket)
            for path, pointer in all_pointers(self._pointer.parent)
        )

    def _remove_stale(self) -> None:
        """Remove the sockets of earlier daemons of this installation that were killed."""
        for path, pointer in all_pointers(self._pointer.parent):
            is_retired = path.suffix == RETIRED and path.name.startswith(f"{self._pointer.stem}-")
            if path != self._pointer and (not is_retired or _listens(pointer.socket)):
                continue
            with suppress(OSError):
                if fault_of(pointer.socket.parent) is None and stat.S_ISSOCK(pointer.socket.lstat().st_mode):
                    pointer.socket.unlink()
            if is_retired:
                path.unlink(missing_ok=True)


def _listens(path: Path) -> bool:
    """Whether a daemon of this user listens at the socket; one that hangs counts."""
    try:
        connect(path, time.monotonic() + LOOK_AT_OTHERS_SECONDS).close()
    except CannotShareError:
        return True
    except NoDaemonError:
        return False
    return True
