"""Asks the daemons of this host and state directory to report or to end."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - mypy reads it

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jumpseat.hub.control import GarbageError, connect
from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.hub.names import Pointer, all_pointers, daemon_files, installation_stamp
from jumpseat.system.paths import places_of_process


def ask_all(operation: str, seconds: float) -> tuple[list[tuple[bool, dict[str, Any] | None]], list[int]]:
    """Ask every daemon that runs, of any version and installation.

    Args:
        operation: `status` or `stop`.
        seconds: how long they may take.

    Returns:
        For each daemon that answered whether a client of this installation looks for it first, and the
        answer, None if it closed the connection without one; and the processes that did not answer.
    """
    try:
        own = daemon_files(places_of_process().state_dir, make=False).pointer
    except CannotShareError:  # No daemon can run there.
        return [], []
    message = {"op": operation, "installation": installation_stamp()}
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor() as threads:
        asked = [
            (path == own, pointer.pid, threads.submit(_ask, pointer, message, deadline))
            for path, pointer in all_pointers(own.parent)
        ]
    found = []
    silent = []
    for is_own, pid, answer in asked:
        try:
            found.append((is_own, answer.result()))
        except NoDaemonError:
            continue
        except TimeoutError:
            silent.append(pid)
    return found, silent


def _ask(pointer: Pointer, message: Mapping[str, Any], deadline: float) -> dict[str, Any] | None:
    """The daemon's answer; None if it closed the connection without one.

    Raises:
        NoDaemonError: it does not run.
        TimeoutError: it has not answered in time.
    """
    try:
        channel = connect(pointer.socket, deadline)
    except CannotShareError:
        raise TimeoutError from None
    try:
        channel.send(message, deadline)
        return channel.receive(deadline)
    except TimeoutError:
        raise
    except (OSError, GarbageError):
        return None
    finally:
        channel.close()
