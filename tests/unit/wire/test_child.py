"""Real programs as the other side of a peer: messages, writes that stall, and stderr."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.system.child import KEPT_LINES, MAX_LINE_BYTES, MAX_LINES_PER_CHUNK
from jumpseat.wire import RpcError
from jumpseat.wire.child import FramedChild
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.wire.children import (
    PATIENCE_SECONDS,
    POSIX,
    Handlers,
    python,
    start_request,
    wait_bounded,
    wait_for_failure,
)

pytestmark = POSIX


async def wait_until(condition: Callable[[], bool]) -> None:
    """Run the event loop until the condition holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - the event loop's writes are not reported
            await asyncio.sleep(0)


async def deafen(fake: FakeLanguageServer, handlers: Handlers) -> None:
    """Make the process stop reading."""
    fake.stop_reading()
    fake.stderr("deaf\n")
    await handlers.wait_for_log(1)


# -- exchanging messages


async def test_requests_and_notifications_go_both_ways(
    child: FramedChild, fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.on("sum", lambda params: sum(params))
    assert await wait_bounded(child.peer.request("sum", [1, 2])) == 3
    child.peer.notify("heard", {"a": 1})
    assert await fake.wait_for("heard") == {"a": 1}
    fake.notify("said", {"b": 2})
    assert await fake.request("asked", 5) == ["asked", 5]
    assert handlers.notifications == [("said", {"b": 2})]
    with pytest.raises(RpcError, match="No"):
        await fake.request("refused")
    assert child.running
    assert child.pid == fake.current.pid


async def test_a_message_larger_than_a_pipe_arrives_whole(
    child: FramedChild, fake: FakeLanguageServer
) -> None:
    fake.on("length", len)
    fake.on("give", "b" * 3_000_000)
    assert await wait_bounded(child.peer.request("length", "a" * 3_000_000)) == 3_000_000
    assert len(await wait_bounded(child.peer.request("give"))) == 3_000_000


async def test_a_cancelled_caller_cancels_the_request(child: FramedChild, fake: FakeLanguageServer) -> None:
    task = await start_request(child, fake)
    task.cancel()
    asked = next(each for each in fake.received if each["method"] == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked["id"]}
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_program_gets_exactly_the_given_environment_arguments_and_directory(
    handlers: Handlers, tmp_path: Path
) -> None:
    program = "import os, sys; print(sys.argv[1:], sorted(os.environ), os.getcwd(), file=sys.stderr)"
    child = await handlers.start(
        [*python(program), "a b", "$HOME"], {"ONE": "1", "LC_CTYPE": "C.UTF-8"}, directory=tmp_path
    )
    await wait_bounded(child.wait_until_ended())
    assert handlers.log == [f"['a b', '$HOME'] ['LC_CTYPE', 'ONE'] {os.path.realpath(tmp_path)}"]  # noqa: ASYNC240 - quick


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
async def test_a_program_that_cannot_be_started_is_an_error_of_the_operating_system(
    handlers: Handlers, tmp_path: Path, content: str | None, mode: int, error: type[OSError]
) -> None:
    program = tmp_path / "program"
    if content is not None:
        program.write_text(content, "utf-8")
        program.chmod(mode)
    with pytest.raises(error):
        await handlers.start([str(program)])


async def test_an_argument_with_a_null_character_is_an_error_of_the_operating_system(
    handlers: Handlers,
) -> None:
    with pytest.raises(OSError, match="null byte"):
        await handlers.start([sys.executable, "a\0b"])


async def test_a_start_that_is_cancelled_leaves_nothing_behind(
    fake: FakeLanguageServer, handlers: Handlers
) -> None:
    task = asyncio.ensure_future(handlers.start(fake.command))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for start in fake.starts:
        await start.wait_until_ended()


# -- writing


async def test_a_program_that_stops_reading_is_ended_after_the_stall_time(
    fake: FakeLanguageServer, handlers: Handlers
) -> None:
    child = await handlers.start(fake.command, stall_seconds=0.3)
    await fake.wait_for_start()
    task = await start_request(child, fake)
    await deafen(fake, handlers)
    # This exceeds the capacity of a pipe, so a blocking write would never return.
    child.peer.notify("huge", "x" * 10_000_000)
    assert await wait_for_failure(task) == "it stopped reading what it was sent"
    assert await wait_bounded(child.wait_until_ended()) == "it stopped reading what it was sent"
    await fake.current.wait_until_ended()


async def test_a_single_unread_byte_counts_as_a_stall(fake: FakeLanguageServer, handlers: Handlers) -> None:
    child = await handlers.start(fake.command, stall_seconds=0.3)
    await fake.wait_for_start()
    task = await start_request(child, fake)
    await deafen(fake, handlers)
    while child._accepted_bytes() == child._sent:
        child.peer.notify("small", "x" * 5000)
    assert await wait_for_failure(task) == "it stopped reading what it was sent"
    await wait_bounded(child.wait_until_ended())


@pytest.mark.parametrize("is_slow", [True, False], ids=["slow", "stalled"])
async def test_a_program_that_stops_reading_is_ended_but_not_one_that_reads_slowly(
    handlers: Handlers, is_slow: bool
) -> None:
    # The program reads on a signal and reports each read, so that the machine's speed does not matter.
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
    child = await handlers.start(python(program))
    await handlers.wait_for_log(1)
    child.peer.notify("huge", "x" * 4_000_000)
    for number in range(3):
        before = child._accepted_bytes()
        if is_slow:
            os.kill(child.pid, signal.SIGUSR1)
            await handlers.wait_for_log(2 + number)
            await wait_until(lambda: child._accepted_bytes() > before)  # noqa: B023 - called before the next round
        timer = child._stall
        assert child.running
        child._check_stall(before)
        assert child.running == is_slow
        if not is_slow:
            break
        assert child._stall is not timer, "the next check was not scheduled"
    if not is_slow:
        assert await wait_bounded(child.wait_until_ended()) == "it stopped reading what it was sent"
    await child.stop(0)


# -- stderr


async def test_lines_of_stderr_are_reported_whole_bounded_and_without_escape_sequences(
    child: FramedChild, fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.stderr(b"first\r\n\n\x1b[31mred\x1b[0m \xff\nbe")
    await handlers.wait_for_log(2)
    assert handlers.log == ["first", "red �"]
    fake.stderr("gun\n" + "x" * 100_000 + "\nlast\n")
    await handlers.wait_for_log(5)
    assert handlers.log[2:] == ["begun", "x" * MAX_LINE_BYTES, "last"]


async def test_a_line_without_an_end_costs_no_memory(
    child: FramedChild, fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.stderr("x" * 2_000_000)
    assert await fake.request("after it") == ["after it", None]
    assert len(child._line) <= MAX_LINE_BYTES
    fake.stderr("\n")
    await handlers.wait_for_log(1)
    assert handlers.log == ["x" * MAX_LINE_BYTES]


async def test_only_the_last_lines_of_many_are_kept(
    child: FramedChild, fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.stderr("".join(f"{number}\n" for number in range(1000)))
    await handlers.wait_for_log(1000)
    assert child.last_words.splitlines() == [str(number) for number in range(1000)][-KEPT_LINES:]


async def test_only_the_last_of_too_many_lines_are_reported_with_a_count(
    child: FramedChild, handlers: Handlers
) -> None:
    lines = [str(number) for number in range(3 * MAX_LINES_PER_CHUNK)]
    child._handle_stderr(b"begun")
    child._handle_stderr("".join(f"{line}\n" for line in lines).encode() + b"rest")
    assert handlers.log == [f"({2 * MAX_LINES_PER_CHUNK} lines were left out)", *lines[-MAX_LINES_PER_CHUNK:]]
    child._handle_stderr(b" of it\n")
    assert handlers.log[-1] == "rest of it"
