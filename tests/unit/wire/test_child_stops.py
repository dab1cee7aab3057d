"""Real programs that are stopped together with their child processes, and that end with the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time

import pytest

from jumpseat.wire.child import FramedChild
from tests.attempts import ATTEMPTS, assert_quick
from tests.fakes.language_server import FakeLanguageServer
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


# -- stopping


async def test_stop_closes_the_input_of_a_program_and_waits_for_its_end(
    child: FramedChild, fake: FakeLanguageServer
) -> None:
    task = await start_request(child, fake)
    await wait_bounded(child.stop(10 * PATIENCE_SECONDS))
    assert await wait_for_failure(task) == "it was stopped"
    assert fake.current.saw_eof
    await fake.current.wait_until_ended()


async def test_a_program_that_ignores_the_end_of_its_input_gets_sigterm(handlers: Handlers) -> None:
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
        handlers.log.clear()
        child = await handlers.start(python(program))
        await handlers.wait_for_log(1)
        # SIGTERM is sent after half of the time. The cleanup may need longer than the rest on a busy machine.
        await wait_bounded(child.stop(4**attempt), 4**ATTEMPTS)
        if handlers.log == ["ready", "tidied"]:
            return
    raise AssertionError(handlers.log)


async def test_a_program_that_ignores_sigterm_is_killed_with_all_it_started(
    fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.stubborn = True

    async def seconds_beyond_what_it_may_take() -> float:
        count = len(fake.starts) + 1
        child = await handlers.start(fake.command)
        await fake.wait_for_start(count)
        grandchild = await fake.start_grandchild()
        began = time.monotonic()
        await wait_bounded(child.stop(0.4))
        took = time.monotonic() - began
        assert took >= 0.4
        assert await wait_bounded(child.wait_until_ended()) == "it was stopped"
        await fake.current.wait_until_ended()
        await grandchild.wait_until_ended()
        return took - 0.4

    await assert_quick(seconds_beyond_what_it_may_take, within=AT_ONCE_SECONDS)


async def test_a_cancelled_stop_kills_the_program_immediately(
    fake: FakeLanguageServer, handlers: Handlers
) -> None:
    fake.stubborn = True
    child = await handlers.start(fake.command)
    await fake.wait_for_start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await child.stop(60)
    assert await wait_bounded(child.wait_until_ended()) == "it was stopped"


async def test_stopping_a_dead_program_has_no_effect(child: FramedChild, fake: FakeLanguageServer) -> None:
    fake.exit(0)
    await wait_bounded(child.wait_until_ended())
    await wait_bounded(child.stop(60), 1)
    child.kill()
    assert await wait_bounded(child.wait_until_ended()) == "it ended with exit code 0"


# -- the end of the parent


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
    await child.wait_until_ended()

asyncio.run(main())
"""


async def test_kill_9_of_the_parent_leaves_no_child(fake: FakeLanguageServer) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, *fake.command)
    try:
        start = await fake.wait_for_start()
        assert start.pid != parent.pid
        parent.kill()
        await start.wait_until_ended()
        assert start.saw_eof
    finally:
        with contextlib.suppress(ProcessLookupError):
            parent.kill()
        await parent.wait()
