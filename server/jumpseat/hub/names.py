"""The files of a daemon in the state directory, and the pointer to its socket.

One daemon serves a user, host, version and state directory, so the first three are in the files' names.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - mypy reads it

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
"""The revision of the control socket; raise it when an older daemon or client would misunderstand.

`status` and `stop` stay the same in every revision, because they go to daemons of other versions too.
"""

RETIRED = ".retired"
"""The suffix of the pointer to a daemon that takes no new clients; any other pointer is a JSON file."""

_MOST_BYTES = 16 * 1024


class DaemonFiles(NamedTuple):
    """The files of the daemon that this process may use."""

    lock: Path
    pointer: Path
    log: Path


class Pointer(NamedTuple):
    """Where a daemon is. Only the socket is trusted, and only after its directory and peer are checked."""

    socket: Path
    pid: int
    version: str


def host_name() -> str:
    """This host, as it is used in file names; a home directory may be shared by several hosts."""
    return re.sub(r"[^A-Za-z0-9.]", "_", socket.gethostname())[:64] or "localhost"


def daemon_files(state_dir: Path, *, make: bool = True) -> DaemonFiles:
    """The files of the daemon of this host, version and installation.

    Args:
        state_dir: the state directory.
        make: whether to make the directory of the files if it is missing.

    Raises:
        CannotShareError: the directory cannot be made, or other users can change it.
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
    name = f"{host_name()}-{__version__}-{CONTROL_REVISION}-{_installation()}"
    return DaemonFiles(*(directory / f"{name}.{kind}" for kind in ("lock", "json", "log")))


def _installation() -> str:
    # Another installation of the same version may have other plug-ins and extras (`local`, `keyring`).
    place = f"{sys.prefix}\0{Path(__file__).parent}"
    return f"{zlib.crc32(os.fsencode(place)):08x}"


def installation_stamp() -> str:
    """Differs after a package was installed, upgraded or removed beside jumpseat: a plug-in, for example."""
    # pip and its like rename into these directories, which changes their times.
    directories = {Path(__file__).parents[2], *map(Path, site.getsitepackages())}
    return " ".join(str(each.stat().st_mtime_ns) for each in sorted(directories) if each.is_dir())


def read_pointer(path: Path) -> Pointer | None:
    """The content of a pointer; None if there is none, or it is not one."""
    try:
        content = json.loads(read_regular(path, _MOST_BYTES, follow=False))
        pointer = Pointer(Path(content["socket"]), content["pid"], content["daemon"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    usable = isinstance(pointer.pid, int) and isinstance(pointer.version, str)
    return pointer if usable and pointer.socket.is_absolute() else None


def all_pointers(directory: Path) -> Iterator[tuple[Path, Pointer]]:
    """Every daemon of this host that has a pointer in the directory, and the pointer's path.

    Daemons of all versions and installations, also retired ones.
    """
    for path in sorted(directory.glob(f"{host_name()}-*")):
        pointer = read_pointer(path) if path.suffix in (".json", RETIRED) else None
        if pointer is not None:
            yield path, pointer
