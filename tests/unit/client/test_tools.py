"""The Python client's interface to the daemon's tools. The daemon is a real process that follows a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat_client import Client, Delta, SyncClient, ToolApproval, ToolStatus
from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.tool_steps import question, status

pytestmark = pytest.mark.timeout(60)

ROW = {"name": "db", "origin": "user", "state": "running", "definition": "db-mcp"}


async def test_a_chat_selects_tools_and_names_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = answer_steps("ok")
    steps[-1]["result"]["rounds"] = 2
    scenario = Scenario.chat(tmp_path, steps)
    async with Client.spawn(scenario.command) as daemon:
        result = await daemon.chat(
            "Hi",
            daemon_tools=["files/*"],
            max_rounds=3,
            workspace_folders=["src", Path("/a"), "file:///b"],
        ).response()

    params = scenario.read_messages("chat/start")[0]["params"]
    assert params["daemonTools"] == ["files/*"]
    assert params["maxRounds"] == 3
    assert params["workspaceFolders"] == [str(tmp_path / "src"), "/a", "file:///b"]
    assert result.rounds == 2


def test_the_workspace_folders_of_a_client_are_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = Scenario(tmp_path)
    with SyncClient.spawn(scenario.command, workspace_folders=["a b", Path("/c"), "file:///d%20e/"]):
        pass

    assert scenario.read_messages("initialize")[0]["params"]["workspaceFolders"] == [
        {"uri": f"{tmp_path.as_uri()}/a%20b", "name": "a b"},
        {"uri": "file:///c", "name": "c"},
        {"uri": "file:///d%20e/", "name": "d e"},
    ]


def test_a_chat_without_tools_has_no_rounds(tmp_path: Path) -> None:
    with SyncClient.spawn(Scenario.chat(tmp_path, answer_steps("ok")).command) as daemon:
        assert daemon.chat("Hi").response().rounds is None


def test_questions_and_statuses_are_typed() -> None:
    diff = [{"uri": "file:///a", "newText": "x"}]
    asked = Delta(question(diff=diff)["delta"], 1, "t1")
    assert asked.tool_approval == ToolApproval(
        turn_id="t1", tool_use_id="c1", server="shed", tool="dig", title="Dig a hole", kind="edit",
        reason="ask", arguments={"depth": 2}, remember=["turn", "conversation", "always"], diff=diff,
    )  # fmt: skip
    assert asked.tool_status is None

    ran = Delta(status("running", message="Digging", progress=1, total=2)["delta"], 2, "t1")
    assert ran.tool_status == ToolStatus("c1", "running", "Digging", 1, 2)
    assert ran.tool_approval is None
    assert Delta(status("denied")["delta"], 3).tool_status == ToolStatus("c1", "denied")


def test_tools_are_listed_and_their_servers_restarted_and_trusted(tmp_path: Path) -> None:
    answers = {"tools/list": {"tools": [], "servers": [ROW]}, "mcp/restart": ROW, "mcp/trust": ROW}
    scenario = Scenario(tmp_path, answers=answers)
    with SyncClient.spawn(scenario.command) as daemon:
        assert daemon.list_tools(refresh=True) == {"tools": [], "servers": [ROW]}
        assert daemon.restart_mcp_server("db") == ROW
        assert daemon.trust_mcp_server("db", "f1") == ROW
        daemon.trust_mcp_server("db", "f1", trusted=False)

    assert scenario.read_messages("tools/list")[0]["params"] == {"refresh": True}
    assert scenario.read_messages("mcp/restart")[0]["params"] == {"server": "db"}
    assert [each["params"]["trusted"] for each in scenario.read_messages("mcp/trust")] == [True, False]
    assert scenario.read_messages("mcp/trust")[0]["params"]["fingerprint"] == "f1"
