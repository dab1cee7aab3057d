"""Processes that a killed daemon has left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jumpseat.system.left_processes import ProcessRegister, end_left_processes
from jumpseat.system.paths import Places
from jumpseat.system.process_life import find_start
from tests.processes import is_running, wait_until_gone

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals and process groups"),
    pytest.mark.requirement("12:mcp-processes"),
]

DEAF = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(15, 1); print(1, flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
{then}
"""
"""A program that ignores SIGTERM and has a child which does too; it prints the child's process id."""

FOREVER = "time.sleep(600)"


@pytest.fixture
def places(home: Path) -> Places:
    return Places(home / "config.toml", home, home)


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """The programs that a test starts; their groups are killed afterwards."""
    programs: list[subprocess.Popen[bytes]] = []
    yield programs
    for program in programs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        assert program.stdout is not None
        program.stdout.close()


def start(programs: list[subprocess.Popen[bytes]], source: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a program in its own group; return it and the number that it prints."""
    program = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, start_new_session=True)
    programs.append(program)
    assert program.stdout is not None
    return program, int(program.stdout.readline())


def change_entries(register: ProcessRegister, **changes: object) -> None:
    """Change every entry of the register."""
    content = json.loads(register.path.read_text("utf-8"))
    content["processes"] = [{**entry, **changes} for entry in content["processes"]]
    register.path.write_text(json.dumps(content), "utf-8")


def keys_of_dead_daemon() -> dict[str, object]:
    """Return the keys of an entry whose daemon is gone."""
    return {"daemon": os.getpid(), "daemon_start": "earlier"}


async def wait_until_all_gone(pids: Sequence[int]) -> bool:
    """Wait until all processes have ended, and return whether they did in time."""
    return all([await wait_until_gone(pid) for pid in pids])


async def test_a_deaf_process_and_its_children_are_ended(
    places: Places, started: list[subprocess.Popen[bytes]]
) -> None:
    program, grandchild = start(started, DEAF.format(then=FOREVER))
    register = ProcessRegister(places)
    register.add(program.pid, "deaf")
    change_entries(register, **keys_of_dead_daemon())
    await end_left_processes(places)

    assert await asyncio.to_thread(program.wait) == -signal.SIGKILL
    assert await wait_until_all_gone([grandchild])
    assert json.loads(register.path.read_text("utf-8"))["processes"] == []


async def test_children_of_a_process_that_has_ended_are_ended(
    places: Places, started: list[subprocess.Popen[bytes]]
) -> None:
    program, grandchild = start(started, DEAF.format(then="input()"))
    register = ProcessRegister(places)
    register.add(program.pid, "gone")
    change_entries(register, **keys_of_dead_daemon())
    program.kill()
    await asyncio.to_thread(program.wait)
    assert is_running(grandchild)
    await end_left_processes(places)

    assert await wait_until_all_gone([grandchild])


@pytest.mark.parametrize(
    "changes",
    [
        {"start": "another boot 1", **keys_of_dead_daemon()},
        {"start": None, **keys_of_dead_daemon()},
        {"host": "another", **keys_of_dead_daemon()},
        {},
    ],
    ids=["recycled", "unknown", "host", "daemon"],
)
async def test_other_processes_are_spared(
    places: Places, started: list[subprocess.Popen[bytes]], changes: dict[str, object]
) -> None:
    program, grandchild = start(started, DEAF.format(then=FOREVER))
    register = ProcessRegister(places)
    register.add(program.pid, "spared")
    change_entries(register, **changes)
    await end_left_processes(places)

    assert program.poll() is None
    assert is_running(grandchild)


async def test_nothing_happens_without_a_file(places: Places) -> None:
    await end_left_processes(places)

    assert list(places.state_dir.iterdir()) == []


def test_a_process_that_ends_is_removed_and_others_stay(places: Places) -> None:
    register = ProcessRegister(places)
    register.add(os.getpid(), "one")
    register.add(os.getppid(), "two")
    register.remove(os.getpid())

    entries = json.loads(register.path.read_text("utf-8"))["processes"]
    assert [entry["name"] for entry in entries] == ["two"]
    assert register.list_left() == []


def test_the_start_of_a_process_identifies_it() -> None:
    assert find_start(os.getpid()) == find_start(os.getpid()) is not None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert find_start(other.pid) not in (None, find_start(os.getpid()))
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert find_start(other.pid) is None
