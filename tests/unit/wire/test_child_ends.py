"""Real programs that end by themselves, or that are ended for malformed output or a closed stream."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import time

import pytest

from jumpseat.system import child as child_module
from jumpseat.wire import PeerClosed
from jumpseat.wire.child import FramedChild
from tests.attempts import assert_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.unit.wire.children import (
    AT_ONCE_SECONDS,
    PATIENCE_SECONDS,
    POSIX,
    Handlers,
    python,
    start_request,
    wait_bounded,
    wait_for_failure,
)

pytestmark = POSIX


async def test_kill_9_fails_waiting_requests_within_a_second_and_reports_the_signal(
    fake: FakeLanguageServer, handlers: Handlers
) -> None:
    async def seconds_until_it_fails() -> float:
        count = len(fake.starts) + 1
        child = await handlers.start(fake.command)
        await fake.wait_for_start(count)
        fake.on("ask", NEVER)
        task = asyncio.ensure_future(child.peer.request("ask"))
        await fake.wait_for("ask", count)
        killed = time.monotonic()
        fake.kill()
        assert await wait_for_failure(task) == "it was killed by signal 9"
        took = time.monotonic() - killed
        assert await wait_bounded(child.wait_until_ended()) == "it was killed by signal 9"
        assert not child.running
        assert child.why == "it was killed by signal 9"
        with pytest.raises(PeerClosed, match="signal 9"):
            await child.peer.request("more")
        return took

    await assert_quick(seconds_until_it_fails, within=AT_ONCE_SECONDS)


async def test_messages_that_a_program_sends_before_its_end_are_delivered_first(
    child: FramedChild, fake: FakeLanguageServer, handlers: Handlers
) -> None:
    task = await start_request(child, fake)
    for number in range(200):
        fake.notify("piece", number)
    fake.stderr("I am\nout of memory")
    fake.exit(3)
    assert await wait_for_failure(task) == "it ended with exit code 3"
    assert [params for _, params in handlers.notifications] == list(range(200))
    assert handlers.log == ["I am", "out of memory"]
    assert child.last_words == "I am\nout of memory"


async def test_output_that_is_written_after_the_end_of_a_program_is_delivered(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "LAST_OUTPUT_SECONDS", PATIENCE_SECONDS)
    # The program starts a writer outside of its process group, which writes after the program has ended.
    late_writer = (
        "import os, sys, time\n"
        "while os.getppid() == int(sys.argv[1]):\n"
        "    time.sleep(0.02)\n"
        'body = b\'{"jsonrpc":"2.0","method":"late"}\'\n'
        "os.write(1, b'Content-Length: %d\\r\\n\\r\\n%b' % (len(body), body))\n"
        "os.write(2, b'late words')"
    )
    program = (
        "import os, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-I', '-S', '-c', {late_writer!r}, str(os.getpid())],"
        " start_new_session=True)\n"
        "os._exit(5)"
    )
    child = await handlers.start(python(program))
    assert await wait_bounded(child.wait_until_ended()) == "it ended with exit code 5"
    assert handlers.notifications == [("late", None)]
    assert child.last_words == "late words"


async def test_a_grandchild_that_holds_the_streams_of_the_child_ends_with_the_child(
    child: FramedChild, fake: FakeLanguageServer
) -> None:
    grandchild = await fake.start_grandchild()
    task = await start_request(child, fake)
    fake.kill()
    assert await wait_for_failure(task) == "it was killed by signal 9"
    await grandchild.wait_until_ended()


def descriptors() -> list[int]:
    """List the descriptors of this process that are pipes or sockets."""
    found = []
    for name in range(256):
        with contextlib.suppress(OSError):
            mode = os.fstat(name).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                found.append(name)
    return found


async def test_a_process_outside_the_group_delays_the_end_only_briefly(
    handlers: Handlers,
) -> None:
    before = descriptors()
    program = (
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True)\n"
        "print(held.pid, file=sys.stderr, flush=True)\n"
        "os._exit(5)"
    )
    child = await handlers.start(python(program))
    child.peer.notify("huge", "x" * 10_000_000)
    assert await wait_bounded(child.wait_until_ended()) == "it ended with exit code 5"
    for _ in range(3):
        await asyncio.sleep(0)
    try:
        assert descriptors() == before
    finally:
        os.kill(int(handlers.log[0]), signal.SIGKILL)


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"Need to install the following packages:\n\n", "not a header line"),
        (b"Content-Length: 5\r\n\r\n{oops", "not valid JSON"),
        (b"Content-Length: x\r\n\r\n{}", "not a number"),
        (b'Content-Length: 12\r\n\r\n{"none": {}}', '"jsonrpc": "2.0"'),
        (b'Content-Length: 24\r\n\r\n{"jsonrpc":"2.0","id":1}', "a result or an error"),
    ],
    ids=["text", "not JSON", "bad header", "not a message", "not an answer"],
)
async def test_malformed_output_ends_the_program_immediately(
    child: FramedChild, fake: FakeLanguageServer, garbage: bytes, reason: str
) -> None:
    grandchild = await fake.start_grandchild()
    task = await start_request(child, fake)
    fake.send_bytes(garbage)
    assert reason in await wait_for_failure(task)
    why = await wait_bounded(child.wait_until_ended())
    assert why.startswith("it sent something that is not a message (")
    assert reason in why
    await fake.current.wait_until_ended()
    await grandchild.wait_until_ended()


async def test_a_program_that_closes_its_output_and_runs_on_is_ended(handlers: Handlers) -> None:
    child = await handlers.start(python("import os, time; os.close(1); time.sleep(60)"))
    with pytest.raises(PeerClosed, match="it closed its output"):
        await wait_bounded(child.peer.request("ask"))
    assert await wait_bounded(child.wait_until_ended()) == "it closed its output"


async def test_a_program_that_closes_its_output_is_ended_even_if_stderr_stays_open(
    handlers: Handlers,
) -> None:
    program = (
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen([sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "print(held.pid, file=sys.stderr, flush=True)\n"
        "os.close(1)\n"
        "time.sleep(60)"
    )
    child = await handlers.start(python(program))
    await handlers.wait_for_log(1)
    try:
        assert await wait_bounded(child.wait_until_ended()) == "it closed its output"
    finally:
        os.kill(int(handlers.log[0]), signal.SIGKILL)


async def test_a_program_that_closes_its_input_and_runs_on_is_ended(handlers: Handlers) -> None:
    child = await handlers.start(python("import os, time; os.close(0); time.sleep(60)"))
    with pytest.raises(PeerClosed, match="it closed its input"):
        await wait_bounded(child.peer.request("ask"))
    assert await wait_bounded(child.wait_until_ended()) == "it closed its input"
