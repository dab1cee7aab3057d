"""How sessions and daemons of attached clients end: after kills and upgrades, and while a client connects."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, provider, user
from tests.hub import Hub
from tests.processes import wait_until_gone

pytestmark = pytest.mark.slow

OTHER_VERSION = "99.0.0"

CHAT = {"messages": [user("hi")]}


async def begin_turn(client: Daemon, upstream: FakeUpstream) -> int:
    """Initialize the client, and start a chat whose answer stays incomplete.

    Return the request's id when the first words arrive.
    """
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]))
    await client.initialize(provider(upstream.base_url))
    request = client.start("chat/start", CHAT)
    await client.read_delta("text_delta")
    return request


@pytest.mark.requirement("9:attach-dies")
async def test_closing_the_pipes_ends_the_session_and_its_attach_process(
    hub: Hub, upstream: FakeUpstream
) -> None:
    async with hub.client() as client, hub.client() as other:
        await other.initialize()
        await begin_turn(client, upstream)
        # Close the pipes, as the kernel does for an editor that dies.
        transport = client.process._transport
        for descriptor in (0, 1):
            transport.get_pipe_transport(descriptor).close()

        assert await wait_until_gone(client.process.pid)
        await upstream.wait_for_disconnect()
        assert (await other.request("providers/list")).result["providers"]
        assert len((await hub.status())["clients"]) == 1
    assert len(upstream.requests) == 1


@pytest.mark.requirement("9:attach-dies")
@pytest.mark.parametrize("way", ["initialize", "flag"])
async def test_a_session_ends_with_the_process_that_the_client_named(
    hub: Hub, upstream: FakeUpstream, way: str
) -> None:
    editor = await asyncio.create_subprocess_exec("sleep", "600")
    flags = ("--clientProcessId", str(editor.pid)) if way == "flag" else ()
    async with hub.client(*flags) as client, hub.client() as other:
        await other.initialize()
        await client.initialize(process_id=editor.pid if way == "initialize" else None)
        editor.kill()
        await editor.wait()

        assert await client.exit_code() == 1
        assert (await other.request("providers/list")).result["providers"]


@pytest.mark.requirement("9:daemon-dies")
async def test_a_turn_is_not_repeated_if_the_daemon_is_killed(hub: Hub, upstream: FakeUpstream) -> None:
    async with hub.client() as client:
        await begin_turn(client, upstream)
        await hub.kill()
        assert await client.exit_code() == 1
        assert client.process.stdout is not None
        rest = await client.process.stdout.read()
        assert b'"result"' not in rest
        assert b'"error"' not in rest
    upstream.script(Reply.events(completion_stream(["again"])))
    async with hub.client() as client:
        await client.initialize(provider(upstream.base_url))
        exchange = await client.request("chat/start", CHAT)
        assert exchange.result["text"] == "again"
        assert exchange.delta_types.count("done") == 1
    assert len(upstream.requests) == 2


@pytest.mark.requirement("9:stop")
async def test_sigterm_ends_the_daemon_as_stop_does(hub: Hub, upstream: FakeUpstream) -> None:
    async with hub.client() as client, hub.client() as other:
        await other.initialize()
        request = await begin_turn(client, upstream)
        pid = hub.pid
        os.kill(pid, signal.SIGTERM)

        error = (await client.read_until(request)).error
        assert error["data"]["partial"]["text"] == "partial"
        assert [await client.exit_code(), await other.exit_code()] == [1, 1]
        assert await wait_until_gone(pid)
    await hub.wait_until_ended()


@pytest.fixture(scope="module")
def other_installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a copy of jumpseat that has another version."""
    directory = tmp_path_factory.mktemp("other")
    source = Path(jumpseat.__file__).parent
    shutil.copytree(source, directory / "jumpseat")
    file = directory / "jumpseat" / "__init__.py"
    text = file.read_text("utf-8")
    file.write_text(text.replace(f'"{jumpseat.__version__}"', f'"{OTHER_VERSION}"'), "utf-8")
    return directory


