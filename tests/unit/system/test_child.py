"""Child processes: streams, exit with its reason, and the process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jumpseat.system import child as child_module
from jumpseat.system.child import Child
from tests.processes import block_until_gone, wait_until_gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals and process groups")

WAIT_SECONDS = 20.0

SLEEPER = """
import subprocess, sys
held = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(held.pid, flush=True)
"""
"""A program that starts another process in its own process group, and prints the id of that process."""


class Recorded(Child):
    """A child process that records the calls of its hooks."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.calls: list[str] = []
        self.output = b""
        self.printed = asyncio.Event()

    def on_output(self, data: bytes) -> None:
        self.output += data
        if self.output.endswith(b"\n"):
            self.printed.set()

    def on_line(self, line: str) -> None:
        self.calls.append(f"line {line}")

    def on_unusable(self, why: str) -> None:
        self.calls.append(f"unusable: {why}")

    def on_end(self) -> None:
        self.calls.append("ended")

    async def read_number(self) -> int:
        """Wait for the number that the process prints, and return it."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self.printed.wait()
        return int(self.output)


async def start(program: str, *, env: dict[str, str] | None = None, **more: Any) -> Recorded:
    start_options = {name: more.pop(name) for name in ("stdin", "stderr", "directory") if name in more}
    child = Recorded(**more)
    await child.start(
        [sys.executable, "-I", "-S", "-c", program], env=env or dict(os.environ), **start_options
    )
    return child


async def wait_for_reason(child: Child) -> str:
    async with asyncio.timeout(WAIT_SECONDS):
        return await child.wait_until_ended()


async def test_output_and_lines_are_reported_before_the_exit_which_is_reported_once() -> None:
    child = await start("import sys; print('out'); print('one\\ntwo', end='', file=sys.stderr); sys.exit(3)")

    assert await wait_for_reason(child) == child.why == "it ended with exit code 3"
    assert child.output == b"out\n"
    assert child.calls == ["line one", "line two", "unusable: it ended with exit code 3", "ended"]
    assert (child.return_code, child.running, list(child.last_lines)) == (3, False, ["one", "two"])


async def test_a_child_has_its_own_environment_directory_and_process_group(tmp_path: Path) -> None:
    program = "import os; print(sorted(os.environ), os.getcwd(), os.getpgrp() == os.getpid())"
    child = await start(program, env={"ONE": "1", "LC_CTYPE": "C.UTF-8"}, directory=tmp_path)

    await wait_for_reason(child)
    assert child.output.decode() == f"['LC_CTYPE', 'ONE'] {os.path.realpath(tmp_path)} True\n"  # noqa: ASYNC240 - quick


async def test_a_program_without_pipes_for_stdin_and_stderr_runs_to_its_end() -> None:
    program = "import sys; print(repr(sys.stdin.read())); print('unseen', file=sys.stderr)"
    child = await start(program, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child.write(b"goes nowhere")

    assert await wait_for_reason(child) == "it ended with exit code 0"
    assert child.output == b"''\n"
    assert not child.last_lines


@pytest.mark.parametrize("ends_its_group", [True, False])
async def test_the_processes_of_a_child_end_with_it_unless_they_may_stay(*, ends_its_group: bool) -> None:
    child = await start(SLEEPER, ends_its_group=ends_its_group)
    await wait_for_reason(child)
    left = await child.read_number()
    try:
        if not ends_its_group:
            child.kill()
            await child.stop(0)
            os.kill(left, 0)
    finally:
        if not ends_its_group:
            os.kill(left, signal.SIGKILL)
    assert await wait_until_gone(left)


async def test_a_kill_ends_the_whole_group_even_if_children_may_stay() -> None:
    child = await start(SLEEPER + "import time; time.sleep(600)", ends_its_group=False)
    left = await child.read_number()

    child.kill("it was too slow")
    assert not child.running
    assert await wait_for_reason(child) == "it was too slow"
    assert child.return_code == -signal.SIGKILL
    assert await wait_until_gone(left)


async def test_a_child_may_run_for_its_grace_period_after_it_closed_its_output() -> None:
    program = "import os, sys; os.close(1); sys.stdin.read(); sys.exit(4)"
    child = await start(program, closed_seconds=600.0)
    async with asyncio.timeout(WAIT_SECONDS):
        while child._deadline is None:  # noqa: ASYNC110 - the closed stream is not reported
            await asyncio.sleep(0.01)
    assert child.running
    assert child._stdin is not None
    child._stdin.close()
    assert await wait_for_reason(child) == "it ended with exit code 4"

    child = await start("import os, time; os.close(1); time.sleep(600)", closed_seconds=0.0)
    assert await wait_for_reason(child) == "it closed its output"


async def test_an_exit_counts_even_if_the_event_loop_has_not_seen_it_yet() -> None:
    program = "import os, sys; os.close(1); sys.stdin.readline(); sys.exit(4)"
    child = await start(program, closed_seconds=0.5)
    async with asyncio.timeout(WAIT_SECONDS):
        while child._deadline is None:  # noqa: ASYNC110 - the closed stream is not reported
            await asyncio.sleep(0.01)
    child.write(b"end\n")
    assert block_until_gone(child.pid, WAIT_SECONDS)
    time.sleep(0.6)  # noqa: ASYNC251 - this blocks the event loop for longer than closed_seconds
    assert await wait_for_reason(child) == "it ended with exit code 4"


async def test_a_stream_that_another_process_keeps_open_does_not_delay_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_module, "LAST_OUTPUT_SECONDS", 0.1)
    program = SLEEPER.replace("stdout=subprocess.DEVNULL, ", "start_new_session=True, ")
    child = await start(program)
    try:
        assert await wait_for_reason(child) == "it ended with exit code 0"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(await child.read_number(), signal.SIGKILL)


async def test_streams_of_a_stopped_process_that_is_slow_to_end_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = await start("import time; time.sleep(600)")
    assert child._transport is not None
    streams = [child._transport.get_pipe_transport(fd) for fd in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(child_module, "KILLED_SECONDS", 0.0)
        await child.stop(0)
    assert [each.is_closing() for each in (child._transport, *streams) if each is not None] == [True] * 4
    assert await wait_for_reason(child) == "it was stopped"


async def test_a_program_that_does_not_exist_is_an_error_of_the_operating_system(tmp_path: Path) -> None:
    child = Recorded()
    with pytest.raises(FileNotFoundError):
        await child.start([str(tmp_path / "missing")], env={})
    await child.stop(0)
    child.kill()
