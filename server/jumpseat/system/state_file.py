"""State files, which several daemons share. Each contains one JSON object, and is replaced atomically.

There is one exception: if `erase` cannot write a new file, it overwrites the old one.

Everything here blocks, so code on the event loop must call it through `run_blocking`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jumpseat.system.paths import make_private
from jumpseat.system.regular_file import read_regular

logger = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
"""How long to wait for the lock. Other processes hold it only while they update one small file."""

LEFTOVER_SECONDS = 60.0
"""The age in seconds above which a temporary file cannot belong to a write in progress."""

UNFINISHED_SECONDS = 0.25
"""How long a file may be incomplete: an editor that saves in place truncates the file before it writes."""

MAX_BYTES = 16 * 1024 * 1024
"""The maximum size of a file, for reading and writing."""

VERSION_KEY = "version"
VERSION = 1
"""The format version of all state files. A file with a higher version was written by a newer jumpseat."""


class StateError(Exception):
    """A state file cannot be used. `message` is a sentence, and `hint` describes the remedy."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StateFile:
    """One state file. Readers do not need the lock: they see either the old or the new content.

    On POSIX the directory is created with mode 0700 and the file with mode 0600.
    On Windows both inherit the access control list of the user's profile, which other users cannot read.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        """
        Args:
            path: the file. The file and its directory may not exist yet.
            private: whether the file has secrets. A private file is rejected if other users can open it or
                its directory, or if the file or its directory is a symbolic link.
        """
        self.path = path
        self._private = private

    def read(self) -> dict[str, Any]:
        """Return the content without its version; empty if there is no file.

        A file that is still not a JSON object after `UNFINISHED_SECONDS` is broken. It is renamed, a warning
        is logged, and the returned content is empty.

        Raises:
            StateError: the file cannot be read; a private file is rejected (see `__init__`); or a broken file
                cannot be locked or renamed.
        """
        content = self._read()
        if content is None:
            with self.lock():
                content = self._read_in_time()
                if content is None:
                    self._set_aside()
        return {key: value for key, value in (content or {}).items() if key != VERSION_KEY}

    def write(self, content: Mapping[str, Any]) -> None:
        """Replace the content atomically. Hold the lock if the new content depends on the old one.

        Raises:
            StateError: the file was written by a newer version of jumpseat, or cannot be written.
        """
        body = self._encode(content)
        if len(body) > MAX_BYTES:  # `read` would reject the file.
            raise StateError(f"{self.path} would be larger than {MAX_BYTES // 1024} KiB; nothing is saved.")
        try:
            self._replace(body)
        except OSError as error:
            raise self._write_error(error) from None

    def update(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        """Read, change and write the content under the lock, and return the new content.

        Raises:
            StateError: see `read`, `write` and `lock`.
        """
        with self.lock():
            changed = dict(change(self.read()))
            self.write(changed)
            return changed

    def erase(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> list[Path]:
        """Update the file to remove a secret from it, and remove all temporary and broken copies of the file.

        If a new file cannot be written, for example because the disk is full, the old one is overwritten.

        Returns:
            The copies that could not be removed.

        Raises:
            StateError: the file could not be changed.
        """
        with self.lock():
            changed = change(self.read())
            body = self._encode(changed)
            try:
                self._replace(body)
            except OSError as error:
                try:
                    self._overwrite(body)
                except OSError:
                    raise self._write_error(error) from None
            names = (f".{self.path.name}.*", f"{self.path.name}.broken-*")
            copies = [path for name in names for path in self.path.parent.glob(name)]
            return [path for path in copies if not try_erase(path)]

    @contextlib.contextmanager
    def lock(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Lock the file against other processes and threads. Calls in one thread may be nested.

        The operating system releases the lock if the process that holds it dies.

        Raises:
            StateError: the lock was not released in time, or the lock file cannot be created.
        """
        from filelock import FileLock, Timeout  # Imported late because reading does not need the lock.

        lock_path = self.path.with_name(f"{self.path.name}.lock")
        self._refuse_linked_directory()
        try:
            make_private(self.path.parent)
            # Share one object per path, so that the thread that holds the lock can acquire it again.
            lock = FileLock(lock_path, mode=0o600, is_singleton=True)
            lock.acquire(timeout=seconds, poll_interval=0.01)
        except Timeout:
            raise StateError(
                f"{lock_path} has been held by another process for {seconds:g} s.",
                hint="If no other jumpseat is running, end the process that holds the file open.",
            ) from None
        except OSError as error:
            raise StateError(
                f"{lock_path} cannot be locked: {_reason(error)}.", hint=self._how_to_write
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _replace(self, body: bytes) -> None:
        # Follow the user's symbolic links, but never for secrets.
        target = self.path if self._private else self.path.resolve()
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        try:
            make_private(self.path.parent)
            _remove_leftovers(target)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            sync_directory(target.parent)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _overwrite(self, body: bytes) -> None:
        """Overwrite the content in place, which does not need disk space.

        A crash during the write leaves the file broken.
        """
        flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.path, flags), "wb") as file:
            if len(body) > os.fstat(file.fileno()).st_size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            file.write(body)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def _write_error(self, error: OSError) -> StateError:
        return StateError(f"{self.path} cannot be written: {_reason(error)}.", hint=self._how_to_write)

    @property
    def _how_to_write(self) -> str:
        return f"Make {self.path.parent} writable, or set JUMPSEAT_HOME to a directory that is."

    def _read(self) -> dict[str, Any] | None:
        """Return the content; empty if there is no file, None if the file is broken."""
        self._refuse_linked_directory()
        try:
            follow = not self._private
            body = read_regular(self.path, MAX_BYTES, follow=follow, check=self._refuse_if_others_can_open)
        except FileNotFoundError:
            return {}
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StateError(
                    f"{self.path} is a symbolic link; a file with secrets must not be a link.",
                    hint=f"Replace the link {self.path} with the file that it points to.",
                ) from None
            raise StateError(f"{self.path} cannot be read: {_reason(error)}.") from None
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None

    def _read_in_time(self) -> dict[str, Any] | None:
        """Return the content as `_read` does, but wait for a program that is writing the file in place."""
        end = time.monotonic() + UNFINISHED_SECONDS
        while (content := self._read()) is None and time.monotonic() < end:
            time.sleep(0.01)
        return content

    def _refuse_if_others_can_open(self, status: os.stat_result) -> None:
        if self._private and sys.platform != "win32":
            directory = self.path.parent
            for path, found, mode in ((directory, directory.stat(), "700"), (self.path, status, "600")):
                if stat.S_IMODE(found.st_mode) & 0o077:
                    raise StateError(
                        f"{path} can be opened by other users, so the secrets in it are not used.",
                        hint=f"Run: chmod {mode} {path}",
                    )

    def _encode(self, content: Mapping[str, Any]) -> bytes:
        """Encode the content.

        Raises:
            StateError: a newer version wrote the file.
        """
        found = (self._read() or {}).get(VERSION_KEY, VERSION)
        if isinstance(found, int) and found > VERSION:
            raise StateError(
                f"{self.path} was written by a newer version of jumpseat and is left as it is.",
                hint="Update jumpseat, or move the file away.",
            )
        whole = {VERSION_KEY: VERSION, **content}
        try:
            text = json.dumps(whole, indent=2, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # The text has an unpaired surrogate, which JSON can escape but UTF-8 cannot encode.
            text = json.dumps(whole, indent=2).encode()
        return text + b"\n"

    def _set_aside(self) -> None:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        aside = self.path.with_name(f"{self.path.name}.broken-{moment}-{secrets.token_hex(3)}")
        try:
            self.path.replace(aside)
        except OSError as error:
            raise StateError(f"{self.path} is broken and cannot be set aside: {_reason(error)}.") from None
        logger.warning(
            "%s was not a JSON object; it was renamed to %s, and a new file is started", self.path, aside
        )

    def _refuse_linked_directory(self) -> None:
        directory = self.path.parent
        if self._private and directory.is_symlink():
            raise StateError(
                f"{directory} is a symbolic link; files with secrets must be in a real directory.",
                hint=f"Replace the link {directory} with the directory that it points to.",
            )


def try_erase(path: Path) -> bool:
    """Remove a file with a secret, or at least its content, and return whether that was possible."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        if path.is_symlink():
            return False
        try:
            os.truncate(path, 0)
        except OSError:
            return False
    return True


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary files of killed writers, because they may contain secrets."""
    for path in target.parent.glob(f".{target.name}.*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def sync_directory(path: Path) -> None:
    """Make a rename survive a power failure, if the system supports it."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
