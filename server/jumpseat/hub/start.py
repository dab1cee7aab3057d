"""Starts the daemon's process, which outlives the process that starts it."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import os
import select
import time
from collections.abc import Mapping
from pathlib import Path

from jumpseat.hub.daemon import READY, open_log
from jumpseat.hub.failures import CannotShareError
from jumpseat.hub.names import DaemonFiles
from jumpseat.hub.run_directory import prepare_run_directory

_MAX_REASON_BYTES = 4096

INHERITED = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ"),
        # The keyring and the browser belong to the user, whichever client needs them.
        *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
        # Python uses these to find jumpseat, and to decide whether and where to write bytecode.
        *("PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
    }
)
"""The variables that the daemon inherits from the first client; `_select_environment` adds a few.

Each client, including the first, passes all of its variables for its own session.
"""


def start_daemon(
    state_dir: Path, files: DaemonFiles, lock: int, variables: Mapping[str, str], deadline: float
) -> None:
    """Start a daemon and wait until it listens. The caller must hold the lock.

    Raises:
        CannotShareError: the daemon cannot be started or does not listen before the deadline.
    """
    import subprocess  # Deferred: most clients find a running daemon.

    directory = prepare_run_directory(variables)
    if not sys.executable:
        raise CannotShareError("the Python interpreter's path is unknown")
    reader, writer = os.pipe()
    try:
        log = open_log(files.log)
        try:
            # The daemon holds the lock too until it listens, in case this process is killed before then.
            started = subprocess.Popen(  # noqa: S603 - runs this interpreter with our own paths
                [
                    *(sys.executable, "-P", "-m", "jumpseat.hub.daemon"),
                    *map(str, (state_dir, directory, lock, writer)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=(lock, writer),
                cwd="/",
                env=_select_environment(variables),
                start_new_session=True,
            )
        finally:
            os.close(log)
        os.close(writer)
        writer = -1
        answer = _read_all(reader, deadline)
        # The new process forks the daemon and ends immediately, so that the daemon is not a child of the
        # current process.
        started.wait(max(0.1, deadline - time.monotonic()))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise CannotShareError(f"the daemon cannot be started ({error})") from None
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    if answer != READY:
        reason = answer.decode("utf-8", "replace") or f"see {files.log}"
        raise CannotShareError(f"the daemon could not start ({reason})")


def _select_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the daemon's environment, which consists of some of the first client's variables."""
    kept = {name: value for name, value in variables.items() if name in INHERITED or name.startswith("LC_")}
    # The first client's locale must not determine how the paths of all clients are encoded.
    kept["PYTHONUTF8"] = "1"
    # A project's own search path could replace modules of the daemon for all clients. So keep the path only
    # if jumpseat itself was found on it.
    package = Path(__file__).parents[2]
    search = [Path(each).absolute() for each in variables.get("PYTHONPATH", "").split(os.pathsep) if each]
    if package in search:
        kept["PYTHONPATH"] = os.pathsep.join(map(str, search))
    return kept


def _read_all(descriptor: int, deadline: float) -> bytes:
    data = b""
    while len(data) < _MAX_REASON_BYTES:
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError("it has not started in time")
        part = os.read(descriptor, _MAX_REASON_BYTES)
        if not part:
            break
        data += part
    return data
