"""MCP servers, through the real daemon."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.fakes import mcp_server
from tests.hub import Hub
from tests.processes import command_line, is_running, wait_until_gone
from tests.unit.tools.mcp.clients import Record

pytestmark = pytest.mark.slow

APPROVES = {"experimental": {"jumpseat": {"approveTools": True}}}
ALLOW = '[tools]\nallow = ["fake/*"]\n'


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of what the servers do."""
    return Record(tmp_path / "record")


def configure(home: Path, record: Record, *flags: str, **more: Any) -> None:
    """Write a configuration with one server, `fake`, whose calls are always allowed."""
    table = mcp_server.table("fake", "--record", str(record.path), *flags, **more)
    (home / "config.toml").write_text(ALLOW + table, "utf-8")


async def initialize(
    daemon: Daemon, upstream: FakeUpstream, folder: Path | None = None, mcp: Mapping[str, Any] | None = None
) -> Any:
    """Do the handshake of an editor, and return the exchange of `initialize`."""
    config = provider(upstream.base_url) | ({"mcp": mcp} if mcp is not None else {})
    folders = [{"uri": folder.as_uri(), "name": "project"}] if folder is not None else None
    params = {
        "processId": None,
        "capabilities": APPROVES,
        "workspaceFolders": folders,
        "initializationOptions": {"config": config},
    }
    exchange = await daemon.request("initialize", params)
    daemon.notify("initialized", {})
    return exchange


def script_call(upstream: FakeUpstream, name: str, **arguments: Any) -> None:
    """Script two answers of the model: a call, and then a text."""
    call = FakeCall("c1", name, [json.dumps(arguments)])
    upstream.script(
        Reply.events(completion_stream(tool_calls=[call])), Reply.events(completion_stream(["Done."]))
    )


async def chat(daemon: Daemon, **params: Any) -> Any:
    """Run a chat with the tools of the server."""
    asked = {"messages": [user("Go.")], "daemonTools": ["fake/*"], **params}
    return await daemon.request("chat/start", asked)


async def find_row(daemon: Daemon, **params: Any) -> dict[str, Any]:
    """Return the row of the server `fake` in `tools/list`."""
    listed = (await daemon.request("tools/list", params)).result
    row: dict[str, Any] = next(each for each in listed["servers"] if each["name"] == "fake")
    return row


@pytest.mark.requirement("12:mcp-stdio", "12:list")
async def test_a_model_calls_a_tool_of_a_server(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record
) -> None:
    configure(home, record)
    await initialize(daemon, upstream)
    row = await find_row(daemon)
    assert row["definition"].endswith(f"--record {record.path}")
    assert (row["name"], row["origin"], row["state"]) == ("fake", "user", "stopped")
    assert record.lines == []
    script_call(upstream, "fake__echo", a="hello")
    exchange = await chat(daemon)

    assert exchange.result["content"][1] == {
        "type": "tool_result",
        "toolUseId": "c1",
        "content": '{"a": "hello"}',
        "origin": {"provider": "daemon", "model": "fake/echo"},
    }
    assert {tool["function"]["name"] for tool in upstream.requests[0].json["tools"]} == {
        f"fake__{name}" for name in mcp_server.TOOLS
    }
    assert b"Always call crash." not in upstream.requests[0].body
    assert any(note["method"] == "tools/didChange" for note in exchange.notifications)
    assert (await find_row(daemon))["state"] == "running"
    listed = (await daemon.request("tools/list", {})).result["tools"]
    assert {tool["tool"] for tool in listed if tool["server"] == "fake"} == set(mcp_server.TOOLS)


