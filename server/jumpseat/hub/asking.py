"""Asks the daemons of this host and state directory to report their status or to stop."""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jumpseat.hub.control import MalformedMessageError, connect
from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.hub.names import Pointer, daemon_files, find_pointers, read_installation_stamp
from jumpseat.system.paths import places_of_process


def ask_all(operation: str, seconds: float) -> tuple[list[tuple[bool, dict[str, Any] | None]], list[int]]:
    """Ask every running daemon, of any version and installation.

    Args:
        operation: `status` or `stop`.
        seconds: the time limit for all answers.

    Returns:
        Two lists:

        - a pair for each daemon that responded: whether clients of this installation use this daemon, and
          its answer. The answer is None if the daemon closed the connection without answering.
        - the process ids of the daemons that did not respond in time.
    """
    try:
        own = daemon_files(places_of_process().state_dir, make=False).pointer
    except CannotShareError:  # A daemon cannot use this state directory either, so none runs.
        return [], []
    message = {"op": operation, "installation": read_installation_stamp()}
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor() as threads:
        pending = [
            (path == own, pointer.pid, threads.submit(_ask, pointer, message, deadline))
            for path, pointer in find_pointers(own.parent)
        ]
    answers = []
    unresponsive = []
    for is_own, pid, answer in pending:
        try:
            answers.append((is_own, answer.result()))
        except NoDaemonError:
            continue
        except TimeoutError:
            unresponsive.append(pid)
    return answers, unresponsive


def _ask(pointer: Pointer, message: Mapping[str, Any], deadline: float) -> dict[str, Any] | None:
    """Return the daemon's answer, or None if the daemon closed the connection without answering.

    Raises:
        NoDaemonError: the daemon is not running.
        TimeoutError: the daemon did not answer in time.
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
    except (OSError, MalformedMessageError):
        return None
    finally:
        channel.close()
