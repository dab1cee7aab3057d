"""The end of a language server: asked for, or by force, with all that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from jumpseat.adapters.github.language_server import connection as connection_module
from jumpseat.adapters.github.language_server.connection import SHUTDOWN_SECONDS, STOP_SECONDS
from jumpseat.chat import ConnectionError
from jumpseat.rpc.process import CLOSE_SECONDS
from tests.attempts import is_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.unit.adapters.github.language_server.house import (
    AT_ONCE_SECONDS,
    PATIENCE_SECONDS,
    POSIX,
    House,
    Houses,
    failure_of,
    started_request,
)

pytestmark = POSIX


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_it_is_asked_to_shut_down_and_ends_by_itself(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever waited for the whole of them would wait for longer than this test does.
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    connection = await house.connection()
    grandchild = await fake.grandchild()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await house.server.aclose()
    assert fake.methods[-2:] == ["shutdown", "exit"]
    assert not connection.running
    await fake.starts[0].ended()
    await grandchild.ended()
    error = await house.failure()
    assert "was ended" in error.message
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_one_that_ignores_it_is_killed_with_all_it_has_started_in_the_daemons_time(
    houses: Houses, fake: FakeLanguageServer
) -> None:
    assert SHUTDOWN_SECONDS + STOP_SECONDS < CLOSE_SECONDS
    fake.stubborn = True

    async def seconds_until_it_is_closed() -> float:
        other = houses.make()
        await other.connection()
        grandchild = await fake.grandchild()
        began = time.monotonic()
        await other.server.aclose()
        took = time.monotonic() - began
        await fake.current.ended()
        await grandchild.ended()
        return took

    await is_quick(seconds_until_it_is_closed, within=CLOSE_SECONDS + AT_ONCE_SECONDS)


@pytest.mark.parametrize("seconds", [0.05, 0.25], ids=["while shutting down", "while stopping"])
@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_cancelled_close_kills_the_server_at_once(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 60.0)
    fake.stubborn = True
    await house.connection()
    grandchild = await fake.grandchild()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await house.server.aclose()
    await fake.starts[0].ended()
    await grandchild.ended()


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_requests_in_flight_fail_when_it_closes(house: House, fake: FakeLanguageServer) -> None:
    connection = await house.connection()
    task = await started_request(connection, fake)
    await house.server.aclose()
    assert "it was stopped" in (await failure_of(task)).message


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_closing_while_it_is_started_ends_it_and_tells_who_waits(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    tasks = [asyncio.ensure_future(house.connection()) for _ in range(3)]
    await fake.wait_for("initialize")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await house.server.aclose()
    for task in tasks:
        error = await failure_of(task)
        assert isinstance(error, ConnectionError)
        assert "was ended" in error.message
    await fake.starts[0].ended()


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_caller_that_is_cancelled_while_it_closes_is_cancelled(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    task = asyncio.ensure_future(house.connection())
    await fake.wait_for("initialize")
    closing = asyncio.ensure_future(house.server.aclose())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await closing


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_closing_what_was_never_started_or_is_dead_is_nothing(
    house: House, fake: FakeLanguageServer, houses: Houses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    await house.server.aclose()
    assert not fake.starts
    other = houses.make()
    connection = await other.connection()
    fake.kill()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await connection.ended()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await other.server.aclose()
        await other.server.aclose()
