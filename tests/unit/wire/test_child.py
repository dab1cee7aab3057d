"""Real programs as the other side of a peer: spoken to, broken, deaf, killed, gone with all they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.wire import PeerClosed, RpcError
from jumpseat.wire.child import (
    LAST_OUTPUT_SECONDS,
    LAST_WORDS_LINES,
    MAX_LINE_CHARACTERS,
    Child,
    start_child,
)
from tests.fakes.language_server import NEVER, FakeLanguageServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of POSIX")

AT_ONCE_SECONDS = 1.0
"""What the contract allows between a program's death and the failure of whoever waits for it."""


class Told:
    """What a child's handlers were called with."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, Any]] = []
        self.log: list[str] = []
        self.logged = asyncio.Event()

    def on_notification(self, method: str, params: Any) -> None:
        self.notifications.append((method, params))

    async def on_request(self, method: str, params: Any) -> Any:
        if method == "refused":
            raise RpcError(7, "No.")
        return [method, params]

    def on_log(self, line: str) -> None:
        self.log.append(line)
        self.logged.set()

    async def until_logged(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.log) < count:
                self.logged.clear()
                await self.logged.wait()

    async def start(self, argv: list[str], env: Mapping[str, str] | None = None, **more: Any) -> Child:
        return await start_child(
            argv,
            env=dict(os.environ) if env is None else env,
            on_notification=self.on_notification,
            on_request=self.on_request,
            on_log=self.on_log,
            **more,
        )


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def told() -> Told:
    return Told()


@pytest.fixture
async def child(fake: FakeLanguageServer, told: Told) -> AsyncIterator[Child]:
    """The fake's process, which said nothing yet."""
    started = await told.start(fake.command)
    await fake.wait_for_start()
    yield started
    await bounded(started.stop(0))


async def bounded(awaitable: Any, seconds: float = 10.0) -> Any:
    async with asyncio.timeout(seconds):
        return await awaitable


async def waiting_request(child: Child, fake: FakeLanguageServer) -> asyncio.Task[Any]:
    """A request that has arrived and is not answered."""
    fake.on("ask", NEVER)
    task = asyncio.ensure_future(child.peer.request("ask"))
    await fake.wait_for("ask")
    return task


async def deaf(fake: FakeLanguageServer, told: Told) -> None:
    """Have the process read no more."""
    fake.stop_reading()
    fake.stderr("deaf\n")
    await told.until_logged(1)


async def failure_of(task: asyncio.Task[Any], seconds: float = AT_ONCE_SECONDS) -> str:
    with pytest.raises(PeerClosed) as caught:
        await bounded(task, seconds)
    return str(caught.value)


def python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]


# -- speaking


