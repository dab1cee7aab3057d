"""Finds the processes that a program under test has started, and waits for their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
from pathlib import Path

import pytest

WAIT_SECONDS = 20.0
"""The time limit for a process to end on a busy machine."""


def restore_interrupts() -> None:
    """Restore the default action of SIGINT in a child that inherited an ignored SIGINT (`preexec_fn`)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie. In a container, orphans may remain zombies."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # The process may end between opening and reading.
        return False
    return state not in ("Z", "X")


def children(pid: int) -> list[int]:
    """Return the ids of the process's running children. Skip the test if there is no /proc."""
    if not Path("/proc/self/task").exists():
        pytest.skip("this system has no /proc to find a process's children in")
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # The thread has just ended.
            found += map(int, file.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    return [each for child in children(pid) for each in (child, *descendants(child))]


def command_line(pid: int) -> str:
    """Return a process's command line, which any user of the machine can read; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""


async def wait_until_gone(pid: int, seconds: float = WAIT_SECONDS) -> bool:
    """Wait for a process to end. Return False if it still runs after the time limit."""
    return await asyncio.to_thread(block_until_gone, pid, seconds)


def block_until_gone(pid: int, seconds: float) -> bool:
    """Do the same as `wait_until_gone`, but block the thread."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([descriptor], [], [], seconds)
        return bool(readable)
    finally:
        os.close(descriptor)
