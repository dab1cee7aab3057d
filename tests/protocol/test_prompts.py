"""Section 5 of the contract: the prompts of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.copilot import next_notification
from tests.daemon import Daemon

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

    assert (await daemon.request("prompts/list")).result == {
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
    assert [row["name"] for row in listed] == ["explain", "review"]
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
