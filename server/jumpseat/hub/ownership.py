"""The daemon's pointer and socket, which are created and removed under the lock."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

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
from jumpseat.hub.names import RETIRED, DaemonFiles, find_pointers, read_pointer
from jumpseat.hub.run_directory import find_fault
from jumpseat.system.state_file import StateFile

BACKLOG = 512

LOCK_SECONDS = 1.0
"""How long a stopped daemon waits for the lock. If it does not get the lock, a stale pointer remains."""

_POLL_SECONDS = 0.02

PROBE_SECONDS = 1.0
"""The time limit for another daemon to accept a connection."""


class Ownership:
    """The pointer and the socket of this daemon."""

    def __init__(self, files: DaemonFiles, directory: Path) -> None:
        """
        Args:
            files: the daemon's files.
            directory: the run directory, which has been checked.
        """
        self._files = files
        self._pointer = files.pointer
        # Each daemon uses a new path, because the old one may still belong to a running daemon.
        self.socket_path = directory / f"{secrets.token_hex(8)}.sock"

    def publish(self) -> socket.socket:
        """Listen on a new socket and write a pointer that names the socket. The caller must hold the lock.

        Raises:
            OSError: the socket cannot be created.
            StateError: the pointer cannot be written.
        """
        self._remove_stale()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        pointer = {"socket": str(self.socket_path), "pid": os.getpid(), "daemon": __version__}
        try:
            listener.bind(os.fspath(self.socket_path))
            listener.listen(BACKLOG)
            # An existing pointer does not lead to a running daemon. Remove it, because it may be a symbolic
            # link, which `write` would follow.
            self._pointer.unlink(missing_ok=True)
            StateFile(self._pointer).write(pointer)
        except BaseException:
            listener.close()
            self.socket_path.unlink(missing_ok=True)
            raise
        return listener

    @contextmanager
    def try_hold_lock(self) -> Iterator[bool]:
        """Hold the lock within the context, and yield True. Yield False if another process holds the lock."""
        try:
            lock = try_lock(self._files.lock)
        except CannotShareError:
            # The state directory may have been removed. Other processes cannot take the lock either.
            yield True
            return
        try:
            yield lock is not None
        finally:
            if lock is not None:
                os.close(lock)

    def remove(self) -> None:
        """Remove the socket, and the pointer if it belongs to this daemon. The caller must hold the lock."""
        with suppress(OSError):
            if self._owns_pointer():
                self._pointer.unlink()
        with suppress(OSError):
            self.socket_path.unlink()

    def retire(self) -> None:
        """Rename the pointer to make room for the next daemon. `status` and `stop` still find this daemon."""
        aside = self._pointer.with_name(f"{self._pointer.stem}-{self.socket_path.stem}{RETIRED}")
        with suppress(OSError):
            if self._owns_pointer():
                self._pointer.rename(aside)
                self._pointer = aside

    def _owns_pointer(self) -> bool:
        pointer = read_pointer(self._pointer)
        return pointer is not None and pointer.socket == self.socket_path

    async def withdraw(self) -> None:
        """Remove the pointer and the socket once the lock is free. On a timeout, leave both in place."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOCK_SECONDS):
                while True:
                    with self.try_hold_lock() as holds_lock:
                        if holds_lock:
                            self.remove()
                            return
                    await asyncio.sleep(_POLL_SECONDS)

    def other_version_runs(self) -> bool:
        """Return whether a daemon of another version serves this host and state directory. Blocks."""
        return any(
            path.suffix != RETIRED and pointer.version != __version__ and _is_listening(pointer.socket)
            for path, pointer in find_pointers(self._pointer.parent)
        )

    def _remove_stale(self) -> None:
        """Remove the sockets of this installation's dead daemons, and the pointers to retired ones."""
        for path, pointer in find_pointers(self._pointer.parent):
            is_retired = path.suffix == RETIRED and path.name.startswith(f"{self._pointer.stem}-")
            if path != self._pointer and (not is_retired or _is_listening(pointer.socket)):
                continue
            with suppress(OSError):
                if find_fault(pointer.socket.parent) is None and stat.S_ISSOCK(
                    pointer.socket.lstat().st_mode
                ):
                    pointer.socket.unlink()
            if is_retired:
                path.unlink(missing_ok=True)


def _is_listening(path: Path) -> bool:
    """Return whether a daemon of this user, even one that hangs, listens at the socket."""
    try:
        connect(path, time.monotonic() + PROBE_SECONDS).close()
    except CannotShareError:
        return True
    except NoDaemonError:
        return False
    return True
