"""The life of a server process: how long it runs, which clients share it, and what follows its end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.system import packages
from jumpseat.system.shared import Shared
from jumpseat.system.start_limit import StartLimit
from jumpseat.tools.mcp import run
from jumpseat.tools.server import ServerUnavailableError
from tests.fakes import mcp_server
from tests.processes import wait_until_gone
from tests.unit.tools.mcp.clients import Client, Record

Connect = Callable[..., Client]


def make_config(record: Record, *flags: str, **more: Any) -> str:
    """Return a configuration with one server, `fake`, whose tools are allowed."""
    table = mcp_server.table("fake", "--record", str(record.path), *flags, **more)
    return f'[tools]\nallow = ["fake/*"]\n{table}'


@pytest.mark.requirement("12:mcp-shared")
async def test_clients_with_equal_definitions_share_one_process(connect: Connect, record: Record) -> None:
    first, second = connect(make_config(record)), connect(make_config(record))
    async with first.turn("fake/*"), second.turn("fake/*"), first.turn("fake/*", conversation="d"):
        assert second.status("fake").state == "running"
    other = connect(make_config(record), variables={"LANG": "other"})
    assert (await other.read_facts("fake"))["environ"]["LANG"] == "other"

    assert len(record.pids()) == 2


@pytest.mark.requirement("12:mcp-shared")
async def test_concurrent_turns_share_one_start(connect: Connect, record: Record) -> None:
    clients = [connect(make_config(record)) for _ in range(5)]
    await asyncio.gather(*(client.call("fake__echo") for client in clients))

    assert len(record.pids()) == 1


@pytest.mark.requirement("12:mcp-shared")
async def test_the_state_and_the_tools_are_known_to_all_clients(connect: Connect, record: Record) -> None:
    first, second = connect(make_config(record)), connect(make_config(record))
    await first.call("fake__echo")
    await second.wait_for_state("fake", "running")

    assert [tool.name for tool in second.host.servers["fake"].known_tools] == list(mcp_server.TOOLS)


@pytest.mark.requirement("12:mcp-shared")
async def test_a_server_of_the_workspace_runs_once_for_each_folder(
    connect: Connect, record: Record, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    clients = [
        connect(make_config(record, scope="workspace", cwd="/"), folder=each) for each in (one, two, one)
    ]
    pids = [(await client.read_facts("fake"))["pid"] for client in clients]

    assert pids[0] == pids[2] != pids[1]


@pytest.mark.requirement("12:mcp-shared")
async def test_a_server_of_a_conversation_runs_once_for_each_conversation(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record, scope="conversation"))
    pids = []
    for conversation in ("one", "two", "one"):
        async with client.turn("fake/*", conversation=conversation) as turn:
            await turn.call("fake__echo")
        pids.append(record.pids()[-1])

    assert len(record.pids()) == 2
    assert pids[0] != pids[1]


@pytest.mark.requirement("12:mcp-idle")
async def test_a_server_stops_after_a_time_without_a_turn(connect: Connect, record: Record) -> None:
    client = connect(make_config(record, idle_minutes=0.003))
    async with client.turn("fake/*") as turn:
        (pid,) = record.pids()
        assert not await wait_until_gone(pid, 0.5)
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'
    await client.wait_for_state("fake", "stopped")
    assert await wait_until_gone(pid)

    # The tools of a stopped server are still known, and the next turn starts the server again.
    assert client.host.servers["fake"].known_tools
    await client.call("fake__echo")
    assert len(record.pids()) == 2


@pytest.mark.requirement("12:mcp-idle")
async def test_a_server_that_only_a_list_started_stops_too(connect: Connect, record: Record) -> None:
    client = connect(make_config(record, idle_minutes=0.001))
    await client.host.list_tools(refresh=True)
    await client.wait_for_state("fake", "stopped")

    assert await wait_until_gone(record.pids()[0])


@pytest.mark.requirement("12:mcp-idle", "12:mcp-shared")
async def test_a_server_outlives_its_client_for_the_next_one(connect: Connect, record: Record) -> None:
    first = connect(make_config(record))
    await first.call("fake__echo")
    await first.aclose()
    second = connect(make_config(record))
    await second.call("fake__echo")

    assert len(record.pids()) == 1


@pytest.mark.requirement("12:mcp-processes")
async def test_a_server_ends_with_the_daemon_even_if_it_ignores_sigterm(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record, "--deaf"), shared=Shared())
    await client.call("fake__echo")
    assert len(record.pids("child")) == 1
    async with asyncio.timeout(1.5):
        await client.aclose()

    assert await record.wait_until_gone()


@pytest.mark.requirement("12:mcp-processes")
async def test_a_start_in_progress_ends_with_the_daemon(connect: Connect, record: Record) -> None:
    client = connect(make_config(record, "--silent", "--deaf"), shared=Shared())
    listing = asyncio.ensure_future(client.host.list_tools(refresh=True))
    await record.wait_for("child")
    # A session cancels its requests before it ends.
    listing.cancel()
    await asyncio.wait([listing])
    async with asyncio.timeout(1.5):
        await client.aclose()

    assert await record.wait_until_gone()


@pytest.mark.requirement("12:mcp-restarts")
async def test_a_crash_fails_its_call_and_the_next_call_starts_the_server_again(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record))
    async with client.turn("fake/*") as turn:
        crashed = await turn.call("fake__crash")
        assert crashed.is_error
        assert crashed.text == (
            "The server fake has ended: it ended with exit code 3. Its last output: Something broke."
        )
        status = client.status("fake")
        assert (status.state, status.error) == ("stopped", crashed.text)
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'

    # The call that broke was not sent again.
    assert record.lines.count("call crash") == 1
    assert len(record.pids()) == 2


@pytest.mark.requirement("12:mcp-restarts")
async def test_a_server_that_ends_too_often_has_failed(connect: Connect, record: Record) -> None:
    client = connect(make_config(record))
    async with client.turn("fake/*") as turn:
        for _ in range(4):
            assert "exit code 3" in (await turn.call("fake__crash")).text
        refused = await turn.call("fake__echo")
    status = client.status("fake")

    assert refused.text.startswith("The server fake has ended too often, so it is not started for now.")
    assert (status.state, len(record.pids())) == ("failed", 4)
    assert status.error is not None
    assert status.error.endswith("Its last output: Something broke.")
    async with client.turn("fake/*") as turn:
        assert "ended too often" in turn.warnings[0]

    await client.host.servers["fake"].restart()
    assert client.status("fake").state == "running"
    assert len(record.pids()) == 5


@pytest.mark.requirement("12:mcp-restarts")
async def test_a_program_that_fails_to_start_is_started_a_limited_number_of_times(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record, "--exit", "7"))
    for _ in range(6):
        async with client.turn("fake/*") as turn:
            (warning,) = turn.warnings
    status = client.status("fake")

    assert len(record.pids()) == 4
    assert "ended before it was ready: it ended with exit code 7. Its last output: I cannot start." in warning
    assert status.state == "failed"


@pytest.mark.requirement("12:mcp-restarts")
async def test_restarts_are_allowed_again_after_a_time(
    connect: Connect, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(run, "StartLimit", lambda most, seconds: StartLimit(most, seconds, lambda: now))
    client = connect(make_config(record, "--exit", "7"))
    # Within 600 s, the first start may be followed by 3 restarts.
    for moment in (0.0, 0.0, 0.0, 0.0, 599.0, 601.0):
        now = moment
        async with client.turn("fake/*"):
            pass

    assert len(record.pids()) == 5


@pytest.mark.requirement("12:mcp-restart")
async def test_a_restart_starts_a_stopped_server_and_ends_a_running_one(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record))
    await client.host.servers["fake"].restart()
    assert client.status("fake").state == "running"
    async with client.turn("fake/*") as turn:
        call = turn.start("fake__wait")
        await record.wait_for("call wait")
        await client.host.servers["fake"].restart()
        assert (await call).is_error
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'

    assert len(record.pids()) == 2
    assert await wait_until_gone(record.pids()[0])


async def test_a_start_has_a_time_limit(connect: Connect, record: Record) -> None:
    client = connect(make_config(record, "--silent", start_seconds=0.3))
    async with client.turn("fake/*") as turn:
        assert turn.warnings == ["The server fake was not ready within 0.3 s."]

    assert client.status("fake").state == "failed"
    assert await record.wait_until_gone()


async def test_a_turn_that_is_cancelled_leaves_the_start_to_the_next_one(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record))

    async def open_turn() -> None:
        async with client.turn("fake/*"):
            pass

    opening = asyncio.ensure_future(open_turn())
    await record.wait_for("start")
    opening.cancel()
    await asyncio.wait([opening])
    await client.call("fake__echo")

    assert len(record.pids()) == 1


@pytest.mark.requirement("12:mcp-reload")
async def test_a_server_with_a_changed_definition_ends_after_the_turns_that_use_it(
    connect: Connect, record: Record
) -> None:
    client = connect(make_config(record))
    async with client.turn("fake/*") as turn:
        await client.reconfigure(make_config(record, env={"NEW": "1"}))
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'
        assert (await client.read_facts("fake"))["environ"]["NEW"] == "1"
        assert not await wait_until_gone(record.pids()[0], 0.1)

    assert await wait_until_gone(record.pids()[0])
    assert not await wait_until_gone(record.pids()[1], 0.1)


@pytest.mark.requirement("12:mcp-reload")
async def test_a_server_without_changes_keeps_running(connect: Connect, record: Record) -> None:
    client = connect(make_config(record))
    await client.call("fake__echo")
    await client.reconfigure(make_config(record) + mcp_server.table("other"))
    await client.call("fake__echo")

    assert len(record.pids()) == 1
    assert set(client.host.servers) == {"fake", "other"}


@pytest.mark.requirement("12:mcp-reload")
async def test_a_removed_server_ends_unless_another_client_has_it(connect: Connect, record: Record) -> None:
    first, second = connect(make_config(record)), connect(make_config(record))
    await first.call("fake__echo")
    await second.call("fake__echo")
    await first.reconfigure("")
    assert "fake" not in first.host.servers
    await second.call("fake__echo")
    assert len(record.pids()) == 1
    await second.reconfigure("")

    assert await record.wait_until_gone()


@pytest.mark.requirement("12:mcp-config")
async def test_a_table_with_a_fault_is_a_server_that_has_failed(connect: Connect) -> None:
    client = connect("[mcp.fake]\ncommand = 3\n")
    async with client.turn("fake/*") as turn:
        assert "mcp.fake.command: must be an array" in turn.warnings[0]
    status = client.status("fake")

    assert (status.state, "must be an array" in (status.error or "")) == ("failed", True)
    await client.reconfigure(mcp_server.table("fake"))
    assert client.status("fake").state == "stopped"


@pytest.mark.requirement("12:mcp-path")
async def test_a_program_is_found_on_the_path_of_the_login_shell(
    connect: Connect, record: Record, home: Path
) -> None:
    tools = home / "tools"
    tools.mkdir()
    (tools / "fake-server").write_text(
        f"#!/bin/sh\nexec {sys.executable} -I -S {mcp_server.__file__} --record {record.path}\n", "utf-8"
    )
    (tools / "fake-server").chmod(0o700)
    (home / ".profile").write_text(f"PATH={tools}:$PATH\n", "utf-8")
    variables = {"HOME": str(home), "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    client = connect(
        '[tools]\nallow = ["fake/*"]\n[mcp.fake]\ncommand = ["fake-server"]\n', variables=variables
    )

    assert (await client.read_facts("fake"))["environ"]["PATH"].startswith(f"{tools}:")


@pytest.mark.requirement("12:mcp-path")
async def test_a_program_that_is_not_found_is_an_error_with_both_paths(connect: Connect, home: Path) -> None:
    (home / ".profile").write_text("PATH=/from/profile\n", "utf-8")
    variables = {"HOME": str(home), "SHELL": "/bin/sh", "PATH": "/from/editor"}
    client = connect('[mcp.fake]\ncommand = ["no-such-program"]\n', variables=variables)
    for _ in range(5):
        async with client.turn("fake/*") as turn:
            (warning,) = turn.warnings

    assert warning.startswith("The program no-such-program of the server fake is neither on")
    assert "/from/editor" in warning
    assert "/from/profile" in warning


async def test_a_relative_program_is_found_next_to_the_configuration_file(
    connect: Connect, record: Record, home: Path, tmp_path: Path
) -> None:
    for place in (home, tmp_path):
        (place / "server.sh").write_text(
            f"#!/bin/sh\nexec {sys.executable} -I -S {mcp_server.__file__}\n", "utf-8"
        )
        (place / "server.sh").chmod(0o700 if place == home else 0o600)
    text = '[tools]\nallow = ["fake/*"]\n[mcp.fake]\ncommand = ["./server.sh"]\n'
    client = connect(text, folder=tmp_path)

    assert not (await client.call("fake__echo")).is_error


async def test_the_warning_about_the_missing_mcp_package_has_its_install_command(
    connect: Connect, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    monkeypatch.setattr(run, "import_module", fail)
    client = connect(make_config(record))
    async with client.turn("fake/*") as turn:
        assert "-m pip install 'mcp>=2.3,<3'" in turn.warnings[0]

    assert record.lines == []


async def test_without_the_sdk_the_error_names_a_command_that_works_without_pip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

    monkeypatch.setattr(run, "import_module", fail)
    monkeypatch.setattr(packages, "find_spec", lambda name: None)

    with pytest.raises(ServerUnavailableError) as caught:
        await run.import_with_sdk("jumpseat.tools.mcp.links")

    assert str(caught.value).endswith(f"jumpseat: uv pip install --python {sys.executable} 'mcp>=2.3,<3'")
