"""The daemon's pointer and socket: made under the lock, removed under it, and only while they are its own."""

from __future__ import annotations

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
from jumpseat.hub.names import DaemonFiles, other_pointers, read_pointer
from jumpseat.hub.run_directory import fault_of
from jumpseat.system.state_file import StateFile

BACKLOG = 512

LOCK_SECONDS = 1.0
"""How long a daemon that was stopped waits for the lock. Without it the pointer stays, and is stale."""

_LOOK_SECONDS = 0.02

LOOK_AT_OTHERS_SECONDS = 1.0
"""How long the daemon of another version may take to accept."""


class Ownership:
    """What says that this process is the daemon."""

    def __init__(self, files: DaemonFiles, directory: Path) -> None:
        """
        Args:
            files: the daemon's files.
            directory: the run directory, checked.
        """
        self._files = files
        # A new name for each daemon: taking over a path could take it from a daemon that lives.
        self.socket_path = directory / f"{secrets.token_hex(8)}.sock"

    def take(self) -> socket.socket:
        """Listen, then point to the socket; the caller holds the lock.

        Raises:
            OSError: the socket cannot be made.
            StateError: the pointer cannot be written.
        """
        self._remove_stale_socket()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        pointer = {"socket": str(self.socket_path), "pid": os.getpid(), "daemon": __version__}
        try:
            listener.bind(os.fspath(self.socket_path))
            listener.listen(BACKLOG)
            # Whatever lies there does not lead to a daemon. `write` would follow a symbolic link.
            self._files.pointer.unlink(missing_ok=True)
            StateFile(self._files.pointer).write(pointer)
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
        pointer = read_pointer(self._files.pointer)
        with suppress(OSError):
            if pointer is not None and pointer.socket == self.socket_path:
                self._files.pointer.unlink()
        with suppress(OSError):
            self.socket_path.unlink()

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
        """Whether a daemon of another version serves this host and state directory; blocks."""
        for pointer in other_pointers(self._files.pointer):
            with suppress(NoDaemonError, CannotShareError, OSError):
                connect(pointer.socket, time.monotonic() + LOOK_AT_OTHERS_SECONDS).close()
                return True
        return False

    def _remove_stale_socket(self) -> None:
        """Remove the socket of the daemon before this one, which was killed."""
        pointer = read_pointer(self._files.pointer)
        if pointer is None or fault_of(pointer.socket.parent) is not None:
            return
        with suppress(OSError):
            if stat.S_ISSOCK(pointer.socket.lstat().st_mode):
                pointer.socket.unlink()
