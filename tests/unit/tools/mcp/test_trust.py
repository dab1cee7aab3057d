"""Servers of the workspace: nothing is started, reached or shown before the user trusts them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import InvalidRequestError, RequestError
from jumpseat.testing.upstream import FakeUpstream
from jumpseat.tools.approvals import Decision
from jumpseat.tools.mcp.server import McpServer
from tests.fakes import mcp_server
from tests.processes import wait_until_gone
from tests.unit.tools.mcp.clients import Client, Record

Connect = Callable[..., Client]

pytestmark = pytest.mark.requirement("12:mcp-trust")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The first workspace folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def overlay(record: Record, *flags: str, **more: Any) -> dict[str, Any]:
    """Return an overlay with one server, `fake`."""
    return {"mcp": {"fake": {"command": mcp_server.command("--record", str(record.path), *flags), **more}}}


async def trust(client: Client, *, trusted: bool = True, fingerprint: str | None = None) -> None:
    """Trust the server, or withdraw the trust."""
    known = client.status("fake").fingerprint
    assert known is not None
    await client.host.servers["fake"].set_trust(fingerprint or known, trusted=trusted)


async def try_to_use(client: Client) -> bool:
    """Return whether a turn can use the server. If not, check that none of its tools are known."""
    listed = [each for each in await client.host.list_tools(refresh=True) if each.server == "fake"]
    async with client.turn("fake/*") as turn:
        if turn.names:
            return True
        assert "you have not trusted it" in turn.warnings[0]
    assert listed == []
    assert client.host.servers["fake"].known_tools == ()
    return False


@pytest.mark.requirement("12:mcp-untrusted")
async def test_an_untrusted_server_is_not_started(connect: Connect, record: Record, folder: Path) -> None:
    client = connect("", overlay=overlay(record), folder=folder)
    assert not await try_to_use(client)
    await client.host.servers["fake"].restart()
    status = client.status("fake")

    assert (status.state, client.host.servers["fake"].origin) == ("untrusted", "workspace")
    assert record.lines == []


@pytest.mark.requirement("12:mcp-untrusted")
async def test_an_untrusted_url_receives_no_request(connect: Connect, folder: Path) -> None:
    async with FakeUpstream() as server:
        client = connect("", overlay={"mcp": {"fake": {"url": f"{server.origin}/mcp"}}}, folder=folder)
        assert not await try_to_use(client)
        assert server.accepted == 0

        await trust(client)
        await run_empty_turn(client)
        assert server.accepted > 0


async def run_empty_turn(client: Client) -> None:
    """Begin and end a turn, whether or not it can use the server."""
    async with client.turn("fake/*"):
        pass


async def test_a_trusted_server_runs_in_its_folder(connect: Connect, record: Record, folder: Path) -> None:
    (folder / "run.sh").write_text(f'#!/bin/sh\nexec {" ".join(mcp_server.command())} "$@"\n', "utf-8")
    (folder / "run.sh").chmod(0o700)
    config = {"mcp": {"fake": {"command": ["./run.sh", "--record", str(record.path)]}}}
    client = connect('[tools]\nallow = ["other/*"]\n', overlay=config, folder=folder)
    await trust(client)
    assert await try_to_use(client)

    async with client.turn("fake/*", folder=Path("/")) as turn:
        call = turn.start("fake__environ")
        await turn.next_event()
        client.host.approvals.decide("t", "1", Decision(True))
        facts = json.loads((await call).text)
    assert facts["cwd"] == str(folder)


async def test_trust_outlives_the_client_and_holds_for_the_folder(
    connect: Connect, record: Record, folder: Path, tmp_path: Path
) -> None:
    await trust(connect("", overlay=overlay(record), folder=folder))
    assert await try_to_use(connect("", overlay=overlay(record), folder=folder))

    link = tmp_path / "link"
    link.symlink_to(folder)
    other = tmp_path / "other"
    other.mkdir()
    assert await try_to_use(connect("", overlay=overlay(record), folder=link))
    assert not await try_to_use(connect("", overlay=overlay(record), folder=other))
    assert not await try_to_use(connect("", overlay=overlay(record)))
    link.unlink()
    link.symlink_to(other)
    assert not await try_to_use(connect("", overlay=overlay(record), folder=link))


@pytest.mark.parametrize(
    "change",
    [
        {"command": ["/bin/true"]},
        {"env": {"A": "b"}},
        {"cwd": "/"},
        {"scope": "conversation"},
        {"tools": ["echo"]},
        {"start_seconds": 5},
        {"idle_minutes": 5},
        {"unknown": 1},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_any_change_of_the_definition_resets_trust(
    connect: Connect, record: Record, folder: Path, change: Mapping[str, Any]
) -> None:
    client = connect("", overlay=overlay(record), folder=folder)
    await trust(client)
    before = client.status("fake").fingerprint
    await client.reconfigure("", overlay(record, **change))

    assert client.status("fake").fingerprint != before
    assert not await try_to_use(client)
    assert record.lines == []


async def test_a_definition_that_changes_back_is_trusted_again(
    connect: Connect, record: Record, folder: Path
) -> None:
    client = connect("", overlay=overlay(record), folder=folder)
    await trust(client)
    await client.reconfigure("", overlay(record, "--chatter"))
    assert not await try_to_use(client)
    await client.reconfigure("", overlay(record))

    assert await try_to_use(client)


async def test_a_changed_definition_stops_the_trusted_server(
    connect: Connect, record: Record, folder: Path
) -> None:
    client = connect("", overlay=overlay(record), folder=folder)
    await trust(client)
    assert await try_to_use(client)
    await client.reconfigure("", overlay(record, "--chatter"))
    assert not await try_to_use(client)

    assert await wait_until_gone(record.pids()[0])
    assert len(record.pids()) == 1


async def test_trust_can_be_withdrawn_which_stops_the_server(
    connect: Connect, record: Record, folder: Path
) -> None:
    client = connect("", overlay=overlay(record), folder=folder)
    await trust(client)
    assert await try_to_use(client)
    await trust(client, trusted=False)

    assert not await try_to_use(client)
    assert await wait_until_gone(record.pids()[0])


async def test_only_the_present_definition_can_be_trusted(
    connect: Connect, record: Record, folder: Path
) -> None:
    client = connect(mcp_server.table("own"), overlay=overlay(record), folder=folder)
    with pytest.raises(InvalidRequestError, match="fingerprint"):
        await trust(client, fingerprint="0" * 32)
    with pytest.raises(InvalidRequestError, match="server of the workspace"):
        await client.host.servers["own"].set_trust("0" * 32, trusted=True)
    nowhere = connect("", overlay=overlay(record))
    with pytest.raises(RequestError, match="no workspace folder"):
        await trust(nowhere)

    assert not await try_to_use(client)


async def test_no_server_is_trusted_if_the_file_of_trusted_servers_is_broken(
    connect: Connect, record: Record, folder: Path, home: Path
) -> None:
    await trust(connect("", overlay=overlay(record), folder=folder))
    (home / "trusted_servers.json").write_text("{", "utf-8")

    assert not await try_to_use(connect("", overlay=overlay(record), folder=folder))
    assert {path.name.partition("-")[0] for path in os.scandir(home)} >= {"trusted_servers.json.broken"}


async def test_the_definition_shows_everything_that_will_run(
    connect: Connect, record: Record, folder: Path
) -> None:
    server = {"command": ["npx", "a b", "\u202e"], "env": {"NODE_OPTIONS": "--require ./evil.js"}}
    client = connect("", overlay={"mcp": {"fake": server}}, folder=folder)

    assert client.status("fake").definition == "NODE_OPTIONS='--require ./evil.js' npx 'a b' '\\u202e'"


async def test_a_remembered_decision_is_bound_to_the_folder_of_a_server(
    connect: Connect, record: Record, folder: Path, tmp_path: Path
) -> None:
    here = connect("", overlay=overlay(record), folder=folder).host.servers["fake"]
    there = connect("", overlay=overlay(record), folder=tmp_path).host.servers["fake"]

    assert isinstance(here, McpServer)
    assert here.status.fingerprint == there.status.fingerprint
    assert here.identity != there.identity
