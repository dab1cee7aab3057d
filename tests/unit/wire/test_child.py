"""Real programs as the other side of a peer: spoken to, deaf, and heard on their stderr."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.system.child import KEPT_LINES, MAX_LINE_BYTES, MAX_LINES_AT_ONCE
from jumpseat.wire import RpcError
from jumpseat.wire.child import FramedChild
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.wire.children import (
    PATIENCE_SECONDS,
    POSIX,
    Told,
    bounded,
    failure_of,
    python,
    waiting_request,
)

pytestmark = POSIX


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop go on until something holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - nothing tells of what the event loop writes
            await asyncio.sleep(0)


async def deaf(fake: FakeLanguageServer, told: Told) -> None:
    """Have the process read no more."""
    fake.stop_reading()
    fake.stderr("deaf\n")
    await told.until_logged(1)


# -- speaking


async def test_requests_and_notifications_go_both_ways(
    child: FramedChild, fake: FakeLanguageServer, told: Told
) -> None:
    fake.on("sum", lambda params: sum(params))
    assert await bounded(child.peer.request("sum", [1, 2])) == 3
    child.peer.notify("heard", {"a": 1})
    assert await fake.wait_for("heard") == {"a": 1}
    fake.notify("said", {"b": 2})
    assert await fake.request("asked", 5) == ["asked", 5]
    assert told.notifications == [("said", {"b": 2})]
    with pytest.raises(RpcError, match="No"):
        await fake.request("refused")
    assert child.running
    assert child.pid == fake.current.pid


async def test_a_message_beyond_any_pipes_size_arrives_whole(
    child: FramedChild, fake: FakeLanguageServer
) -> None:
    fake.on("length", len)
    fake.on("give", "b" * 3_000_000)
    assert await bounded(child.peer.request("length", "a" * 3_000_000)) == 3_000_000
    assert len(await bounded(child.peer.request("give"))) == 3_000_000


async def test_a_cancelled_caller_takes_the_request_back(
    child: FramedChild, fake: FakeLanguageServer
) -> None:
    task = await waiting_request(child, fake)
    task.cancel()
    asked = next(each for each in fake.received if each["method"] == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked["id"]}
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_it_has_the_environment_the_arguments_and_the_directory_it_is_given_and_no_others(
    told: Told, tmp_path: Path
) -> None:
    program = "import os, sys; print(sys.argv[1:], sorted(os.environ), os.getcwd(), file=sys.stderr)"
    child = await told.start(
        [*python(program), "a b", "$HOME"], {"ONE": "1", "LC_CTYPE": "C.UTF-8"}, directory=tmp_path
    )
    await bounded(child.ended())
    assert told.log == [f"['a b', '$HOME'] ['LC_CTYPE', 'ONE'] {os.path.realpath(tmp_path)}"]  # noqa: ASYNC240


# -- starts that fail


@pytest.mark.parametrize(
    ("content", "mode", "error"),
    [
        (None, 0o755, FileNotFoundError),
        ("#!/bin/sh\n", 0o644, PermissionError),
        ("neither a script nor a program", 0o755, OSError),
    ],
    ids=["missing", "not executable", "exec format"],
)
async def test_one_that_cannot_be_started_is_an_error_of_the_operating_system(
    told: Told, tmp_path: Path, content: str | None, mode: int, error: type[OSError]
) -> None:
    program = tmp_path / "program"
    if content is not None:
        program.write_text(content, "utf-8")
        program.chmod(mode)
    with pytest.raises(error):
        await told.start([str(program)])


async def test_what_no_argument_can_hold_is_such_an_error_too(told: Told) -> None:
    with pytest.raises(OSError, match="null byte"):
        await told.start([sys.executable, "a\0b"])


async def test_a_start_that_is_cancelled_leaves_nothing_behind(fake: FakeLanguageServer, told: Told) -> None:
    task = asyncio.ensure_future(told.start(fake.command))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for start in fake.starts:
        await start.ended()


# -- writing


async def test_one_that_reads_no_more_blocks_nobody_and_is_ended_when_it_has_taken_nothing_for_too_long(
    fake: FakeLanguageServer, told: Told
) -> None:
    child = await told.start(fake.command, stall_seconds=0.3)
    await fake.wait_for_start()
    task = await waiting_request(child, fake)
    await deaf(fake, told)
    # It takes no more than a pipe holds: whoever waited here would wait for ever.
    child.peer.notify("huge", "x" * 10_000_000)
    assert await failure_of(task) == "it stopped reading what it was sent"
    assert await bounded(child.ended()) == "it stopped reading what it was sent"
    await fake.current.ended()


async def test_a_single_byte_that_is_not_taken_counts(fake: FakeLanguageServer, told: Told) -> None:
    child = await told.start(fake.command, stall_seconds=0.3)
    await fake.wait_for_start()
    task = await waiting_request(child, fake)
    await deaf(fake, told)
    while child._taken() == child._sent:
        child.peer.notify("small", "x" * 5000)
    assert await failure_of(task) == "it stopped reading what it was sent"
    await bounded(child.ended())


@pytest.mark.parametrize("is_slow", [True, False], ids=["slow", "stalled"])
async def test_one_that_reads_slowly_is_given_its_time(told: Told, is_slow: bool) -> None:
    # It says when it goes on, so that what is between two looks of the clock is no matter of the machine.
    program = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "print('ready', file=sys.stderr, flush=True)\n"
        "while True:\n"
        "    signal.sigwait([signal.SIGUSR1])\n"
        "    left = 1_000_000\n"
        "    while left > 0:\n"
        "        left -= len(os.read(0, left))\n"
        "    print('read', file=sys.stderr, flush=True)"
    )
    child = await told.start(python(program))
    await told.until_logged(1)
    child.peer.notify("huge", "x" * 4_000_000)
    for number in range(3):
        before = child._taken()
        if is_slow:
            os.kill(child.pid, signal.SIGUSR1)
            await told.until_logged(2 + number)
            await until(lambda: child._taken() > before)  # noqa: B023 - called before the next round
        timer = child._stall
        assert child.running
        child._check_stall(before)
        assert child.running == is_slow
        if not is_slow:
            break
        assert child._stall is not timer, "it is looked at again"
    if not is_slow:
        assert await bounded(child.ended()) == "it stopped reading what it was sent"
    await child.stop(0)


# -- stderr


async def test_lines_of_stderr_are_told_as_they_come_whole_bounded_and_without_orders_to_a_terminal(
    child: FramedChild, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr(b"first\r\n\n\x1b[31mred\x1b[0m \xff\nbe")
    await told.until_logged(2)
    assert told.log == ["first", "red �"]
    fake.stderr("gun\n" + "x" * 100_000 + "\nlast\n")
    await told.until_logged(5)
    assert told.log[2:] == ["begun", "x" * MAX_LINE_BYTES, "last"]


async def test_a_line_without_an_end_costs_no_memory(
    child: FramedChild, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("x" * 2_000_000)
    assert await fake.request("after it") == ["after it", None]
    assert len(child._line) <= MAX_LINE_BYTES
    fake.stderr("\n")
    await told.until_logged(1)
    assert told.log == ["x" * MAX_LINE_BYTES]


async def test_of_a_flood_only_the_last_lines_are_kept(
    child: FramedChild, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("".join(f"{number}\n" for number in range(1000)))
    await told.until_logged(1000)
    assert child.last_words.splitlines() == [str(number) for number in range(1000)][-KEPT_LINES:]


async def test_of_more_lines_than_there_is_time_for_the_last_are_told_and_how_many_were_not(
    child: FramedChild, told: Told
) -> None:
    lines = [str(number) for number in range(3 * MAX_LINES_AT_ONCE)]
    child._take_stderr(b"begun")
    child._take_stderr("".join(f"{line}\n" for line in lines).encode() + b"rest")
    assert told.log == [f"({2 * MAX_LINES_AT_ONCE} lines were left out)", *lines[-MAX_LINES_AT_ONCE:]]
    child._take_stderr(b" of it\n")
    assert told.log[-1] == "rest of it"
