"""The files of a daemon in the state directory, and the pointer to its socket.

There is one daemon for each user, host, version, installation and state directory. The files' names contain
the host, the version, the revision of the control protocol and the installation.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import json
import os
import re
import site
import socket
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jumpseat import __version__
from jumpseat.hub.failures import CannotShareError
from jumpseat.system.paths import make_private
from jumpseat.system.regular_file import read_regular

CONTROL_REVISION = 1
"""The revision of the control protocol. Raise it if an older daemon or client would misunderstand a change.

`status` and `stop` must never change, because they are also sent to daemons of other versions.
"""

RETIRED = ".retired"
"""The suffix of the pointer to a daemon that accepts no new clients. Other pointers end in `.json`."""

_MAX_BYTES = 16 * 1024


class DaemonFiles(NamedTuple):
    """The files of the daemon for this process's host, version and installation."""

    lock: Path
    pointer: Path
    log: Path


class Pointer(NamedTuple):
    """The location of a daemon. The socket is used only after its directory and peer have been checked."""

    socket: Path
    pid: int
    version: str


def host_name() -> str:
    """Return this host's name for use in file names, because several hosts may share a home directory."""
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64] or "localhost"


def daemon_files(state_dir: Path, *, make: bool = True) -> DaemonFiles:
    """Return the files of the daemon for this host, version and installation.

    Args:
        state_dir: the state directory.
        make: whether to create the directory of the files if it is missing.

    Raises:
        CannotShareError: the directory cannot be created, or other users can change it.
    """
    directory = state_dir / "daemon"
    try:
        if make:
            make_private(directory)
        status = directory.lstat()
    except OSError as error:
        raise CannotShareError(
            f"{directory} cannot be used ({error.strerror or type(error).__name__})"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise CannotShareError(f"{directory} is not a directory")
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise CannotShareError(f"{directory} can be changed by other users")
    name = f"{host_name()}-{__version__}-{CONTROL_REVISION}-{_installation_id()}"
    return DaemonFiles(*(directory / f"{name}.{kind}" for kind in ("lock", "json", "log")))


def _installation_id() -> str:
    # Another installation of the same version may have other plug-ins and extras (`local`, `keyring`).
    place = f"{sys.prefix}\0{Path(__file__).parent}"
    return f"{zlib.crc32(os.fsencode(place)):08x}"


def read_installation_stamp() -> str:
    """Return a stamp that changes when a package, such as a plug-in, is installed, upgraded or removed."""
    # pip and similar tools rename files into these directories, which changes the directories' times.
    directories = {Path(__file__).parents[2], *map(Path, site.getsitepackages())}
    return " ".join(str(each.stat().st_mtime_ns) for each in sorted(directories) if each.is_dir())


def read_pointer(path: Path) -> Pointer | None:
    """Return the content of a pointer, or None if the file does not exist or is not a pointer."""
    try:
        content = json.loads(read_regular(path, _MAX_BYTES, follow=False))
        pointer = Pointer(Path(content["socket"]), content["pid"], content["daemon"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    usable = isinstance(pointer.pid, int) and isinstance(pointer.version, str)
    return pointer if usable and pointer.socket.is_absolute() else None


def find_pointers(directory: Path) -> Iterator[tuple[Path, Pointer]]:
    """Yield the path and the content of each pointer in this directory, for daemons of this host only.

    The daemons may be of any version and installation, and may be retired.
    """
    for path in sorted(directory.glob(f"{host_name()}-*")):
        pointer = read_pointer(path) if path.suffix in (".json", RETIRED) else None
        if pointer is not None:
            yield path, pointer
