"""Finds and ends the child processes of a daemon that was killed.

A child that ignores the end of its input lives on when its daemon is killed. So a daemon lists such children
in a file in the state directory. The next daemon ends the listed children whose daemon no longer runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jumpseat.system.paths import Places
from jumpseat.system.process_life import find_start
from jumpseat.system.state_file import StateError, StateFile
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)

FILE_NAME = "processes.json"

GRACE_SECONDS = 1.0
"""The maximum time between SIGTERM and SIGKILL."""

POLL_SECONDS = 0.05


class ProcessRegister:
    """The children of all daemons with one state directory. The methods block."""

    def __init__(self, places: Places) -> None:
        self._file = StateFile(places.state_dir / FILE_NAME)
        # Several hosts may share a home directory, and each has processes of its own.
        self._host = socket.gethostname()

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._file.path

    def add(self, pid: int, name: str) -> None:
        """Record a child of this process. The child must be the leader of its process group.

        Raises:
            StateError: the file cannot be written.
        """
        entry = {
            "host": self._host,
            "pid": pid,
            "start": find_start(pid),
            "daemon": os.getpid(),
            "daemon_start": find_start(os.getpid()),
            "name": name,
        }
        self._change(lambda entries: [*entries, entry])

    def remove(self, pid: int) -> None:
        """Remove a child that has ended.

        Raises:
            StateError: the file cannot be written.
        """
        self.forget([{"host": self._host, "pid": pid, "daemon": os.getpid()}])

    def list_left(self) -> list[dict[str, Any]]:
        """Return the entries of this host whose daemon no longer runs.

        Raises:
            StateError: the file cannot be read.
        """
        return [
            entry
            for entry in _entries_in(self._file.read())
            if entry.get("host") == self._host and not _is_running(entry, "daemon", "daemon_start")
        ]

    def forget(self, known: Sequence[dict[str, Any]]) -> None:
        """Remove each entry that contains all keys and values of an item of `known`.

        Raises:
            StateError: the file cannot be written.
        """

        def rest(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [entry for entry in entries if not any(each.items() <= entry.items() for each in known)]

        self._change(rest)

    def _change(self, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        self._file.update(lambda content: {**content, "processes": change(_entries_in(content))})


async def end_left_processes(places: Places) -> None:
    """End the children of daemons that were killed, with their process groups."""
    register = ProcessRegister(places)
    # For most users, no daemon has ever added a child, so the file does not exist.
    if not await run_blocking(register.path.exists):
        return
    try:
        left = await run_blocking(register.list_left)
        if not left:
            return
        try:
            running = await run_blocking(_signal_all, left, signal.SIGTERM)
            deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
            while running and asyncio.get_running_loop().time() < deadline:
                await asyncio.sleep(POLL_SECONDS)
                running = await run_blocking(_list_running, running)
        finally:
            # Signal all groups again, because a leader that has ended may have left other processes.
            _signal_all(left, getattr(signal, "SIGKILL", signal.SIGTERM))
        await run_blocking(register.forget, left)
    except StateError as error:
        logger.warning("processes of a killed daemon may still run: %s", error.message)
        return
    names = ", ".join(str(entry.get("name")) for entry in left)
    logger.warning("ended the processes that a killed daemon had left: %s", names)


def _entries_in(content: dict[str, Any]) -> list[dict[str, Any]]:
    entries = content.get("processes")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _is_running(entry: dict[str, Any], pid_key: str, start_key: str) -> bool:
    pid, start = entry.get(pid_key), entry.get(start_key)
    return type(pid) is int and pid > 0 and start is not None and find_start(pid) == start


def _list_running(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if _is_running(entry, "pid", "start")]


def _signal_all(entries: Sequence[dict[str, Any]], number: signal.Signals) -> list[dict[str, Any]]:
    """Signal the group of each process, and return the entries whose process still runs."""
    for entry in entries:
        pid = entry.get("pid")
        if type(pid) is int and pid > 1 and _may_be_signalled(pid, entry):
            with suppress(OSError):
                _signal_group(pid, number)
    return _list_running(entries)


def _may_be_signalled(pid: int, entry: dict[str, Any]) -> bool:
    start = find_start(pid)
    # If the process has ended, its group may still have other members. On POSIX, the id of a group is not
    # used for another process as long as the group exists.
    return start == entry.get("start") or (start is None and sys.platform != "win32")


def _signal_group(pid: int, number: signal.Signals) -> None:
    if sys.platform != "win32":
        os.killpg(pid, number)
    else:
        taskkill = Path(r"C:\Windows\System32\taskkill.exe")
        subprocess.run(  # noqa: S603 - the system's own program, by its path
            [taskkill, "/F", "/T", "/PID", str(pid)], check=False, capture_output=True, env={}, timeout=5.0
        )
