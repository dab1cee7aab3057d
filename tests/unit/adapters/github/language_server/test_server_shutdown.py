"""The end of a language server and its child processes: by request, or by force."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from jumpseat.adapters.github.language_server import connection as connection_module
from jumpseat.adapters.github.language_server.connection import SHUTDOWN_SECONDS, STOP_SECONDS
from jumpseat.chat import ConnectionError
from jumpseat.connections.serving import CLOSE_SECONDS
from tests.attempts import assert_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.unit.adapters.github.language_server.harness import (
    AT_ONCE_SECONDS,
    PATIENCE_SECONDS,
    POSIX,
    Harness,
    Harnesses,
    failure_of,
    start_request,
)

pytestmark = POSIX


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_server_ends_by_itself_after_the_shutdown_request(
    harness: Harness, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These times exceed the test's patience, so a close that sleeps for them fails the test.
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    connection = await harness.connect()
    grandchild = await fake.start_grandchild()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await harness.server.aclose()
    assert fake.methods[-2:] == ["shutdown", "exit"]
    assert not connection.running
    await fake.starts[0].wait_until_ended()
    await grandchild.wait_until_ended()
    error = await harness.failure()
    assert "was stopped" in error.message
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_server_that_ignores_the_shutdown_is_killed_with_its_children_in_time(
    harnesses: Harnesses, fake: FakeLanguageServer
) -> None:
    assert SHUTDOWN_SECONDS + STOP_SECONDS < CLOSE_SECONDS
    fake.stubborn = True

    async def seconds_until_it_is_closed() -> float:
        harness = harnesses.make()
        await harness.connect()
        grandchild = await fake.start_grandchild()
        began = time.monotonic()
        await harness.server.aclose()
        took = time.monotonic() - began
        await fake.current.wait_until_ended()
        await grandchild.wait_until_ended()
        return took

    await assert_quick(seconds_until_it_is_closed, within=CLOSE_SECONDS + AT_ONCE_SECONDS)


@pytest.mark.parametrize("seconds", [0.05, 0.25], ids=["while shutting down", "while stopping"])
@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_cancelled_close_kills_the_server_immediately(
    harness: Harness, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 60.0)
    fake.stubborn = True
    await harness.connect()
    grandchild = await fake.start_grandchild()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await harness.server.aclose()
    await fake.starts[0].wait_until_ended()
    await grandchild.wait_until_ended()


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_requests_in_flight_fail_when_the_server_is_closed(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    connection = await harness.connect()
    task = await start_request(connection, fake)
    await harness.server.aclose()
    assert "it was stopped" in (await failure_of(task)).message


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_closing_during_a_start_ends_the_server_and_fails_the_waiting_requests(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    tasks = [asyncio.ensure_future(harness.connect()) for _ in range(3)]
    await fake.wait_for("initialize")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await harness.server.aclose()
    for task in tasks:
        error = await failure_of(task)
        assert isinstance(error, ConnectionError)
        assert "was stopped" in error.message
    await fake.starts[0].wait_until_ended()


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_caller_cancelled_while_the_server_closes_gets_cancelled_error(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    task = asyncio.ensure_future(harness.connect())
    await fake.wait_for("initialize")
    closing = asyncio.ensure_future(harness.server.aclose())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await closing


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_closing_a_server_that_never_started_or_is_dead_does_nothing(
    harness: Harness, fake: FakeLanguageServer, harnesses: Harnesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    await harness.server.aclose()
    assert not fake.starts
    other = harnesses.make()
    connection = await other.connect()
    fake.kill()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await connection.wait_until_ended()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await other.server.aclose()
        await other.server.aclose()
