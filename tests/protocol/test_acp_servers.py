"""MCP servers for one session of the Agent Client Protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.acp import AcpAgent, provider_table, running_agent, script_answers
from tests.acp_tools import Json, ask, call, choose, results, script_calls
from tests.fakes import mcp_server
from tests.fakes.mcp_http import McpEndpoint
from tests.hub import Hub
from tests.processes import is_running
from tests.unit.tools.mcp.clients import Record

pytestmark = pytest.mark.slow

ALLOW = '[tools]\nallow = ["fake/*"]\n'


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of what the servers do."""
    return Record(tmp_path / "record")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project."""
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
async def agent(hub: Hub, upstream: FakeUpstream, root: Path) -> AsyncIterator[AcpAgent]:
    """An initialized agent in the project, whose user allows every tool of a server `fake`."""
    async with running_agent(hub, root, config=ALLOW + provider_table(upstream.base_url)) as running:
        await running.initialize(session={"notices": {}})
        yield running


def server_definition(record: Record, *flags: str, name: str = "fake", **env: str) -> Json:
    """Return the definition of the fake MCP server, as an editor sends it."""
    command, *args = mcp_server.command("--record", str(record.path), *flags)
    variables = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "command": command, "args": args, "env": variables}


def list_offered_servers(upstream: FakeUpstream) -> set[str]:
    """Return the names of the servers whose tools the last request to the provider offers."""
    return {
        tool["function"]["name"].partition("__")[0]
        for tool in json.loads(upstream.requests[-1].body).get("tools", ())
    }


@pytest.mark.requirement("12:acp-servers")
async def test_a_program_runs_in_the_directory_of_the_session_with_literal_variables(
    agent: AcpAgent, upstream: FakeUpstream, root: Path, record: Record
) -> None:
    variables = {"A": "env:HOME", "B": "${HOME}", "C": "HOME", "D": "command:echo x"}
    session = await agent.new_session(mcpServers=[server_definition(record, **variables)])
    assert record.pids() == []
    script_calls(upstream, call("fake__environ"))
    exchange = await agent.prompt(session, "Go.")

    (result,) = results(upstream)
    facts = json.loads(result)
    assert {name: facts["environ"][name] for name in variables} == variables
    assert facts["cwd"] == str(root)
    assert list_offered_servers(upstream) == {"files", "fake"}
    assert exchange.updates("tool_call_update")[-1]["status"] == "completed"


@pytest.mark.requirement("12:acp-servers")
async def test_servers_serve_only_their_session_and_end_with_the_daemon(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, record: Record
) -> None:
    one = await agent.new_session(mcpServers=[server_definition(record)])
    two = await agent.new_session()
    same = await agent.new_session(mcpServers=[server_definition(record)])
    for session in (one, same):
        script_calls(upstream, call("fake__echo"))
        await agent.prompt(session, "Go.")
    assert len(record.pids()) == 1
    script_answers(upstream, "Hello.")
    await agent.prompt(two, "Hi.")
    assert list_offered_servers(upstream) == {"files"}
    for session in (one, same):
        await agent.request("session/close", {"sessionId": session})
    assert await agent.exit_code() == 0
    assert (await hub.command("daemon", "stop"))[0] == 0

    assert await record.wait_until_gone()


@pytest.mark.requirement("12:acp-servers")
@pytest.mark.parametrize("method", ["session/close", "session/delete", "session/load"])
async def test_a_server_is_released_with_its_session(
    hub: Hub, upstream: FakeUpstream, root: Path, record: Record, method: str
) -> None:
    # This makes `jumpseat acp` serve its client itself. It then ends a server as soon as no session uses it.
    (hub.home / "daemon").write_text("not a directory")
    async with running_agent(hub, root, config=ALLOW + provider_table(upstream.base_url)) as agent:
        await agent.initialize()
        session = await agent.new_session(mcpServers=[server_definition(record)])
        script_calls(upstream, call("fake__echo"))
        await agent.prompt(session, "Go.")
        running = [is_running(pid) for pid in record.pids()]
        params = {"cwd": str(root), "mcpServers": []} if method == "session/load" else {}
        assert (await agent.request(method, {"sessionId": session, **params})).result is not None

        assert await record.wait_until_gone()
    assert running == [True]


@pytest.mark.requirement("12:acp-servers")
async def test_a_sessions_server_replaces_the_users_server_and_needs_its_own_permission(
    hub: Hub, upstream: FakeUpstream, root: Path, record: Record, tmp_path: Path
) -> None:
    own = Record(tmp_path / "own")
    config = (
        f'[acp]\ntools = ["fake/echo"]\n{provider_table(upstream.base_url)}'
        f"{mcp_server.table('fake', '--record', str(own.path))}"
    )
    async with running_agent(hub, root, config=config) as agent:
        await agent.initialize()
        questions = []
        for servers in (
            [],
            [server_definition(record)],
            [],
            [server_definition(record)],
            [server_definition(record, X="1")],
        ):
            session = await agent.new_session(mcpServers=servers)
            script_calls(upstream, call("fake__echo"))
            _, requests = await ask(agent, session, choose("allow_always"))
            questions.append([each["params"]["toolCall"]["title"] for each in requests])

    # The user always allows a call, but this permission applies only to a server of the same definition.
    assert [len(each) for each in questions] == [1, 1, 0, 0, 1]
    assert (len(own.pids()), len(record.pids())) == (1, 2)


@pytest.mark.requirement("12:acp-servers")
async def test_a_reopened_session_has_only_the_servers_of_the_request_that_reopens_it(
    agent: AcpAgent, upstream: FakeUpstream, root: Path, record: Record
) -> None:
    session = await agent.new_session(mcpServers=[server_definition(record)])
    script_calls(upstream, call("fake__echo"))
    await agent.prompt(session, "Go.")
    loaded = await agent.reopen("session/load", session)
    script_answers(upstream, "Hello.", "Hello.")
    await agent.prompt(session, "Hi.")
    without = list_offered_servers(upstream)
    params = {"sessionId": session, "cwd": str(root), "mcpServers": [server_definition(record)]}
    await agent.request("session/resume", params)
    await agent.read_update("available_commands_update")
    await agent.prompt(session, "Hi.")

    assert [each["title"] for each in loaded.updates("tool_call")] == ["fake/echo"]
    assert without == {"files"}
    assert list_offered_servers(upstream) == {"files", "fake"}


@pytest.mark.requirement("12:acp-servers")
async def test_a_server_on_the_network_receives_its_headers(agent: AcpAgent, upstream: FakeUpstream) -> None:
    endpoint = McpEndpoint(upstream)
    headers = [{"name": "Authorization", "value": "Bearer x"}, {"name": "X-Home", "value": "env:HOME"}]
    server = {"type": "http", "name": "fake", "url": f"{upstream.origin}/mcp", "headers": headers}
    session = await agent.new_session(mcpServers=[server])
    script_calls(upstream, call(f"fake__{endpoint.tools[0]['name']}"))
    await agent.prompt(session, "Go.")

    sent = [each for each in upstream.requests if each.path == "/mcp"]
    assert sent
    assert {(each.headers["authorization"], each.headers["x-home"]) for each in sent} == {
        ("Bearer x", "env:HOME")
    }
    assert len(results(upstream)) == 1


@pytest.mark.requirement("12:acp-servers")
async def test_a_server_that_cannot_start_causes_a_notice_and_the_prompt_goes_on(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    server = {"name": "My server!", "command": "/nowhere/server", "args": [], "env": []}
    session = await agent.new_session(mcpServers=[server])
    script_answers(upstream, "Hello.")
    exchange = await agent.prompt(session, "Hi.")

    assert exchange.text() == "Hello."
    (notice,) = exchange.updates("notice")
    assert "My_server_" in notice["title"]


@pytest.mark.requirement("12:acp-servers")
@pytest.mark.parametrize(
    ("servers", "path"),
    [
        ([{"name": "files", "command": "x", "args": [], "env": []}], "mcpServers.0.name"),
        ([{"name": "", "command": "x", "args": [], "env": []}], "mcpServers.0.name"),
        ([{"name": name, "command": "x"} for name in ("a b", "a_b")], "mcpServers.1.name"),
        ([{"name": "a", "command": "x", "env": [{"name": "A=B", "value": ""}]}], "mcpServers.0.env"),
        ([{"type": "sse", "name": "a", "url": "http://127.0.0.1/", "headers": []}], "mcpServers.0"),
        ([{"type": "http", "name": "a", "url": "file:///etc/passwd", "headers": []}], "mcpServers.0"),
        ([{"name": "a"}], "mcpServers.0"),
        (["a"], "mcpServers.0"),
    ],
)
async def test_an_invalid_definition_of_a_server_is_refused(
    agent: AcpAgent, servers: list[Any], path: str
) -> None:
    error = (await agent.request("session/new", {"cwd": str(agent.directory), "mcpServers": servers})).error

    assert error["code"] == -32602
    assert error["data"]["errors"][0]["path"].startswith(path)


@pytest.mark.requirement("12:acp-servers")
async def test_secrets_of_servers_are_not_logged(
    hub: Hub, upstream: FakeUpstream, root: Path, record: Record
) -> None:
    (hub.home / "daemon").write_text("not a directory")  # The process serves its client itself.
    config = ALLOW + provider_table(upstream.base_url)
    secret = "canary-4711-4711-4711"
    async with running_agent(hub, root, config=config, flags=["--log-level", "debug"]) as agent:
        await agent.initialize()
        server = server_definition(record, "--leak", "API_TOKEN", API_TOKEN=secret)
        session = await agent.new_session(mcpServers=[server])
        script_calls(upstream, call("fake__echo"))
        await agent.prompt(session, "Go.")
        await agent.exit_code()
        log = await agent.daemon.whole_log()

    assert "API_TOKEN is ***" in log
    assert secret not in log
