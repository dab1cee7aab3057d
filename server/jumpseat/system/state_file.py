"""A state file that several daemons share: one JSON object, versioned, private, never partly written.

Everything here blocks; the event loop calls it through `run_blocking`.
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
from typing import Any, TypeAlias

from jumpseat.system.paths import make_private
from jumpseat.system.regular_file import read_regular
from jumpseat.system.watch import stamp_of

logger = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
"""How long to wait for another process, which holds the lock while it writes one small file."""

LEFTOVER_SECONDS = 60.0
"""An older temporary file does not belong to a write under way."""

UNFINISHED_SECONDS = 0.25
"""How long a file may be incomplete: an editor that saves in place empties it before it writes."""

MOST_BYTES = 16 * 1024 * 1024
"""A larger file is neither read nor written."""

VERSION_KEY = "version"

Migration: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class StateError(Exception):
    """A state file cannot be used; `message` is a sentence, `hint` what the user can do."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StateFile:
    """One file. Readers need no lock: they see the old content or the new content, never a part.

    On POSIX the directory is created with mode 0700 and the file with mode 0600.
    On Windows both inherit the access list of the user's profile, which other users cannot read.
    """

    def __init__(
        self,
        path: Path,
        *,
        version: int = 1,
        migrations: Mapping[int, Migration] | None = None,
        private: bool = False,
    ) -> None:
        """
        Args:
            path: the file; it and its directory may not exist yet.
            version: the version that `write` stores in the file.
            migrations: by the version of a file, the function that converts its content to the next version.
            private: refuse a file or a directory that other users can open; for secrets.
        """
        self.path = path
        self.version = version
        self._migrations = migrations or {}
        self._private = private

    def read(self) -> dict[str, Any]:
        """The content without its version; empty where there is no file.

        A file that is not a JSON object, also after `UNFINISHED_SECONDS`, is renamed and logged, and counts
        as empty.

        Raises:
            StateError: the file cannot be opened, or is private and others can open it.
        """
        content = self._read()
        if content is None:
            with self.locked():
                content = self._read_in_time()
                if content is None:
                    self._set_aside()
        return self._migrated(content or {})

    def write(self, content: Mapping[str, Any]) -> None:
        """Replace the content atomically. A caller that changes what it read must hold the lock.

        Raises:
            StateError: the file belongs to a newer version, or cannot be written.
        """
        self._refuse_newer()
        body = _encoded({VERSION_KEY: self.version, **content})
        if len(body) > MOST_BYTES:  # `read` would refuse it.
            raise StateError(f"{self.path} would be larger than {MOST_BYTES // 1024} KiB; nothing is saved.")
        try:
            self._replace(body)
        except OSError as error:
            raise self._not_written(error) from None

    def update(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
        """Read, change and write under the lock, and return what was written.

        Raises:
            StateError: as `read`, `write` and `locked` raise it.
        """
        with self.locked():
            changed = dict(change(self.read()))
            self.write(changed)
            return changed

    def erase(self, change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> list[Path]:
        """Like `update`, for a change that removes a secret: removes the copies of the file too.

        If the disk has no room for a new file, the old one is overwritten.

        Returns:
            The copies that could not be removed.

        Raises:
            StateError: the file is unchanged.
        """
        with self.locked():
            changed = change(self.read())
            self._refuse_newer()
            body = _encoded({VERSION_KEY: self.version, **changed})
            try:
                self._replace(body)
            except OSError as error:
                try:
                    self._overwrite(body)
                except OSError:
                    raise self._not_written(error) from None
            names = (f".{self.path.name}.*", f"{self.path.name}.broken-*")
            copies = [path for name in names for path in self.path.parent.glob(name)]
            return [path for path in copies if not erased(path)]

    @contextlib.contextmanager
    def locked(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Lock the file against other processes and threads; may be nested within one thread.

        The operating system releases the lock if the holder dies.

        Raises:
            StateError: another holder kept it for too long, or the lock file cannot be created.
        """
        from filelock import FileLock, Timeout  # Deferred: reading needs no lock.

        lock_path = self.path.with_name(f"{self.path.name}.lock")
        self._refuse_linked_directory()
        try:
            make_private(self.path.parent)
            # One object per path, so that a thread that holds the lock may take it again.
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

    def stamp(self) -> tuple[int, int, int] | None:
        """Differs after the file was replaced; takes one `stat`. None without a file."""
        return stamp_of(self.path)

    def _replace(self, body: bytes) -> None:
        # A symbolic link of the user is followed, but never for secrets.
        target = self.path if self._private else self.path.resolve()
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
        try:
            make_private(self.path.parent)
            _remove_leftovers(target)
            self._write_new(temporary, body)
            temporary.replace(target)
            sync_directory(target.parent)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _overwrite(self, body: bytes) -> None:
        """Write over the old content, which needs no room; a crash during the write breaks the file."""
        flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.path, flags), "wb") as file:
            if len(body) > os.fstat(file.fileno()).st_size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            file.write(body)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def _not_written(self, error: OSError) -> StateError:
        return StateError(f"{self.path} cannot be written: {_reason(error)}.", hint=self._how_to_write)

    @property
    def _how_to_write(self) -> str:
        return f"Make {self.path.parent} writable, or set JUMPSEAT_HOME to a directory that is."

    def _read(self) -> dict[str, Any] | None:
        """The content; None if it is broken."""
        self._refuse_linked_directory()
        try:
            body = self._checked_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StateError(
                    f"{self.path} is a symbolic link; a file with secrets must be a file of its own.",
                    hint=f"Replace the link by the file that it points to: {self.path}",
                ) from None
            raise StateError(f"{self.path} cannot be read: {_reason(error)}.") from None
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return content if isinstance(content, dict) else None

    def _read_in_time(self) -> dict[str, Any] | None:
        """As `_read`, after a wait for a program that is writing the file in place."""
        end = time.monotonic() + UNFINISHED_SECONDS
        while (content := self._read()) is None and time.monotonic() < end:
            time.sleep(0.01)
        return content

    def _checked_bytes(self) -> bytes:
        def check(status: os.stat_result) -> None:
            if self._private and sys.platform != "win32":
                _refuse_loose(self.path.parent.stat(), self.path.parent, "700")
                _refuse_loose(status, self.path, "600")

        return read_regular(self.path, MOST_BYTES, follow=not self._private, check=check)

    def _migrated(self, content: dict[str, Any]) -> dict[str, Any]:
        found = content.pop(VERSION_KEY, self.version)
        while isinstance(found, int) and found < self.version and found in self._migrations:
            content = self._migrations[found](content)
            found += 1
        return content

    def _refuse_newer(self) -> None:
        found = (self._read() or {}).get(VERSION_KEY, self.version)
        if isinstance(found, int) and found > self.version:
            raise StateError(
                f"{self.path} was written by a newer version of jumpseat and is left as it is.",
                hint="Update jumpseat, or move the file away.",
            )

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
                f"{directory} is a symbolic link; files with secrets must lie in a directory of their own.",
                hint=f"Replace the link by the directory that it points to: {directory}",
            )

    @staticmethod
    def _write_new(path: Path, body: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())


def erased(path: Path) -> bool:
    """Remove a file with a secret, or at least its content; returns whether that was possible."""
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


def _encoded(content: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(content, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair: JSON can escape it, UTF-8 cannot encode it.
        text = json.dumps(content, indent=2).encode()
    return text + b"\n"


def _refuse_loose(status: os.stat_result, path: Path, mode: str) -> None:
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise StateError(
            f"{path} can be opened by other users, so the secrets in it are not used.",
            hint=f"Run: chmod {mode} {path}",
        )


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of writers that were killed; they may hold secrets."""
    for path in target.parent.glob(f".{target.name}.*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def sync_directory(path: Path) -> None:
    """Make a rename survive a power failure, where the system can."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
