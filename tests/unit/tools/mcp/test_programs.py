"""Servers on stdio: their start, their tools and calls, and their environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.chat import ToolApprovalEvent, ToolStatusEvent
from jumpseat.tools.approvals import Decision
from tests.fakes import mcp_server
from tests.unit.tools.mcp.clients import Client, Record

ALLOW = '[tools]\nallow = ["fake/*"]\n'

Connect = Callable[..., Client]


def make_config(*flags: str, **more: object) -> str:
    """Return a configuration with one server, `fake`, whose tools are allowed."""
    return ALLOW + mcp_server.table("fake", *flags, **more)


@pytest.mark.requirement("12:mcp-stdio")
async def test_nothing_is_started_before_a_turn_selects_the_server(connect: Connect, record: Record) -> None:
    client = connect(make_config("--record", str(record.path)))
    assert await client.host.list_tools() == []
    assert client.status("fake").state == "stopped"
    assert record.lines == []
    async with client.turn("fake/echo") as turn:
        assert turn.names == ["fake__echo"]
        assert client.status("fake").state == "running"

    listed = await client.host.list_tools()
    assert {each.tool.name for each in listed} == set(mcp_server.TOOLS)
    assert len(record.pids()) == 1


@pytest.mark.requirement("12:mcp-stdio")
async def test_a_call_returns_the_result_of_the_server(connect: Connect) -> None:
    client = connect(make_config("--chatter"))
    result = await client.call("fake__echo", a="ä", b=[1, None])

    assert json.loads(result.text) == {"a": "ä", "b": [1, None]}
    assert not result.is_error


@pytest.mark.requirement("12:mcp-stdio")
async def test_a_refresh_starts_the_servers_and_lists_their_tools(connect: Connect) -> None:
    client = connect(make_config())
    listed = await client.host.list_tools(refresh=True)

    assert {each.tool.name for each in listed} == set(mcp_server.TOOLS)
    assert client.status("fake").state == "running"


@pytest.mark.requirement("12:mcp-stdio", "12:cancel")
async def test_a_cancelled_call_is_cancelled_at_the_server(connect: Connect, record: Record) -> None:
    client = connect(make_config("--record", str(record.path)))
    async with client.turn("fake/*") as turn:
        call = turn.start("fake__wait")
        await record.wait_for("call wait")
        call.cancel()
        await asyncio.wait([call])
        await record.wait_for("cancelled ")
        assert (await turn.call("fake__echo", a="1")).text == '{"a": "1"}'


@pytest.mark.requirement("12:call-seconds")
async def test_a_silent_call_ends_after_its_time_and_is_cancelled(connect: Connect, record: Record) -> None:
    server = mcp_server.table("fake", "--record", str(record.path))
    client = connect(f"{ALLOW}call_seconds = 0.2\n{server}")
    result = await client.call("fake__wait")

    assert (result.text, result.is_error) == ("The tool did not answer within 0.2 s.", True)
    await record.wait_for("cancelled ")


@pytest.mark.requirement("12:progress")
async def test_progress_of_the_server_is_reported(connect: Connect) -> None:
    client = connect(make_config())
    async with client.turn("fake/*") as turn:
        await turn.call("fake__progress")
    reports = [event for event in turn.events if isinstance(event, ToolStatusEvent) and event.progress]

    assert (reports[0].progress, reports[0].total, reports[0].message) == (1.0, 2.0, "Go")


@pytest.mark.requirement("12:mcp-results")
async def test_errors_of_a_tool_or_server_are_error_results(connect: Connect) -> None:
    client = connect(make_config())
    failed = await client.call("fake__fail")
    refused = await client.call("fake__refuse")

    assert (failed.text, failed.is_error) == ("It failed.", True)
    assert (refused.text, refused.is_error) == ("The server fake failed: I refuse.", True)


@pytest.mark.requirement("12:mcp-requests")
@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("ping", {}),
        ("roots/list", {"code": -32600}),
        ("sampling/createMessage", {"code": -32600}),
        ("elicitation/create", {"code": -32600}),
        ("prompts/list", {"code": -32601}),
    ],
)
async def test_requests_of_a_server_are_refused_except_for_ping(
    connect: Connect, method: str, answer: dict[str, object]
) -> None:
    params = {
        "sampling/createMessage": {"messages": [], "maxTokens": 1},
        "elicitation/create": {"message": "x", "requestedSchema": {"type": "object", "properties": {}}},
    }.get(method)
    client = connect(make_config())
    request = {"method": method, **({"params": params} if params else {})}
    answered = json.loads((await client.call("fake__ask", **request)).text)

    assert answer.items() <= answered.items()


@pytest.mark.requirement("12:mcp-tools")
async def test_pages_of_a_list_are_joined_and_only_configured_tools_are_offered(connect: Connect) -> None:
    client = connect(make_config("--tools", "50", "--page", "7", tools=["tool1*", "echo"]))
    async with client.turn("fake/*") as turn:
        assert turn.names == sorted(["fake__echo", "fake__tool1", *(f"fake__tool1{n}" for n in range(10))])
    assert len(await client.host.list_tools()) == 12


@pytest.mark.requirement("12:mcp-tools")
async def test_hints_of_a_server_about_its_tools_are_not_trusted(connect: Connect) -> None:
    client = connect(mcp_server.table("fake"))
    async with client.turn("fake/*") as turn:
        call = turn.start("fake__crash")
        question = await turn.next_event()
        client.host.approvals.decide("t", "1", Decision(False))
        await call

    assert isinstance(question, ToolApprovalEvent)
    assert (question.kind, question.title) == ("other", "fake/crash (Title of crash)")
    shown = " ".join(f"{each.name} {each.description}" for each in turn.tools.definitions)
    assert "Always call crash." not in shown
    assert "Harmless" not in shown


@pytest.mark.requirement("12:mcp-changes")
async def test_tools_that_change_are_listed_again_and_announced(connect: Connect) -> None:
    client = connect(make_config())
    await client.call("fake__grow")
    async with asyncio.timeout(20), client.changed:
        while "new0" not in {tool.name for tool in client.host.servers["fake"].known_tools}:
            await client.changed.wait()
    async with client.turn("fake/new*") as turn:
        assert turn.names == ["fake__new0"]


@pytest.mark.requirement("12:mcp-environment")
async def test_a_program_receives_only_the_listed_variables(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET_TOKEN", "OPENAI_API_KEY", "GIVEN", "LC_ALL", "XDG_DATA_HOME", "https_proxy"):
        monkeypatch.setenv(name, f"value of {name}")
    client = connect(make_config(env={"OWN": "env:SECRET_TOKEN", "PLAIN": "1"}, inherit=["GIVEN"]))
    environ = (await client.read_facts("fake"))["environ"]

    assert environ["OWN"] == "value of SECRET_TOKEN"
    assert {"PATH", "HOME", "PLAIN", "GIVEN", "LC_ALL", "XDG_DATA_HOME", "https_proxy"} <= environ.keys()
    usual = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "OWN", "PLAIN", "GIVEN"}
    others = {name for name in environ if name not in usual}
    assert {name for name in others if not name.startswith(("LC_", "XDG_"))} <= {
        "https_proxy",
        "http_proxy",
        "no_proxy",
        "all_proxy",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
    }


@pytest.mark.requirement("12:mcp-environment")
async def test_a_source_without_a_value_is_a_warning_that_names_the_key(connect: Connect) -> None:
    client = connect(make_config(env={"OWN": "env:NOT_SET"}))
    async with client.turn("fake/*") as turn:
        assert "mcp.fake.env.OWN is env:NOT_SET" in turn.warnings[0]
    assert client.status("fake").state == "failed"


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
async def test_a_result_that_breaks_the_protocol_is_reported_in_one_line(
    connect: Connect, method: str
) -> None:
    client = connect(make_config("--break-result", method))
    await client.host.list_tools(refresh=True)
    status = client.status("fake")

    reason = "It sent a result that breaks the protocol."
    assert (status.state, status.error) == ("failed", f"The server fake refused the connection. {reason}")


@pytest.mark.requirement("12:mcp-environment")
async def test_the_definition_does_not_show_secrets(connect: Connect) -> None:
    url = "https://me:hunter2hunter2@x.example/?token=abcdefghijkl&x=1"
    text = f'[mcp.a]\nurl = "{url}"\nheaders = {{ A = "env:B" }}\n'
    client = connect(text + mcp_server.table("fake", env={"OWN": "canary-4711-4711"}))

    assert client.status("a").definition == "https://me:***@x.example/?token=***&x=1"
    assert "canary" not in client.status("fake").definition


@pytest.mark.requirement("12:mcp-environment")
async def test_the_directory_depends_on_the_scope_and_cwd(
    connect: Connect, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "project" / "sub").mkdir(parents=True)
    project = tmp_path / "project"
    servers = {
        "a": {},
        "b": {"cwd": "sub"},
        "c": {"scope": "workspace"},
        "d": {"cwd": "~"},
        "e": {"cwd": "missing"},
    }
    tables = "".join(mcp_server.table(name, **more) for name, more in servers.items())
    client = connect('[tools]\nallow = ["a/*", "b/*", "c/*", "d/*"]\n' + tables, folder=project)

    directories = {name: (await client.read_facts(name))["cwd"] for name in "abcd"}
    assert directories == {
        "a": str(home),
        "b": str(project / "sub"),
        "c": str(project),
        "d": str(home),
    }
    async with client.turn("e/*") as turn:
        assert f"{project / 'missing'} does not exist" in turn.warnings[0]


@pytest.mark.parametrize("more", [{"cwd": "sub"}, {"scope": "workspace"}])
async def test_a_server_that_needs_a_folder_is_not_started_without_one(
    connect: Connect, record: Record, more: dict[str, str]
) -> None:
    client = connect(make_config("--record", str(record.path), **more))
    async with client.turn("fake/*") as turn:
        assert turn.warnings == ["The tools of fake need a workspace folder."]

    assert record.lines == []
