"""Connects a client to the daemon. If no daemon runs, one client starts the daemon while holding the lock."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from jumpseat.hub.control import ControlChannel, connect
from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.hub.lock import try_lock
from jumpseat.hub.names import DaemonFiles, daemon_files, read_pointer
from jumpseat.hub.start import start_daemon

ANSWER_SECONDS = 5.0
"""The time limit for the shared daemon to respond, including the time that it takes to start."""

_POLL_SECONDS = 0.01
"""The interval at which a client looks for the daemon while another client starts it."""

T = TypeVar("T")


def connect_to_daemon(files: DaemonFiles, deadline: float) -> ControlChannel:
    """Connect to the daemon that the pointer names.

    Raises:
        NoDaemonError: no daemon runs.
        CannotShareError: the daemon does not answer before the deadline.
    """
    pointer = read_pointer(files.pointer)
    if pointer is None:
        raise NoDaemonError(f"{files.pointer} does not name a daemon")
    return connect(pointer.socket, deadline)


def with_daemon(
    state_dir: Path, variables: Mapping[str, str], use: Callable[[ControlChannel, float], T]
) -> T:
    """Call `use` with a connection to the daemon, which is started if it is not running.

    Args:
        state_dir: the state directory.
        variables: the client's environment variables. A new daemon inherits only a few of them.
        use: called with a connection and the deadline. It raises `NoDaemonError` if the daemon has ended.

    Raises:
        CannotShareError: the daemon could not be started, or did not answer in time.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    files = daemon_files(state_dir)

    def attempt() -> T:
        return use(connect_to_daemon(files, deadline), deadline)

    while True:
        try:
            return attempt()
        except NoDaemonError:
            lock = try_lock(files.lock)
        if lock is not None:
            break
        if time.monotonic() > deadline:
            raise CannotShareError("another client is starting the daemon, which takes too long")
        time.sleep(_POLL_SECONDS)
    try:
        try:
            return attempt()  # Another client may have started the daemon meanwhile.
        except NoDaemonError:
            start_daemon(state_dir, files, lock, variables, deadline)
            return attempt()
    except NoDaemonError as error:
        raise CannotShareError(f"the daemon ended right after its start ({error})") from None
    finally:
        os.close(lock)