async def test_requests_and_notifications_go_both_ways(
    child: Child, fake: FakeLanguageServer, told: Told
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


async def test_a_message_beyond_any_pipes_size_arrives_whole(child: Child, fake: FakeLanguageServer) -> None:
    fake.on("length", len)
    fake.on("give", "b" * 3_000_000)
    assert await bounded(child.peer.request("length", "a" * 3_000_000)) == 3_000_000
    assert len(await bounded(child.peer.request("give"))) == 3_000_000


async def test_a_cancelled_caller_takes_the_request_back(child: Child, fake: FakeLanguageServer) -> None:
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


# -- ends


async def test_kill_9_fails_whoever_waits_within_a_second_and_says_the_signal(
    child: Child, fake: FakeLanguageServer
) -> None:
    task = await waiting_request(child, fake)
    fake.kill()
    assert await failure_of(task) == "it was killed by signal 9"
    assert await bounded(child.ended()) == "it was killed by signal 9"
    assert not child.running
    with pytest.raises(PeerClosed, match="signal 9"):
        await child.peer.request("more")


async def test_what_it_said_before_it_died_is_heard_first(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    task = await waiting_request(child, fake)
    for number in range(200):
        fake.notify("piece", number)
    fake.stderr("I am\nout of memory")
    fake.exit(3)
    assert await failure_of(task) == "it ended with exit code 3"
    assert [params for _, params in told.notifications] == list(range(200))
    assert told.log == ["I am", "out of memory"]
    assert child.last_words == "I am\nout of memory"


async def test_what_is_still_in_its_streams_when_it_is_gone_is_heard(told: Told) -> None:
    # Another process, out of reach, says it once this one is dead.
    last = (
        "import os, sys, time\n"
        "while os.getppid() == int(sys.argv[1]):\n"
        "    time.sleep(0.02)\n"
        'body = b\'{"jsonrpc":"2.0","method":"late"}\'\n'
        "os.write(1, b'Content-Length: %d\\r\\n\\r\\n%b' % (len(body), body))\n"
        "os.write(2, b'late words')"
    )
    program = (
        "import os, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-I', '-S', '-c', {last!r}, str(os.getpid())],"
        " start_new_session=True)\n"
        "os._exit(5)"
    )
    child = await told.start(python(program))
    assert await bounded(child.ended()) == "it ended with exit code 5"
    assert told.notifications == [("late", None)]
    assert child.last_words == "late words"


async def test_a_grandchild_that_holds_its_streams_delays_nobody_and_goes_with_it(
    child: Child, fake: FakeLanguageServer
) -> None:
    grandchild = await fake.grandchild()
    task = await waiting_request(child, fake)
    fake.kill()
    assert await failure_of(task) == "it was killed by signal 9"
    await grandchild.ended()


def descriptors() -> list[int]:
    """Those of this process that lead to a pipe or a socket."""
    found = []
    for name in range(256):
        with contextlib.suppress(OSError):
            mode = os.fstat(name).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                found.append(name)
    return found


async def test_a_process_outside_its_group_that_holds_its_streams_delays_nobody_for_long(told: Told) -> None:
    before = descriptors()
    program = (
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True)\n"
        "print(held.pid, file=sys.stderr, flush=True)\n"
        "os._exit(5)"
    )
    child = await told.start(python(program))
    child.peer.notify("huge", "x" * 10_000_000)
    assert await bounded(child.ended()) == "it ended with exit code 5"
    for _ in range(3):
        await asyncio.sleep(0)
    try:
        assert descriptors() == before
    finally:
        os.kill(int(told.log[0]), signal.SIGKILL)


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"Need to install the following packages:\n\n", "not a header line"),
        (b"Content-Length: 5\r\n\r\n{oops", "not valid JSON"),
        (b"Content-Length: x\r\n\r\n{}", "not a number"),
        (b'Content-Length: 12\r\n\r\n{"none": {}}', '"jsonrpc": "2.0"'),
        (b'Content-Length: 24\r\n\r\n{"jsonrpc":"2.0","id":1}', "a result or an error"),
    ],
    ids=["text", "no JSON", "bad header", "no message", "no answer"],
)
async def test_what_is_no_message_ends_it_at_once(
    child: Child, fake: FakeLanguageServer, garbage: bytes, reason: str
) -> None:
    grandchild = await fake.grandchild()
    task = await waiting_request(child, fake)
    fake.send_bytes(garbage)
    assert reason in await failure_of(task)
    why = await bounded(child.ended())
    assert why.startswith("it sent something that is no message (")
    assert reason in why
    await fake.current.ended()
    await grandchild.ended()


async def test_one_that_closes_its_output_and_runs_on_is_ended(told: Told) -> None:
    child = await told.start(python("import os, time; os.close(1); time.sleep(60)"))
    with pytest.raises(PeerClosed, match="it closed its output"):
        await bounded(child.peer.request("ask"))
    assert await bounded(child.ended()) == "it closed its output"


async def test_one_that_closes_its_input_and_runs_on_is_ended(told: Told) -> None:
    child = await told.start(python("import os, time; os.close(0); time.sleep(60)"))
    with pytest.raises(PeerClosed, match="it closed its input"):
        await bounded(child.peer.request("ask"))
    assert await bounded(child.ended()) == "it closed its input"


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
    began = time.monotonic()
    child.peer.notify("huge", "x" * 10_000_000)
    assert time.monotonic() - began < AT_ONCE_SECONDS
    assert await failure_of(task, 5) == "it stopped reading what it was sent"
    assert await bounded(child.ended()) == "it stopped reading what it was sent"
    await fake.current.ended()


async def test_a_single_byte_that_is_not_taken_counts(fake: FakeLanguageServer, told: Told) -> None:
    child = await told.start(fake.command, stall_seconds=0.3)
    await fake.wait_for_start()
    task = await waiting_request(child, fake)
    await deaf(fake, told)
    while child._taken() == child._sent:
        child.peer.notify("small", "x" * 5000)
    assert await failure_of(task, 5) == "it stopped reading what it was sent"
    await bounded(child.ended())


