"""The processes that a program under test has started, and whether they have ended. Needs /proc."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
from pathlib import Path

import pytest

WAIT_SECONDS = 20.0
"""The limit for a process that has to end, on a busy machine."""


def take_interrupts() -> None:
    """A child's `preexec_fn`: SIGINT ends it, even if the test run ignores SIGINT, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def runs(pid: int) -> bool:
    """Whether the process exists and is no zombie: in a container nothing may collect an orphan."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # The latter if it ends between opening and reading.
        return False
    return state not in ("Z", "X")


def children(pid: int) -> list[int]:
    """The running processes that this one has started; skips the test without /proc."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        pytest.skip("this system has no /proc to find a process's children in")
    found = []
    for file in tasks.glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # The thread has just ended.
            found += map(int, file.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """All its descendants."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def command_line(pid: int) -> str:
    """The program and its arguments, which any user of the machine can read."""
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8")


async def is_gone(pid: int, seconds: float = WAIT_SECONDS) -> bool:
    """Wait for a process to end; False after the timeout."""
    return await asyncio.to_thread(ends, pid, seconds)


def ends(pid: int, seconds: float) -> bool:
    """The same for synchronous callers."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([descriptor], [], [], seconds)
        return bool(readable)
    finally:
        os.close(descriptor)