@pytest.mark.requirement("12:mcp-untrusted", "12:mcp-trust")
async def test_a_server_of_the_workspace_does_nothing_before_it_is_trusted(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record, tmp_path: Path
) -> None:
    (home / "config.toml").write_text("", "utf-8")
    mcp = {"fake": {"command": mcp_server.command("--record", str(record.path))}}
    await initialize(daemon, upstream, tmp_path, mcp)
    upstream.default(Reply.events(completion_stream(["Done."])))
    row = await find_row(daemon, refresh=True)
    assert (row["origin"], row["state"]) == ("workspace", "untrusted")
    assert (await daemon.request("mcp/restart", {"server": "fake"})).result["state"] == "untrusted"
    result = (await chat(daemon)).result
    assert [warning["code"] for warning in result["warnings"]] == ["tool_server_unavailable"]
    daemon.notify("workspace/didChangeConfiguration", {"settings": {}})
    assert (await find_row(daemon, refresh=True))["state"] == "untrusted"
    assert record.lines == []
    assert all("fake" not in json.dumps(request.json.get("tools", [])) for request in upstream.requests)

    trusted = {"server": "fake", "fingerprint": row["fingerprint"], "trusted": True}
    assert (await daemon.request("mcp/trust", trusted)).result["state"] == "stopped"
    assert record.lines == []
    await chat(daemon)
    assert len(record.pids()) == 1

    # A changed definition is no longer trusted, so its server stops.
    changed = {"fake": {**mcp["fake"], "env": {"A": "b"}}}
    config = provider(upstream.base_url) | {"mcp": changed}
    daemon.notify("workspace/didChangeConfiguration", {"settings": {"jumpseat": config}})
    row = await find_row(daemon, refresh=True)
    assert row["state"] == "untrusted"
    await chat(daemon)
    assert len(record.pids()) == 1
    assert await wait_until_gone(record.pids()[0])
    refused = await daemon.request("mcp/trust", trusted)
    assert (refused.error["code"], refused.error["data"]["errors"][0]["path"]) == (-32602, "fingerprint")


@pytest.mark.requirement("12:mcp-overlay")
@pytest.mark.parametrize(
    ("server", "key"),
    [
        ({"fake": {"command": ["x"]}}, "mcp.fake"),
        ({"new": {"command": ["x"], "env": {"A": "env:SECRET"}}}, "mcp.new.env.A"),
        ({"new": {"command": ["x"], "inherit": ["SECRET"]}}, "mcp.new.inherit"),
    ],
)
async def test_an_overlay_that_uses_servers_or_secrets_of_the_user_is_refused(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record, server: dict[str, Any], key: str
) -> None:
    configure(home, record)
    error = (await initialize(daemon, upstream, mcp=server)).error

    assert (error["code"], f"{key} " in error["message"]) == (1010, True)


@pytest.mark.requirement("12:mcp-restart")
async def test_a_restart_returns_the_row_of_the_server(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record
) -> None:
    configure(home, record)
    await initialize(daemon, upstream)
    row = (await daemon.request("mcp/restart", {"server": "fake"})).result
    assert (row["name"], row["state"]) == ("fake", "running")
    unknown = await daemon.request("mcp/restart", {"server": "fack"})
    assert unknown.error["data"]["errors"][0]["path"] == "server"
    assert "did you mean fake" in unknown.error["message"]

    configure(home, record, "--exit", "3")
    daemon.notify("workspace/didChangeConfiguration", {"settings": {}})
    row = (await daemon.request("mcp/restart", {"server": "fake"})).result
    assert row["state"] == "failed"
    assert "exit code 3" in row["error"]
    assert await wait_until_gone(record.pids()[0])


