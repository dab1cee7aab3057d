"""The connection to a language server: requests, progress and its log."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jumpseat.adapters.github.language_server import server as server_module
from jumpseat.adapters.github.language_server.connection import MAX_LINE_CHARACTERS
from jumpseat.chat import ConnectionError
from jumpseat.system.secrets import register_secret
from jumpseat.wire import RpcError
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.harness import (
    GITHUB_TOKEN,
    PATIENCE_SECONDS,
    POSIX,
    SECRET,
    Harness,
    failure_of,
    start_request,
)

pytestmark = POSIX


# -- requests


async def test_a_request_returns_the_servers_result_or_error(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("ask", lambda params: params["a"] + 1)
    fake.on("refuse", RpcError(1002, "Not available.", {"why": "policy"}))
    connection = await harness.connect()
    assert await connection.request("ask", {"a": 1}, seconds=PATIENCE_SECONDS) == 2
    with pytest.raises(RpcError) as caught:
        await connection.request("refuse", {}, seconds=None)
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        1002,
        "Not available.",
        {"why": "policy"},
    )
    connection.notify("note", [1])
    assert await fake.wait_for("note") == [1]
    assert connection.running


@pytest.mark.requirement("language-server:no-secrets")
async def test_the_message_of_an_error_has_no_secrets(harness: Harness, fake: FakeLanguageServer) -> None:
    register_secret(SECRET)
    fake.on("refuse", RpcError(1001, f"bad token {GITHUB_TOKEN} and {SECRET}."))
    connection = await harness.connect()
    with pytest.raises(RpcError) as caught:
        await connection.request("refuse", {}, seconds=PATIENCE_SECONDS)
    assert caught.value.message == "bad token *** and ***."


@pytest.mark.requirement("language-server:silence")
async def test_a_request_that_times_out_is_cancelled_at_the_server(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    connection = await harness.connect()
    task = await start_request(connection, fake, 0.2)
    error = await failure_of(task)
    assert isinstance(error, ConnectionError)
    assert "has not answered ask within 0.2 s" in error.message
    asked = next(each["id"] for each in fake.received if each.get("method") == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked}
    assert connection.running


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancelled_call_cancels_its_request_at_the_server(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    connection = await harness.connect()
    task = await start_request(connection, fake)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    asked = next(each["id"] for each in fake.received if each.get("method") == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked}


async def test_progress_arrives_by_token_in_order_and_early_reports_are_kept(
    harness: Harness, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture
) -> None:
    def report(params: Any) -> str:
        for number in range(100):
            fake.progress("one", {"n": number})
            fake.progress("two", {"m": number})
            fake.progress("unknown", {})
        fake.notify("$/progress", {"token": "one", "value": "no object"})
        fake.notify("$/progress", {"token": ["one"], "value": {}})
        fake.notify("$/progress", None)
        return "done"

    fake.on("ask", report)
    connection = await harness.connect()
    with connection.progress("one") as one, connection.progress(2) as other:
        assert await connection.request("ask", {}, seconds=PATIENCE_SECONDS) == "done"
        assert [one.get_nowait() for _ in range(one.qsize())] == [{"n": number} for number in range(100)]
        assert other.empty()
        fake.progress(2, {"kind": "end"})
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await other.get() == {"kind": "end"}
    fake.progress("one", {"late": True})
    fake.on("ask", "done")
    assert await connection.request("ask", {}, seconds=PATIENCE_SECONDS) == "done"
    assert one.empty()
    assert "$/progress" not in [method for method, _ in harness.notifications]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


# -- the log


@pytest.mark.requirement("language-server:no-secrets")
async def test_the_servers_stderr_is_in_the_log_without_secrets(
    harness: Harness, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture
) -> None:
    register_secret(SECRET)
    caplog.set_level(logging.INFO)
    connection = await harness.connect()
    fake.stderr(
        f"plain words\nkey {SECRET}\nAuthorization: Bearer abc.def\n{GITHUB_TOKEN} tid=1;exp=2:x end\n"
    )
    fake.exit(0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await connection.wait_until_ended()
    lines = [record.getMessage() for record in caplog.records if record.name == server_module.logger.name]
    assert lines[-4:] == [
        "cls: plain words",
        "cls: key ***",
        "cls: Authorization: Bearer ***",
        "cls: *** *** end",
    ]


@pytest.mark.requirement("language-server:no-secrets")
@pytest.mark.parametrize("before", [0, MAX_LINE_CHARACTERS - len(SECRET) // 2, MAX_LINE_CHARACTERS])
async def test_a_secret_at_the_cut_of_a_long_line_is_redacted_whole(
    harness: Harness, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture, before: int
) -> None:
    register_secret(SECRET)
    caplog.set_level(logging.INFO)
    task = await start_request(await harness.connect(), fake)
    fake.stderr(f"{'x' * before}{SECRET}{'y' * 30_000}\n")
    fake.exit(1)
    error = await failure_of(task)
    assert SECRET[:8] not in caplog.text + (error.hint or "")
    assert max(len(record.getMessage()) for record in caplog.records) < MAX_LINE_CHARACTERS + 100
