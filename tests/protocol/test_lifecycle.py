"""How a connection begins and how the daemon ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.attempts import assert_quick
from tests.daemon import Daemon, environment_of, provider, running_daemon, user

QUICK_EXIT_SECONDS = 1.0
"""The time limit of these tests. The contract allows half a second, which only the benchmark checks."""


@pytest.mark.requirement("1:initialize-result")
async def test_initialize_reports_the_server_and_its_capabilities(daemon: Daemon) -> None:
    result = await daemon.initialize()
    assert result["serverInfo"] == {"name": "jumpseat", "version": jumpseat.__version__}
    advertised = result["capabilities"]["experimental"]["jumpseat"]
    assert advertised["protocolVersion"] == 1
    assert {"chat/start", "chat/cancel", "models/list", "providers/list", "auth/status"} <= set(
        advertised["methods"]
    )
    assert {"start", "text_delta", "tool_use_done", "done"} <= set(advertised["deltaTypes"])
    assert "redacted_thinking" in advertised["blockTypes"]


@pytest.mark.requirement("1:before-initialize")
async def test_a_request_before_initialize_is_refused_and_a_notification_is_dropped(daemon: Daemon) -> None:
    daemon.notify("initialized", {})
    exchange = await daemon.request("models/list")
    assert exchange.error["code"] == -32002
    assert exchange.error["data"]["kind"] == "not_initialized"
    await daemon.initialize()


async def test_a_second_initialize_is_refused(daemon: Daemon) -> None:
    await daemon.initialize()
    assert (await daemon.request("initialize", {})).error["code"] == -32600


@pytest.mark.requirement("1:protocol-versions")
async def test_a_client_of_another_protocol_version_gets_an_error_and_may_try_again(daemon: Daemon) -> None:
    exchange = await daemon.request("initialize", {"initializationOptions": {"protocolVersions": [2]}})
    assert exchange.error["code"] == -32600
    assert "version 1" in exchange.error["message"]
    await daemon.initialize(protocolVersions=[2, 1])


@pytest.mark.requirement("1:after-shutdown", "1:exit-code")
async def test_after_shutdown_requests_are_refused_and_exit_ends_with_code_0(daemon: Daemon) -> None:
    await daemon.initialize()
    assert (await daemon.request("shutdown")).result is None
    assert (await daemon.request("models/list")).error["code"] == -32600
    daemon.notify("exit")
    assert await daemon.exit_code() == 0


@pytest.mark.requirement("1:exit-code")
async def test_exit_without_shutdown_ends_with_code_1(daemon: Daemon) -> None:
    await daemon.initialize()
    daemon.notify("exit")
    assert await daemon.exit_code() == 1


async def test_exit_is_accepted_even_before_initialize(daemon: Daemon) -> None:
    daemon.notify("exit")
    assert await daemon.exit_code() == 1


@pytest.mark.requirement("1:exit-code")
@pytest.mark.parametrize("command", ["serve", "attach"])
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_stdin_or_stdout_is_reported_in_one_sentence(home: Path, command: str, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "jumpseat", command],
        env={**os.environ, **environment_of(home), "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
    )
    assert done.returncode == 1
    assert done.stderr == b"jumpseat: stdin and stdout must be open, because messages go through both\n"


@pytest.mark.requirement("1:stdin-eof", "1:exit-code")
@pytest.mark.parametrize(("shut_down", "code"), [(False, 1), (True, 0)])
async def test_a_closed_stdin_ends_the_daemon_quickly(home: Path, shut_down: bool, code: int) -> None:
    async def seconds_to_end() -> float:
        async with running_daemon(home) as daemon:
            await daemon.initialize()
            if shut_down:
                await daemon.request("shutdown")
            started = time.monotonic()
            daemon.close_stdin()
            assert await daemon.exit_code() == code
            return time.monotonic() - started

    await assert_quick(seconds_to_end, within=QUICK_EXIT_SECONDS)


@pytest.mark.requirement("1:parent-gone")
@pytest.mark.parametrize("by_flag", [False, True])
async def test_the_daemon_ends_when_its_client_process_is_killed_while_stdin_stays_open(
    home: Path, by_flag: bool
) -> None:
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    flags = ["--clientProcessId", str(client.pid)] if by_flag else []
    async with running_daemon(home, *flags) as daemon:
        await daemon.initialize(process_id=None if by_flag else client.pid)
        client.kill()
        assert await daemon.exit_code() == 1
    await client.wait()


@pytest.mark.requirement("1:parent-gone")
async def test_the_daemon_ends_if_its_client_process_has_already_ended(home: Path) -> None:
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await client.wait()
    async with running_daemon(home, "--client-process-id", str(client.pid)) as daemon:
        assert await daemon.exit_code() == 1


@pytest.mark.requirement("1:signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_a_signal_ends_the_daemon_and_its_upstream_connections(
    home: Path, upstream: FakeUpstream, name: str
) -> None:
    upstream.default(Reply.events(completion_stream(["Hel"])[:2]).stall_after())

    async def seconds_to_end() -> float:
        async with running_daemon(home) as daemon:
            await daemon.initialize(provider(upstream.base_url))
            daemon.start("chat/start", {"messages": [user("hi")]})
            await daemon.read_delta("text_delta")
            started = time.monotonic()
            os.kill(daemon.process.pid, getattr(signal, name))
            await upstream.wait_for_disconnect(len(upstream.requests))
            assert await daemon.exit_code() == 1
            return time.monotonic() - started

    await assert_quick(seconds_to_end, within=QUICK_EXIT_SECONDS)


@pytest.mark.requirement("1:shutdown-cancels")
async def test_shutdown_cancels_turns_and_is_answered_after_them(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    chat = chatty.start("chat/start", {"messages": [user("hi")]})
    await chatty.read_delta("text_delta")
    shutdown = chatty.start("shutdown")
    cancelled = await chatty.read_until(chat)
    assert cancelled.error["code"] == -32800
    assert cancelled.error["data"]["partial"]["text"] == "Hel"
    assert (await chatty.read_until(shutdown)).result is None
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("1:stdout-is-frames", "1:flags")
async def test_logs_go_to_the_log_file_and_never_to_stdout(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    async with running_daemon(home, "--stdio", "--log-level", "debug", "--log-file", str(log)) as daemon:
        await daemon.initialize()
        daemon.send_bytes(b"Content-Length: 1\r\n\r\n{")
        assert (await daemon.read())["error"]["code"] == -32700
        assert await daemon.whole_log() == ""
    assert "malformed frame" in log.read_text("utf-8")


@pytest.mark.requirement("1:flags", "7:file")
async def test_a_named_configuration_file_that_is_missing_makes_initialize_fail(home: Path) -> None:
    async with running_daemon(home, "--config", str(home / "none.toml")) as daemon:
        error = (await daemon.request("initialize", {})).error
    assert error["code"] == 1010
    assert "none.toml" in error["message"]


@pytest.mark.parametrize("flag", ["--nonsense", "--log-level=loud"])
async def test_a_wrong_flag_is_reported_on_stderr_with_exit_code_2(home: Path, flag: str) -> None:
    async with running_daemon(home, flag) as daemon:
        assert await daemon.exit_code() == 2
    assert "usage: jumpseat serve" in daemon.log


@pytest.mark.requirement("1:coalesce")
async def test_coalescing_gives_fewer_deltas_and_the_same_text(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    pieces = [f"{number} " for number in range(200)]
    upstream.script(Reply.events(completion_stream(pieces)))
    await daemon.initialize(provider(upstream.base_url), coalesceMs=10_000)
    exchange = await daemon.request("chat/start", {"messages": [user("count")]})
    texts = [delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta"]
    assert len(texts) <= 2
    assert "".join(texts) == exchange.result["text"] == "".join(pieces)
