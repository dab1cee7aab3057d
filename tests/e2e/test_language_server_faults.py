"""Faults with the real Copilot language server: errors from the emulator, and processes that end."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from jumpseat.testing.upstream import Gate
from tests.attempts import assert_quick
from tests.e2e.language_server_harness import (
    MESSAGES,
    MODEL,
    PROVIDER,
    begin_chat,
    chat_params,
    find_echo,
    running_harness,
)
from tests.emulator import faults
from tests.processes import descendants, wait_until_gone

pytestmark = [pytest.mark.slow, pytest.mark.requirement("language-server:real-emulator")]


@pytest.mark.requirement("language-server:errors", "6:quota", "6:rate-limit", "6:content-filter", "6:data")
async def test_an_error_of_the_service_is_reported_by_kind(harness, emulator):
    async def error_of(*behaviours: Any) -> Any:
        emulator.script(MODEL, *behaviours)
        return (await harness.daemon.request("chat/start", chat_params("Hello"))).error

    assert (await harness.ask("Hello"))["stopReason"] == "end_turn"
    refusals = {
        1003: [faults.quota_exceeded()],
        1002: [faults.rate_limited(600)],
        1006: [faults.block_prompt()],
        1001: [faults.forbidden()],
    }
    for code, behaviours in refusals.items():
        error = await error_of(*behaviours)
        assert error["code"] == code, error
        assert error["data"]["provider"] == PROVIDER
        assert error["data"]["hint"]
        assert "Request ID" not in error["message"]
    unknown = (await harness.daemon.request("chat/start", chat_params("Hello", model="gpt-99"))).error
    assert unknown["code"] == 1004
    assert "gpt-99" in unknown["message"]


@pytest.mark.requirement("language-server:limits", "6:rate-limit", "2:retry")
async def test_the_daemon_does_not_retry_a_rate_limit_that_the_server_has_retried(harness, emulator):
    # These are more faults than the server's own requests, so that a retry by the daemon would fail too.
    emulator.script(MODEL, *[faults.rate_limited(1)] * 12)
    chat = await harness.daemon.request("chat/start", chat_params("Hello"))
    assert chat.error["code"] == 1002
    assert chat.error["data"]["retryable"] is True
    assert "retry" not in chat.delta_types
    assert len(emulator.requests(path=MESSAGES)) == 4, "more requests than the server makes by itself"


@pytest.mark.requirement("language-server:terms", "6:authorization")
async def test_a_model_with_unaccepted_terms_is_error_1001(harness, emulator):
    chat = await harness.daemon.request("chat/start", chat_params("Hello", model="claude-haiku-4.5"))
    assert chat.error["code"] == 1001
    assert f"`jumpseat accept-terms {PROVIDER}:claude-haiku-4.5`" in chat.error["data"]["hint"]
    assert emulator.charges == []


@pytest.mark.requirement("2:retry", "6:server")
async def test_the_daemon_retries_a_failure_of_the_service_too(harness, emulator):
    # The server itself makes two attempts, which both fail.
    emulator.script(MODEL, faults.server_error(), faults.server_error())
    chat = await harness.daemon.request("chat/start", chat_params("Hello"))
    (retry,) = [delta for delta in chat.deltas if delta["type"] == "retry"]
    assert retry["error"]["code"] == 1007
    assert find_echo(chat.result) == "Hello"


@pytest.mark.requirement("language-server:crash", "2:error-in-mid-stream", "6:protocol")
@pytest.mark.parametrize("launch", ["direct", "npm"])
async def test_a_server_that_is_killed_in_mid_chat_fails_only_that_chat(home, emulator, launch):
    async with running_harness(home, emulator, launch=launch) as harness:

        async def kill_server_and_measure_seconds() -> float:
            request = await begin_chat(harness, emulator, Gate())
            started = descendants(harness.daemon.process.pid)
            killed = time.monotonic()
            os.kill(started[0], signal.SIGKILL)
            ended = await harness.daemon.read_until(request)
            took = time.monotonic() - killed
            again = await harness.ask("Still there?")

            assert ended.error["code"] == 1009
            assert ended.error["data"]["partial"]["text"].startswith("1")
            assert "signal 9" in ended.error["message"]
            assert find_echo(again) == "Still there?"
            last = emulator.requests(path=MESSAGES)[-1].json
            assert not last.get("tools"), "the restarted server offered its own tools"
            assert all([await wait_until_gone(pid) for pid in started]), (
                "a process of the killed server is left"
            )
            return took

        await assert_quick(kill_server_and_measure_seconds, within=1)


@pytest.mark.requirement("language-server:shutdown", "1:stdin-eof")
@pytest.mark.parametrize("launch", ["direct", "npm"])
async def test_a_daemon_that_is_killed_in_mid_chat_leaves_no_process(home, emulator, launch):
    async with running_harness(home, emulator, launch=launch) as harness:
        await begin_chat(harness, emulator, Gate())
        started = descendants(harness.daemon.process.pid)
        harness.daemon.process.kill()
        await harness.daemon.exit_code()
        assert len(started) == (1 if launch == "direct" else 2)
        assert all([await wait_until_gone(pid) for pid in started])


@pytest.mark.requirement("language-server:shutdown", "1:exit-code", "1:shutdown-cancels")
async def test_a_daemon_that_is_shut_down_in_mid_chat_leaves_no_process(harness, emulator):
    await begin_chat(harness, emulator, Gate())
    started = descendants(harness.daemon.process.pid)
    shutdown = harness.daemon.start("shutdown")
    while (await harness.daemon.read()).get("id") != shutdown:
        pass
    harness.daemon.notify("exit")
    assert await harness.daemon.exit_code() == 0
    assert all([await wait_until_gone(pid) for pid in started])
