"""`tools/run`: one call of a tool outside a chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemon import Daemon, Exchange

pytestmark = pytest.mark.requirement("12:run")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes.txt").write_text("one\n")
    return root


@pytest.fixture
async def editor(daemon: Daemon, root: Path) -> Daemon:
    """Initialize a daemon without a provider, whose client can show questions."""
    params = {
        "processId": None,
        "capabilities": {"experimental": {"jumpseat": {"approveTools": True}}},
        "workspaceFolders": [{"uri": root.as_uri(), "name": "project"}],
    }
    await daemon.request("initialize", params)
    daemon.notify("initialized", {})
    return daemon


def start(daemon: Daemon, tool: str, **params: Any) -> int:
    """Start a call of a file tool, and return the id of the request."""
    return daemon.start("tools/run", {"server": "files", "tool": tool, "turnId": "t1", **params})


async def read_notes(daemon: Daemon) -> Exchange:
    call = start(daemon, "read", arguments={"path": "notes.txt"}, conversationId="c1")
    return await daemon.read_until(call)


async def start_edit(daemon: Daemon) -> int:
    """Start an edit, and return the id of the request once the daemon asks about it."""
    edit = {"path": "notes.txt", "oldText": "one", "newText": "two"}
    call = start(daemon, "edit", arguments=edit, conversationId="c1")
    question = (await daemon.read_delta("tool_approval"))["delta"]
    assert (question["toolUseId"], question["reason"]) == ("call", "ask")
    assert [each["newText"] for each in question["diff"]] == ["two\n"]
    return call


async def test_an_allowed_call_runs_without_a_question_and_without_a_provider(editor: Daemon) -> None:
    exchange = await read_notes(editor)

    assert exchange.result == {"content": "one\n"}
    assert [delta["status"] for delta in exchange.deltas] == ["running", "completed"]


@pytest.mark.parametrize(("decision", "text"), [("allow", "two\n"), ("deny", "one\n")])
async def test_an_edit_of_a_file_that_was_read_asks_the_user_and_shows_the_diff(
    editor: Daemon, root: Path, decision: str, text: str
) -> None:
    await read_notes(editor)
    call = await start_edit(editor)
    decide = {"turnId": "t1", "toolUseId": "call", "decision": decision}
    assert (await editor.request("tools/decide", decide)).result == {"decided": True}
    result = (await editor.read_until(call)).result

    assert (root / "notes.txt").read_text() == text
    assert result.get("isError", False) == (decision == "deny")


async def test_an_edit_is_refused_if_the_file_was_read_in_another_conversation(editor: Daemon) -> None:
    await read_notes(editor)
    edit = {"path": "notes.txt", "oldText": "one", "newText": "two"}
    result = (await editor.read_until(start(editor, "edit", arguments=edit, conversationId="c2"))).result

    assert result["isError"] is True


async def test_a_cancelled_question_leaves_the_file_unchanged(editor: Daemon, root: Path) -> None:
    await read_notes(editor)
    call = await start_edit(editor)
    editor.notify("$/cancelRequest", {"id": call})

    assert (await editor.read_until(call)).error["code"] == -32800
    assert (root / "notes.txt").read_text() == "one\n"


@pytest.mark.parametrize(
    ("params", "path"), [({"server": "filed", "tool": "read"}, "server"), ({"tool": "red"}, "tool")]
)
async def test_an_unknown_tool_is_refused(editor: Daemon, params: dict[str, str], path: str) -> None:
    error = (await editor.read_until(start(editor, **{"tool": "read", **params}))).error

    assert error["code"] == -32602
    assert error["data"]["errors"][0]["path"] == path