async def test_one_that_reads_slowly_is_given_its_time(told: Told) -> None:
    # It takes longer than the stall for everything, but something within each.
    program = (
        "import os, sys, time\n"
        "print('ready', file=sys.stderr, flush=True)\n"
        "left = 2_000_000\n"
        "while left > 0:\n"
        "    piece = min(left, 250_000)\n"
        "    left -= piece\n"
        "    while piece > 0:\n"
        "        piece -= len(os.read(0, piece))\n"
        "    time.sleep(0.2)\n"
        "print('all', file=sys.stderr)"
    )
    child = await told.start(python(program), stall_seconds=1.0)
    await told.until_logged(1)
    child.peer.notify("huge", "x" * 2_000_000)
    assert await bounded(child.ended()) == "it ended with exit code 0"
    assert told.log == ["ready", "all"]


# -- stderr


async def test_lines_of_stderr_are_told_as_they_come_whole_bounded_and_without_orders_to_a_terminal(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr(b"first\r\n\n\x1b[31mred\x1b[0m \xff\nbe")
    await told.until_logged(2)
    assert told.log == ["first", "red �"]
    fake.stderr("gun\n" + "x" * 100_000 + "\nlast\n")
    await told.until_logged(5)
    assert told.log[2:] == ["begun", "x" * MAX_LINE_CHARACTERS, "last"]


async def test_a_line_without_an_end_costs_no_memory(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("x" * 2_000_000)
    assert await fake.request("after it") == ["after it", None]
    assert len(child._line) <= 4 * MAX_LINE_CHARACTERS
    fake.stderr("\n")
    await told.until_logged(1)
    assert told.log == ["x" * MAX_LINE_CHARACTERS]


async def test_of_a_flood_only_the_last_lines_are_kept(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("".join(f"{number}\n" for number in range(1000)))
    await told.until_logged(1000)
    assert child.last_words.splitlines() == [str(number) for number in range(1000)][-LAST_WORDS_LINES:]


# -- stopping


async def test_stop_ends_its_input_and_waits_for_its_own_end(child: Child, fake: FakeLanguageServer) -> None:
    task = await waiting_request(child, fake)
    await bounded(child.stop(10), 5)
    assert await failure_of(task) == "it was stopped"
    assert fake.current.saw_eof
    await fake.current.ended()


async def test_one_that_ignores_the_end_of_its_input_has_a_signal_to_tidy_up_by(told: Told) -> None:
    program = (
        "import os, signal, sys\n"
        "def tidy(*_):\n"
        "    print('tidied', file=sys.stderr, flush=True)\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, tidy)\n"
        "print('ready', file=sys.stderr, flush=True)\n"
        "while True:\n"
        "    signal.pause()"
    )
    child = await told.start(python(program))
    await told.until_logged(1)
    await bounded(child.stop(1))
    assert told.log == ["ready", "tidied"]


async def test_one_that_ignores_every_wish_to_end_is_killed_with_all_it_started(
    fake: FakeLanguageServer, told: Told
) -> None:
    fake.stubborn = True
    child = await told.start(fake.command)
    await fake.wait_for_start()
    grandchild = await fake.grandchild()
    began = time.monotonic()
    await bounded(child.stop(0.4))
    assert 0.4 <= time.monotonic() - began < 0.4 + 2 * LAST_OUTPUT_SECONDS + AT_ONCE_SECONDS
    assert await bounded(child.ended(), 0.1) == "it was stopped"
    await fake.current.ended()
    await grandchild.ended()


async def test_whoever_is_cancelled_while_it_stops_has_it_killed_at_once(
    fake: FakeLanguageServer, told: Told
) -> None:
    fake.stubborn = True
    child = await told.start(fake.command)
    await fake.wait_for_start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await child.stop(60)
    assert await bounded(child.ended(), 5) == "it was stopped"


async def test_stopping_twice_or_what_is_dead_is_nothing(child: Child, fake: FakeLanguageServer) -> None:
    fake.exit(0)
    await bounded(child.ended())
    await bounded(child.stop(60), 1)
    child.kill()
    assert await bounded(child.ended()) == "it ended with exit code 0"


# -- our own end


PARENT = """
import asyncio, os, sys
from jumpseat.wire.child import start_child

async def nothing(method, params):
    return None

async def main():
    child = await start_child(
        sys.argv[1:], env=os.environ,
        on_notification=lambda method, params: None, on_request=nothing, on_log=print,
    )
    await child.ended()

asyncio.run(main())
"""


async def test_kill_9_of_ourselves_leaves_no_child(fake: FakeLanguageServer) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, *fake.command)
    try:
        start = await fake.wait_for_start()
        assert start.pid != parent.pid
        parent.kill()
        await start.ended()
        assert start.saw_eof
    finally:
        with contextlib.suppress(ProcessLookupError):
            parent.kill()
        await parent.wait()