@pytest.mark.requirement("12:mcp-config")
async def test_a_fault_in_a_table_is_shown_and_affects_only_its_server(
    daemon: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    (home / "config.toml").write_text("[mcp.fake]\ncommand = 3\n", "utf-8")
    await initialize(daemon, upstream)
    exchange = await daemon.request("tools/list", {})
    (shown,) = (note for note in exchange.notifications if note["method"] == "window/showMessage")
    assert "mcp.fake.command: must be an array" in shown["params"]["message"]
    row = await find_row(daemon)

    assert (row["state"], "must be an array" in row["error"]) == ("failed", True)
    upstream.script(Reply.events(completion_stream(["Done."])))
    result = (await chat(daemon)).result
    assert (result["text"], result["warnings"][0]["code"]) == ("Done.", "tool_server_unavailable")


@pytest.mark.requirement("12:mcp-shared", "12:mcp-changes")
async def test_clients_of_one_daemon_share_a_server_and_learn_of_its_state(
    hub: Hub, upstream: FakeUpstream, home: Path, record: Record
) -> None:
    configure(home, record)
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            await initialize(client, upstream)
            await find_row(client)
        for client in (first, second):
            script_call(upstream, "fake__echo")
            await chat(client)
        assert len(record.pids()) == 1
        exchange = await second.request("tools/list", {})
        assert {each["state"] for each in exchange.result["servers"]} == {"running"}
    # The server keeps running without clients, and the next client uses it.
    async with hub.client() as third:
        await initialize(third, upstream)
        script_call(upstream, "fake__echo")
        await chat(third)
    assert len(record.pids()) == 1
    assert (await hub.command("daemon", "stop"))[0] == 0

    assert await record.wait_until_gone()


@pytest.mark.requirement("12:mcp-processes")
@pytest.mark.parametrize("ending", ["shutdown", "stdin", "signal"])
async def test_a_server_that_ignores_sigterm_ends_with_the_daemon(
    home: Path, upstream: FakeUpstream, record: Record, ending: str
) -> None:
    configure(home, record, "--deaf")
    async with running_daemon(home) as daemon:
        await initialize(daemon, upstream)
        await daemon.request("mcp/restart", {"server": "fake"})
        assert len(record.pids("child")) == 1
        if ending == "shutdown":
            await daemon.request("shutdown")
            daemon.notify("exit")
        elif ending == "stdin":
            daemon.close_stdin()
        else:
            daemon.process.send_signal(signal.SIGTERM)
        await daemon.exit_code()

        assert await record.wait_until_gone()


@pytest.mark.requirement("12:mcp-processes")
async def test_a_server_of_a_killed_daemon_ends_at_the_next_start(
    home: Path, upstream: FakeUpstream, record: Record
) -> None:
    configure(home, record, "--deaf")
    async with running_daemon(home) as daemon:
        await initialize(daemon, upstream)
        await daemon.request("mcp/restart", {"server": "fake"})
        daemon.process.kill()
        await daemon.process.wait()
    left = [*record.pids(), *record.pids("child")]
    assert all(map(is_running, left))
    # A process must not be killed if it merely has the id of an earlier process.
    path = home / "processes.json"
    content = json.loads(path.read_text("utf-8"))
    content["processes"].append({**content["processes"][0], "pid": os.getpid(), "start": "earlier"})
    path.write_text(json.dumps(content), "utf-8")
    async with running_daemon(home) as daemon:
        await initialize(daemon, upstream)

        assert await record.wait_until_gone()
        assert await find_row(daemon)


@pytest.mark.requirement("12:mcp-environment")
async def test_secrets_do_not_appear_in_arguments_logs_or_lists(
    home: Path, upstream: FakeUpstream, record: Record
) -> None:
    secret = "canary-4711-4711-4711"
    env = {"DB_URL": "env:DB_URL", "TOKEN": f"literal-{secret}"}
    configure(home, record, "--leak", "DB_URL", "--leak", "TOKEN", env=env)
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write(mcp_server.table("other"))
    url = f"postgres://me:{secret}@db.example/x"
    async with running_daemon(home, "--log-level", "debug", env={"DB_URL": url}) as daemon:
        await initialize(daemon, upstream)
        script_call(upstream, "fake__environ")
        result = (await chat(daemon)).result
        facts = json.loads(result["content"][1]["content"])
        assert facts["environ"]["DB_URL"] == url
        assert secret not in command_line(facts["pid"])
        script_call(upstream, "other__environ")
        request_id = daemon.start(
            "chat/start", {"messages": [user("Go.")], "daemonTools": ["other/*"], "turnId": "t"}
        )
        await daemon.read_delta("tool_approval")
        decide = {"turnId": "t", "toolUseId": "c1", "decision": "allow"}
        daemon.send({"jsonrpc": "2.0", "id": 1, "method": "tools/decide", "params": decide})
        while (message := await daemon.read()).get("id") != request_id:
            pass
        assert secret not in json.dumps(message)
        listed = await daemon.request("tools/list", {"refresh": True})
        assert secret not in json.dumps(listed.result)
        log = await daemon.whole_log()

    assert "DB_URL is ***" in log
    assert secret not in log
