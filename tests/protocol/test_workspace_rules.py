"""The rules of a workspace in chats, edits and counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

pytestmark = pytest.mark.slow

RULES = "Answer like a pirate."


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "AGENTS.md").write_text(f"{RULES}\n", "utf-8")
    return folder


@pytest.fixture
async def editor(home: Path, upstream: FakeUpstream, workspace: Path) -> AsyncIterator[Daemon]:
    """Initialize a client with two workspace folders, each of which has its own rules."""
    second = workspace.parent / "second"
    second.mkdir()
    (second / "CLAUDE.md").write_text("Answer like a judge.", "utf-8")
    async with running_daemon(home) as daemon:
        folders = [{"uri": each.as_uri(), "name": each.name} for each in (workspace, second)]
        options = {"config": provider(upstream.base_url)}
        params = {"capabilities": {}, "workspaceFolders": folders, "initializationOptions": options}
        await daemon.request("initialize", params)
        daemon.notify("initialized", {})
        yield daemon


def system_of(upstream: FakeUpstream, number: int = -1) -> str | None:
    """Return the system prompt of a request that the provider received; None if there is none."""
    messages: list[dict[str, Any]] = upstream.requests[number].json["messages"]
    return next((each["content"] for each in messages if each["role"] == "system"), None)


@pytest.mark.requirement("13:rules")
@pytest.mark.parametrize("form", [str, Path.as_uri])
async def test_the_rules_come_from_the_folder_that_the_turn_names(
    editor: Daemon, upstream: FakeUpstream, workspace: Path, form: Callable[[Path], str]
) -> None:
    upstream.default(Reply.events(completion_stream("Arr.")))
    folders = [form(workspace.parent / "second"), form(workspace)]
    chat = {"messages": [user("Hi")], "workspaceRules": True, "workspaceFolders": folders}
    answer = await editor.request("chat/start", chat)

    assert answer.deltas[0]["rules"] == ["CLAUDE.md"]


@pytest.mark.requirement("13:rules")
async def test_the_rules_precede_the_system_prompt_and_the_start_delta_names_them(
    editor: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream("Arr.")))
    chat = {"messages": [user("Hi")], "system": "Be brief."}
    first = await editor.request("chat/start", {**chat, "workspaceRules": True})
    without = await editor.request("chat/start", chat)

    assert first.deltas[0]["rules"] == ["AGENTS.md"]
    assert system_of(upstream, 0) == (
        f"The rules of the user's workspace in `AGENTS.md`:\n```\n{RULES}\n```\n\nBe brief."
    )
    assert "rules" not in without.deltas[0]
    assert system_of(upstream, 1) == "Be brief."


@pytest.mark.requirement("13:rules")
async def test_an_edit_has_the_rules_before_its_own_prompt(editor: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.events(completion_stream("```\ny = 1\n```")))
    edit = {"instruction": "Rename x.", "target": {"type": "context", "text": "x = 1\n"}}
    answer = await editor.request("edit/start", {**edit, "workspaceRules": True})

    assert answer.result["replacement"] == "y = 1\n"
    assert answer.deltas[0]["rules"] == ["AGENTS.md"]
    system = system_of(upstream) or ""
    assert 0 < system.index(RULES) < system.index("You rewrite a piece of a user's text")


@pytest.mark.requirement("13:rules")
async def test_a_count_includes_the_rules(editor: Daemon, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("word " * 1000, "utf-8")
    chat = {"messages": [user("Hi")]}
    plain = (await editor.request("chat/countTokens", chat)).result["tokens"]
    ruled = (await editor.request("chat/countTokens", {**chat, "workspaceRules": True})).result["tokens"]

    assert 1000 < ruled - plain < 2000


@pytest.mark.requirement("13:rules")
async def test_a_kept_conversation_does_not_contain_the_rules(editor: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.events(completion_stream("Arr.")))
    chat = {"messages": [user("Hi")], "keep": True, "conversationId": "c", "workspaceRules": True}
    for more in ({}, {"system": "Be brief."}):
        await editor.request("chat/start", {**chat, **more})
        kept = (await editor.request("conversations/get", {"id": "c"})).result
        assert kept.get("system") == more.get("system")
        assert "pirate" not in str(kept)
    assert all(RULES in (system_of(upstream, number) or "") for number in (0, 1))


@pytest.mark.requirement("13:rules")
async def test_a_rules_file_that_is_skipped_causes_a_warning_and_an_empty_list(
    editor: Daemon, upstream: FakeUpstream, workspace: Path
) -> None:
    upstream.default(Reply.events(completion_stream("Hello.")))
    (workspace / "AGENTS.md").unlink()
    (workspace / "CLAUDE.md").symlink_to("/etc/hosts")
    answer = await editor.request("chat/start", {"messages": [user("Hi")], "workspaceRules": True})

    assert answer.deltas[0]["rules"] == []
    assert [warning["code"] for warning in answer.result["warnings"]] == ["rules_skipped"]
    assert system_of(upstream) is None


@pytest.mark.requirement("13:rules")
async def test_without_a_workspace_folder_the_working_directory_is_used(
    home: Path, upstream: FakeUpstream, workspace: Path
) -> None:
    upstream.script(Reply.events(completion_stream("Arr.")))
    async with running_daemon(home, cwd=workspace) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        answer = await daemon.request("chat/start", {"messages": [user("Hi")], "workspaceRules": True})
    assert answer.deltas[0]["rules"] == ["AGENTS.md"]
    assert RULES in (system_of(upstream) or "")
