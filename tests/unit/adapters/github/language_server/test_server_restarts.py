"""A language server that dies: pending requests fail, and the next use starts it again."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base.starts import MAX_STARTS, STARTS_WITHIN_SECONDS
from jumpseat.adapters.github.language_server import server as server_module
from jumpseat.chat import ConfigError, ConnectionError, ProtocolError
from jumpseat.wire.child import FramedChild, start_child
from tests.attempts import assert_quick
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.harness import (
    AT_ONCE_SECONDS,
    PATIENCE_SECONDS,
    POSIX,
    Harness,
    Harnesses,
    failure_of,
    script,
    start_request,
)

pytestmark = POSIX


@pytest.mark.requirement("language-server:crash", "language-server:restart")
async def test_requests_of_a_killed_server_fail_and_the_next_use_starts_it_again(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    async def seconds_until_all_fail() -> float:
        connection = await harness.connect()
        count = len(fake.starts)
        tasks = [await start_request(connection, fake) for _ in range(3)]
        fake.stderr("terrible things\n")
        killed = time.monotonic()
        fake.kill()
        errors = [await failure_of(task) for task in tasks]
        took = time.monotonic() - killed
        for error in errors:
            assert isinstance(error, ProtocolError)
            assert "killed by signal 9" in error.message
            assert not error.retryable
        assert harness.server.running_connection is None
        with pytest.raises(ProtocolError, match="signal 9"):
            connection.notify("more")
        with pytest.raises(ProtocolError, match="signal 9"):
            await connection.request("more", seconds=PATIENCE_SECONDS)
        again = await harness.connect()
        assert again is not connection
        assert again.running
        assert len(fake.starts) == count + 1
        return took

    await assert_quick(seconds_until_all_fail, within=AT_ONCE_SECONDS)


@pytest.mark.requirement("language-server:crash")
async def test_the_failure_has_the_last_stderr_lines_but_none_from_the_start(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    async def write_stderr(params: Any) -> Any:
        fake.stderr("no keyring\n")
        await fake.request("x")  # Its answer shows that the line has been read.
        return await fake.default("initialize", params)

    fake.on("initialize", write_stderr)
    connection = await harness.connect()
    task = await start_request(connection, fake)
    fake.stderr("out of memory\n")
    fake.exit(134)
    error = await failure_of(task)
    assert "exit code 134" in error.message
    assert error.hint == "The next chat starts it again. Its last output: out of memory"


@pytest.mark.parametrize(
    "garbage", [b"Hello?\r\n\r\n", b"Content-Length: 3\r\n\r\n{{{", b"\x00\xff" * 20_000]
)
@pytest.mark.requirement("language-server:broken-framing", "language-server:restart")
async def test_garbage_in_mid_chat_ends_the_server_and_the_next_use_starts_it(
    harness: Harness, fake: FakeLanguageServer, garbage: bytes
) -> None:
    connection = await harness.connect()
    task = await start_request(connection, fake)
    fake.send_bytes(garbage)
    error = await failure_of(task)
    assert isinstance(error, ProtocolError)
    assert "not a message" in error.message
    await fake.starts[0].wait_until_ended()
    assert (await harness.connect()).running
    assert len(fake.starts) == 2


@pytest.mark.requirement("language-server:restart")
async def test_a_server_is_not_started_before_the_previous_one_has_exited(
    harness: Harness, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[FramedChild] = []
    had_exited: list[bool] = []

    async def start(*argv: Any, **more: Any) -> FramedChild:
        had_exited.extend(child.return_code is not None for child in children)
        children.append(await start_child(*argv, **more))
        return children[-1]

    monkeypatch.setattr(server_module, "start_child", start)
    task = await start_request(await harness.connect(), fake)
    fake.send_bytes(b"Hello?\r\n\r\n")
    await failure_of(task)
    await harness.connect()
    assert had_exited == [True]


@pytest.mark.requirement("language-server:restart")
async def test_a_server_is_started_at_most_five_times_in_three_minutes(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    for number in range(MAX_STARTS):
        connection = await harness.connect()
        assert await harness.connect() is connection
        harness.now += 10
        fake.exit(1)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await connection.wait_until_ended()
        assert len(fake.starts) == number + 1
    error = await harness.failure()
    assert isinstance(error, ConnectionError)
    assert f"{MAX_STARTS} times within 3 minutes" in error.message
    assert error.retry_after == pytest.approx(STARTS_WITHIN_SECONDS - 50)
    assert "130 s" in (error.hint or "")
    assert (error.hint or "").endswith(" The last time it ended with exit code 1.")
    harness.now += 129
    await harness.failure()
    assert len(fake.starts) == MAX_STARTS
    harness.now += 1
    assert (await harness.connect()).running
    assert len(fake.starts) == MAX_STARTS + 1


@pytest.mark.requirement("language-server:restart", "language-server:failed-start")
async def test_failed_starts_count_and_configuration_faults_do_not(
    harnesses: Harnesses, fake: FakeLanguageServer, tmp_path: Path
) -> None:
    program = tmp_path / "server"
    harness = harnesses.make(command=[str(program)])
    for _ in range(2 * MAX_STARTS):
        assert isinstance(await harness.failure(), ConfigError)
    script(program, "#!/bin/sh\necho 'Node is too old' >&2\nexit 1\n")
    for _ in range(MAX_STARTS):
        assert "exit code 1" in (await harness.failure()).message
    error = await harness.failure()
    assert "times within" in error.message
    why = "The last time it was not ready when it ended with exit code 1. Its last output: Node is too old"
    assert (error.hint or "").endswith(why)
