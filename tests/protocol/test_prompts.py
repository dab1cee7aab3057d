"""The prompts of the configuration, and those that are built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import next_notification
from tests.daemon import Daemon, user

pytestmark = pytest.mark.slow

TABLES = """
[prompts.review]
text = "Review:\\n{{input}}"
description = "Review a diff"
system = "Be careful."
model = "fake:m"
settings = { temperature = 0.5 }

[prompts.explain]
text = "Explain this."
"""


@pytest.mark.requirement("5:prompts")
async def test_the_prompts_are_listed_and_filled(home: Path, daemon: Daemon) -> None:
    (home / "config.toml").write_text(TABLES, "utf-8")
    await daemon.initialize({"prompts": {"commit": {"text": "Write a commit message."}}})

    listed = (await daemon.request("prompts/list")).result
    assert [row["name"] for row in listed["prompts"] if "builtin" in row] == ["docs", "fix", "tests"]
    assert {"prompts": [row for row in listed["prompts"] if "builtin" not in row]} == {
        "prompts": [
            {"name": "commit", "usesInput": False},
            {"name": "explain", "usesInput": False},
            {"name": "review", "description": "Review a diff", "model": "fake:m", "usesInput": True},
        ]
    }
    assert (await daemon.request("prompts/get", {"name": "review", "input": "x = 1"})).result == {
        "name": "review",
        "text": "Review:\nx = 1",
        "system": "Be careful.",
        "model": "fake:m",
        "settings": {"temperature": 0.5},
    }
    assert (await daemon.request("prompts/get", {"name": "explain", "input": None})).result == {
        "name": "explain",
        "text": "Explain this.",
    }
    error = (await daemon.request("prompts/get", {"name": "reviw"})).response["error"]
    assert (error["code"], error["data"]["kind"]) == (1004, "request")
    assert "did you mean review?" in error["message"]


@pytest.mark.requirement("5:prompts", "7:file-errors")
async def test_a_wrong_prompt_is_reported_and_everything_else_works(home: Path, daemon: Daemon) -> None:
    file = home / "config.toml"
    file.write_text(f"{TABLES}[prompts.wrong]\ntext = 3\n", "utf-8")
    fault = f"{file}:12: prompts.wrong.text: must be a string."
    await daemon.initialize()
    shown = await next_notification(daemon, "window/showMessage")
    assert shown == {"type": 1, "message": fault}

    listed = (await daemon.request("prompts/list")).result["prompts"]
    assert [row["name"] for row in listed if "builtin" not in row] == ["explain", "review"]
    error = (await daemon.request("prompts/get", {"name": "wrong"})).error
    assert (error["code"], error["message"]) == (1010, fault)


@pytest.mark.requirement("5:prompts-did-change", "7:reread")
async def test_clients_are_notified_of_other_prompts_and_only_of_those(home: Path, daemon: Daemon) -> None:
    file = home / "config.toml"
    file.write_text(TABLES, "utf-8")
    await daemon.initialize()
    changed = {"settings": {"jumpseat": {"default_model": "x:y"}}}
    daemon.notify("workspace/didChangeConfiguration", changed)
    await next_notification(daemon, "providers/didChange")

    file.write_text(TABLES.replace("Explain", "Describe"), "utf-8")
    daemon.notify("workspace/didChangeConfiguration", {"settings": {}})
    assert await next_notification(daemon, "prompts/didChange") == {}
    prompt = (await daemon.request("prompts/get", {"name": "explain"})).result
    assert prompt["text"] == "Describe this."


BUILT_IN = ["commit", "docs", "explain", "fix", "review", "tests"]


@pytest.mark.requirement("13:prompts")
async def test_six_prompts_are_built_in_and_tables_replace_them_by_name(home: Path, daemon: Daemon) -> None:
    await daemon.initialize()
    rows = (await daemon.request("prompts/list")).result["prompts"]

    assert [row["name"] for row in rows] == BUILT_IN
    for row in rows:
        assert row.keys() == {"name", "builtin", "description", "usesInput"}
        assert (row["builtin"], row["usesInput"]) == (True, True)
    (home / "config.toml").write_text('[prompts.fix]\ntext = "Mine:"\n', "utf-8")
    assert await next_notification(daemon, "prompts/didChange") == {}
    rows = (await daemon.request("prompts/list")).result["prompts"]
    assert [row["name"] for row in rows] == BUILT_IN
    assert [row["name"] for row in rows if not row.get("builtin")] == ["fix"]
    assert (await daemon.request("prompts/get", {"name": "fix", "input": "x"})).result == {
        "name": "fix",
        "text": "Mine:\n\nx",
    }


@pytest.mark.requirement("13:prompts")
async def test_a_faulty_table_hides_the_built_in_prompt_of_its_name(home: Path, daemon: Daemon) -> None:
    await daemon.initialize()
    (home / "config.toml").write_text("[prompts.fix]\ntext = 3\n", "utf-8")
    assert await next_notification(daemon, "prompts/didChange") == {}

    rows = (await daemon.request("prompts/list")).result["prompts"]
    assert [row["name"] for row in rows] == [name for name in BUILT_IN if name != "fix"]
    assert (await daemon.request("prompts/get", {"name": "fix"})).error["code"] == 1010


@pytest.mark.requirement("13:prompts")
@pytest.mark.parametrize("name", BUILT_IN)
async def test_a_built_in_prompt_reaches_the_provider_with_its_input_last(
    chatty: Daemon, upstream: FakeUpstream, name: str
) -> None:
    upstream.script(Reply.events(completion_stream("Done.")))
    given = 'def f(x):\n    return {{input}} + r"\\1"'
    prompt = (await chatty.request("prompts/get", {"name": name, "input": given})).result
    assert prompt.keys() == {"name", "builtin", "text"}
    answer = await chatty.request("chat/start", {"messages": [user(prompt["text"])]})

    assert answer.result["text"] == "Done."
    (message,) = upstream.requests[0].json["messages"]
    task, empty, code = message["content"].partition("\n\n")
    assert (empty, code) == ("\n\n", given)
    assert 60 < len(task) < 400
    assert "\n" not in task
    assert "{{" not in task
