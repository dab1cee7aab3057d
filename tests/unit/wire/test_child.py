"""Real programs as the other side of a peer: spoken to, broken, deaf, killed, gone with all they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.wire import PeerClosed, RpcError
from jumpseat.wire import child as child_module
from jumpseat.wire.child import (
    LAST_WORDS_LINES,
    MAX_LINE_BYTES,
    MAX_LINES_AT_ONCE,
    Child,
    start_child,
)
from tests.attempts import ATTEMPTS, is_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of POSIX")

AT_ONCE_SECONDS = 1.0
"""What the contract allows between a program's death and the failure of whoever waits for it."""

PATIENCE_SECONDS = 20.0
"""Far more than anything here takes: a loaded machine is slow, a hang is for ever."""


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
        async with asyncio.timeout(PATIENCE_SECONDS):
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


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop go on until something holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - nothing tells of what the event loop writes
            await asyncio.sleep(0)


async def bounded(awaitable: Any, seconds: float = PATIENCE_SECONDS) -> Any:
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


async def failure_of(task: asyncio.Task[Any]) -> str:
    with pytest.raises(PeerClosed) as caught:
        await bounded(task)
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
    fake: FakeLanguageServer, told: Told
) -> None:
    async def seconds_until_it_fails() -> float:
        count = len(fake.starts) + 1
        child = await told.start(fake.command)
        await fake.wait_for_start(count)
        fake.on("ask", NEVER)
        task = asyncio.ensure_future(child.peer.request("ask"))
        await fake.wait_for("ask", count)
        killed = time.monotonic()
        fake.kill()
        assert await failure_of(task) == "it was killed by signal 9"
        took = time.monotonic() - killed
        assert await bounded(child.ended()) == "it was killed by signal 9"
        assert not child.running
        assert child.why == "it was killed by signal 9"
        with pytest.raises(PeerClosed, match="signal 9"):
            await child.peer.request("more")
        return took

    await is_quick(seconds_until_it_fails, within=AT_ONCE_SECONDS)


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


async def test_what_is_still_in_its_streams_when_it_is_gone_is_heard(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "LAST_OUTPUT_SECONDS", PATIENCE_SECONDS)
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


async def test_one_that_closes_its_output_while_another_process_holds_its_stderr_ends_all_the_same(
    told: Told,
) -> None:
    program = (
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "print(held.pid, file=sys.stderr, flush=True)\n"
        "os.close(1)\n"
        "time.sleep(60)"
    )
    child = await told.start(python(program))
    await told.until_logged(1)
    try:
        assert await bounded(child.ended()) == "it closed its output"
    finally:
        os.kill(int(told.log[0]), signal.SIGKILL)


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
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr(b"first\r\n\n\x1b[31mred\x1b[0m \xff\nbe")
    await told.until_logged(2)
    assert told.log == ["first", "red �"]
    fake.stderr("gun\n" + "x" * 100_000 + "\nlast\n")
    await told.until_logged(5)
    assert told.log[2:] == ["begun", "x" * MAX_LINE_BYTES, "last"]


async def test_a_line_without_an_end_costs_no_memory(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("x" * 2_000_000)
    assert await fake.request("after it") == ["after it", None]
    assert len(child._line) <= MAX_LINE_BYTES
    fake.stderr("\n")
    await told.until_logged(1)
    assert told.log == ["x" * MAX_LINE_BYTES]


async def test_of_a_flood_only_the_last_lines_are_kept(
    child: Child, fake: FakeLanguageServer, told: Told
) -> None:
    fake.stderr("".join(f"{number}\n" for number in range(1000)))
    await told.until_logged(1000)
    assert child.last_words.splitlines() == [str(number) for number in range(1000)][-LAST_WORDS_LINES:]


async def test_of_more_lines_than_there_is_time_for_the_last_are_told_and_how_many_were_not(
    child: Child, told: Told
) -> None:
    lines = [str(number) for number in range(3 * MAX_LINES_AT_ONCE)]
    child._take_stderr(b"begun")
    child._take_stderr("".join(f"{line}\n" for line in lines).encode() + b"rest")
    assert told.log == [f"({2 * MAX_LINES_AT_ONCE} lines were left out)", *lines[-MAX_LINES_AT_ONCE:]]
    child._take_stderr(b" of it\n")
    assert told.log[-1] == "rest of it"


# -- stopping


async def test_stop_ends_its_input_and_waits_for_its_own_end(child: Child, fake: FakeLanguageServer) -> None:
    task = await waiting_request(child, fake)
    await bounded(child.stop(10 * PATIENCE_SECONDS))
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
    for attempt in range(ATTEMPTS):
        told.log.clear()
        child = await told.start(python(program))
        await told.until_logged(1)
        # Half of it is for tidying up, which a machine that is busy may not come to.
        await bounded(child.stop(4**attempt), 4**ATTEMPTS)
        if told.log == ["ready", "tidied"]:
            return
    raise AssertionError(told.log)


async def test_one_that_ignores_every_wish_to_end_is_killed_with_all_it_started(
    fake: FakeLanguageServer, told: Told
) -> None:
    fake.stubborn = True

    async def seconds_beyond_what_it_may_take() -> float:
        count = len(fake.starts) + 1
        child = await told.start(fake.command)
        await fake.wait_for_start(count)
        grandchild = await fake.grandchild()
        began = time.monotonic()
        await bounded(child.stop(0.4))
        took = time.monotonic() - began
        assert took >= 0.4
        assert await bounded(child.ended()) == "it was stopped"
        await fake.current.ended()
        await grandchild.ended()
        return took - 0.4

    await is_quick(seconds_beyond_what_it_may_take, within=AT_ONCE_SECONDS)


async def test_whoever_is_cancelled_while_it_stops_has_it_killed_at_once(
    fake: FakeLanguageServer, told: Told
) -> None:
    fake.stubborn = True
    child = await told.start(fake.command)
    await fake.wait_for_start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await child.stop(60)
    assert await bounded(child.ended()) == "it was stopped"


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
