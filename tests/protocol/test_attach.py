"""Clients of one shared daemon."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import jumpseat
from jumpseat.hub.names import host_name
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.attempts import assert_quick
from tests.daemon import WAIT_SECONDS, Daemon, provider, user
from tests.hub import Hub, directory_for_sockets
from tests.processes import wait_until_gone

END_SECONDS = 1.0
"""The time within which an attach process must end after its daemon has ended."""


@pytest.mark.requirement("9:attach")
async def test_attached_clients_share_one_daemon_and_have_the_exit_codes_of_serve(
    hub: Hub, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["hello"])))
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            await client.initialize(provider(upstream.base_url))
            exchange = await client.request("chat/start", {"messages": [user("hi")]})
            assert exchange.result["text"] == "hello"
        status = await hub.status()
        await first.request("shutdown")
        first.notify("exit")
        second.close_stdin()

        assert await first.exit_code() == 0
        assert await second.exit_code() == 1
    assert {client["pid"] for client in status["clients"]} == {first.process.pid, second.process.pid}
    assert len(hub.processes()) == 1


@pytest.mark.requirement("9:one-daemon")
async def test_twenty_simultaneous_clients_start_one_daemon(hub: Hub) -> None:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(hub.client()) for _ in range(20)]
        await asyncio.gather(*(client.initialize() for client in clients))

        status = await hub.status()
        assert {client["pid"] for client in status["clients"]} == {each.process.pid for each in clients}
        assert hub.processes() == {status["pid"]}
        logs = await asyncio.gather(*(client.whole_log() for client in clients))
    assert "does not use the shared daemon" not in "".join(logs)


@pytest.mark.requirement("9:status")
async def test_the_status_lists_clients_without_starting_a_daemon(hub: Hub) -> None:
    assert await hub.status() == {"running": False}
    async with hub.client() as client:
        await client.initialize()
        status = await hub.status()

    (entry,) = status.pop("clients")
    assert entry.pop("attachedAt").endswith("Z")
    assert entry == {"pid": client.process.pid, "name": "tests", "version": "0", "turns": 0}
    assert status.pop("uptimeSeconds") >= 0
    assert status.pop("memoryBytes") > 1_000_000
    assert status == {
        "running": True,
        "pid": hub.pid,
        "version": jumpseat.__version__,
        "protocolVersion": 1,
        "socket": str(hub.socket),
    }


async def begin_turn(client: Daemon, upstream: FakeUpstream) -> int:
    """Initialize the client, and start a chat whose answer stays incomplete.

    Return the request's id when the first words arrive.
    """
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]))
    await client.initialize(provider(upstream.base_url))
    request = client.start("chat/start", {"messages": [user("hi")]})
    await client.read_delta("text_delta")
    return request


@pytest.mark.requirement("9:stop")
async def test_stop_ends_turns_with_their_partials_and_returns_when_the_daemon_is_gone(
    hub: Hub, upstream: FakeUpstream
) -> None:
    async with hub.client() as client, hub.client() as other:
        await other.initialize()
        request = await begin_turn(client, upstream)
        pid, socket = hub.pid, hub.socket
        assert sorted(each["turns"] for each in (await hub.status())["clients"]) == [0, 1]

        code, output = await hub.command("daemon", "stop")

        assert (code, output) == (0, "")
        assert hub.processes() == set()
        assert not socket.exists()
        error = (await client.read_until(request)).error
        assert error["data"]["partial"]["text"] == "partial"
        assert [await client.exit_code(), await other.exit_code()] == [1, 1]
    assert await wait_until_gone(pid)
    await hub.wait_until_ended()
    assert await hub.command("daemon", "stop") == (1, "jumpseat: The daemon is not running.\n")


@pytest.mark.requirement("9:daemon-dies")
async def test_attach_processes_end_with_a_killed_daemon_and_the_next_client_starts_one(
    hub: Hub, upstream: FakeUpstream
) -> None:
    async def seconds_until_both_have_ended() -> float:
        async with hub.client() as client, hub.client() as other:
            await other.initialize()
            await begin_turn(client, upstream)
            killed = hub.pid
            os.kill(killed, signal.SIGKILL)
            began = time.monotonic()
            assert [await client.exit_code(), await other.exit_code()] == [1, 1]
            took = time.monotonic() - began
        requests = len(upstream.requests)
        async with hub.client() as client:
            await client.initialize()
            assert hub.pid != killed
            assert len(hub.sockets()) == 1  # The socket of the killed daemon was removed.
        assert len(upstream.requests) == requests
        return took

    await assert_quick(seconds_until_both_have_ended, within=END_SECONDS)


@pytest.mark.requirement("9:attach-dies")
async def test_a_killed_attach_process_ends_only_its_session(hub: Hub, upstream: FakeUpstream) -> None:
    async with hub.client() as client, hub.client() as other:
        await other.initialize()
        await begin_turn(client, upstream)
        client.process.kill()

        await upstream.wait_for_disconnect()
        assert (await other.request("providers/list")).result["providers"]
        assert [each["pid"] for each in (await hub.status())["clients"]] == [other.process.pid]


@pytest.mark.requirement("9:attach-dies")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_to_an_attach_process_ends_its_session_and_returns_the_partial(
    hub: Hub, upstream: FakeUpstream, number: signal.Signals
) -> None:
    async with hub.client() as client:
        request = await begin_turn(client, upstream)
        client.process.send_signal(number)

        assert (await client.read_until(request)).error["data"]["partial"]["text"] == "partial"
        assert await client.exit_code() == 1


@pytest.mark.requirement("9:idle")
async def test_the_daemon_ends_with_its_last_client_and_removes_its_files(hub: Hub) -> None:
    (hub.home / "config.toml").write_text("[daemon]\nidle_minutes = 0\n")
    async with hub.client() as first, hub.client() as second:
        await first.initialize()
        await second.initialize()
        pid = hub.pid
        first.close_stdin()
        assert await first.exit_code() == 1
        assert (await hub.status())["pid"] == pid
        second.close_stdin()
        assert await second.exit_code() == 1
        assert await wait_until_gone(pid)
    await hub.wait_until_ended()


@pytest.mark.requirement("9:idle")
async def test_the_daemon_does_not_wait_for_new_clients_if_another_version_runs(hub: Hub) -> None:
    # A listening socket and a pointer to it stand for the daemon of another version.
    with directory_for_sockets() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/x.sock")
        listener.listen()
        async with hub.client() as client:
            await client.initialize()
            pid = hub.pid
            other = hub.home / "daemon" / f"{host_name()}-9.json"
            other.write_text(json.dumps({"socket": f"{directory}/x.sock", "pid": 1, "daemon": "9"}))
            client.close_stdin()
            assert await client.exit_code() == 1
        # Otherwise the daemon would wait for ten minutes, the default of `idle_minutes`.
        assert await wait_until_gone(pid)
        other.unlink()  # Otherwise `Hub.clean_up` would try to kill process 1.


@pytest.mark.requirement("9:one-daemon")
async def test_a_client_that_is_killed_while_it_starts_the_daemon_leaves_one_daemon(hub: Hub) -> None:
    async with hub.client() as starter:
        async with asyncio.timeout(WAIT_SECONDS):
            while not hub.processes():  # noqa: ASYNC110 - no event of ours reports another process
                await asyncio.sleep(0.005)
        starter.process.kill()
        async with hub.client() as client:
            await client.initialize()
            assert hub.processes() == {hub.pid}
            assert [each["pid"] for each in (await hub.status())["clients"]] == [client.process.pid]


@pytest.mark.requirement("9:attach")
async def test_a_log_file_is_relative_to_the_clients_directory(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with hub.client("--log-level", "debug", "--log-file", "own.log") as client:
        await client.initialize()
        await client.request("providers/list")
        assert await client.whole_log() == ""
    assert "providers/list" in (tmp_path / "own.log").read_text("utf-8")
    assert "providers/list" not in hub.log