@pytest.mark.requirement("9:version-skew")
async def test_a_daemon_of_an_older_version_serves_its_clients_until_the_last_has_left(
    hub: Hub, other_installation: Path
) -> None:
    other = {"PYTHONPATH": str(other_installation)}
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            assert (await client.initialize())["serverInfo"]["version"] == jumpseat.__version__
        old = hub.pid
        async with hub.client(env=other) as upgraded:
            assert (await upgraded.initialize())["serverInfo"]["version"] == OTHER_VERSION
            (new,) = hub.processes() - {old}
            first.close_stdin()
            assert await first.exit_code() == 1
            assert (await second.request("providers/list")).result["providers"]
            assert hub.processes() == {old, new}

            second.close_stdin()
            assert await second.exit_code() == 1
            assert await wait_until_gone(old)

            assert (await upgraded.request("providers/list")).result["providers"]
            assert hub.processes() == {new}
            assert [each["daemon"] for each in hub.pointers()] == [OTHER_VERSION]


@pytest.mark.requirement("9:others")
async def test_daemons_of_every_version_are_listed_by_status_and_ended_by_stop(
    hub: Hub, other_installation: Path
) -> None:
    other = {"PYTHONPATH": str(other_installation)}
    async with hub.client() as first, hub.client(env=other) as second:
        await first.initialize()
        await second.initialize()
        status = await hub.status()
        assert status["version"] == jumpseat.__version__
        assert [each["pid"] for each in status["clients"]] == [first.process.pid]
        (other_daemon,) = status["others"]
        assert other_daemon["version"] == OTHER_VERSION
        assert [each["pid"] for each in other_daemon["clients"]] == [second.process.pid]
        _, text = await hub.command("daemon", "status")
        assert f"jumpseat {OTHER_VERSION}, process {other_daemon['pid']}" in text

        assert await hub.command("daemon", "stop") == (0, "")
        assert hub.processes() == set()
        assert [await first.exit_code(), await second.exit_code()] == [1, 1]
    await hub.wait_until_ended()


@pytest.mark.requirement("9:others", "9:upgrade")
async def test_a_retired_daemon_is_listed_and_can_be_stopped(hub: Hub, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(Path(jumpseat.__file__).parent, package / "jumpseat")
    env = {"PYTHONPATH": str(package)}
    async with hub.client(env=env) as first:
        await first.initialize()
        old = hub.pid
        # The directory changes, as if a plug-in were installed, so the running daemon is out of date.
        (package / "plugin-1.0.dist-info").mkdir()
        _, output = await hub.command("daemon", "status", "--json", env=env)
        status = json.loads(output)
        assert (status["running"], [each["pid"] for each in status["others"]]) == (False, [old])

        async with hub.client(env=env) as second:
            await second.initialize()
            _, output = await hub.command("daemon", "status", "--json", env=env)
            status = json.loads(output)
            assert (status["pid"], [each["pid"] for each in status["others"]]) == (hub.pid, [old])
            assert await hub.command("daemon", "stop", env=env) == (0, "")
            assert hub.processes() == set()
            assert [await first.exit_code(), await second.exit_code()] == [1, 1]
    await hub.wait_until_ended()
    assert list(hub.home.glob("daemon/*.retired")) == []


@pytest.mark.requirement("9:idle")
@pytest.mark.parametrize("rounds", [2, pytest.param(25, marks=pytest.mark.slow)])
async def test_a_client_that_connects_while_the_daemon_ends_is_served_by_a_shared_daemon(
    hub: Hub, rounds: int
) -> None:
    (hub.home / "config.toml").write_text("[daemon]\nidle_minutes = 0\n")
    delays = random.Random(rounds)

    async def come_and_go() -> None:
        for _ in range(rounds):
            async with hub.client("--log-level", "info") as client:
                await client.initialize()
                assert (await client.request("providers/list")).result["providers"]
                await asyncio.sleep(delays.random() / 50)  # The clients leave at different times.
                assert "does not use the shared daemon" not in await client.whole_log()
            assert client.process.returncode == 1
            # The next client sometimes comes before the daemon has noticed that no client is left.
            await asyncio.sleep(delays.choice((0, 0.001, 0.005, 0.02)))

    await asyncio.gather(*(come_and_go() for _ in range(3)))
    for pid in hub.processes():
        assert await wait_until_gone(pid)
    await hub.wait_until_ended()
    assert list(hub.home.glob("daemon/*.json")) == []
