"""Configured prompts and built-in prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import next_notification
from tests.daemon import Daemon, provider, user

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
            {"name": "commit", "usesInput": False, "takesDiff": True},
            {"name": "explain", "usesInput": False, "takesDiff": False},
            {
                "name": "review",
                "description": "Review a diff",
                "model": "fake:m",
                "usesInput": True,
                "takesDiff": False,
            },
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
async def test_clients_are_notified_only_if_the_prompts_have_changed(home: Path, daemon: Daemon) -> None:
    file = home / "config.toml"
    file.write_text(TABLES, "utf-8")
    await daemon.initialize()
    changed = {"settings": {"jumpseat": {"default_model": "x:y"}}}
    daemon.notify("workspace/didChangeConfiguration", changed)
    notifications = (await daemon.request("prompts/list")).notifications
    assert [each["method"] for each in notifications] == ["providers/didChange"]

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
        assert row.keys() == {"name", "builtin", "description", "usesInput", "takesDiff"}
        assert (row["builtin"], row["usesInput"]) == (True, True)
        assert row["takesDiff"] == (row["name"] == "commit")
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


NARROW = [{"id": "m", "max_prompt_tokens": 200}, {"id": "wide", "max_context_tokens": 10_000}]
"""Two models. A diff may use half of the input, which is about 400 bytes for the first model."""


def change(name: str, length: int) -> str:
    return f"diff --git a/{name} b/{name}\n@@ -0,0 +1 @@\n+{'x' * length}\n"


SHORT, LONG = change("a.py", 10), change("all.lock", 1000)
WARNING = "The diff is too long for the model. These files are left out: all.lock"
NOTE = "These files have changed too, but their diffs are too long: all.lock"


@pytest.fixture
async def narrow(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon whose default model accepts 200 tokens."""
    await daemon.initialize(provider(upstream.base_url, models=NARROW))
    return daemon


async def get_commit(daemon: Daemon, **params: Any) -> Any:
    return (await daemon.request("prompts/get", {"name": "commit", **params})).result


@pytest.mark.requirement("13:diffs")
async def test_a_diff_that_is_too_long_for_the_model_is_shortened(
    narrow: Daemon, upstream: FakeUpstream
) -> None:
    whole = await get_commit(narrow, input=LONG + SHORT, model="fake:wide")
    prompt = await get_commit(narrow, input=LONG + SHORT)

    assert whole.keys() == {"name", "builtin", "text"}
    assert whole["text"].endswith(f"\n\n{LONG}{SHORT}")
    assert prompt["text"].endswith(f"\n\n{SHORT}\n{NOTE}\n")
    assert "xxxxxxxxxxxxxxx" not in prompt["text"]
    assert prompt["leftOut"] == ["all.lock"]
    assert "cutOff" not in prompt
    assert prompt["warnings"] == [{"code": "diff_shortened", "message": WARNING}]
    assert upstream.requests == []


@pytest.mark.requirement("13:diffs")
async def test_the_beginning_of_a_diff_is_kept_if_no_file_fits(narrow: Daemon) -> None:
    prompt = await get_commit(narrow, input=LONG)

    assert prompt["cutOff"] == "all.lock"
    assert "leftOut" not in prompt
    assert prompt["text"].endswith("@@ -0,0 +1 @@\n\nThe diff of all.lock is too long, so it is cut off.\n")
    assert [each["code"] for each in prompt["warnings"]] == ["diff_shortened"]


@pytest.mark.requirement("13:diffs")
async def test_context_blocks_are_shortened_too(narrow: Daemon) -> None:
    blocks = [
        {"type": "context", "text": LONG, "label": "git diff"},
        {"type": "context", "text": SHORT, "label": "git diff --staged"},
    ]
    prompt = await get_commit(narrow, input="Be brief.", context=blocks)
    whole = await get_commit(narrow, context=blocks[1:])

    assert prompt["context"] == blocks[1:]
    assert prompt["text"].endswith(f"\n\nBe brief.\n{NOTE}\n")
    assert prompt["leftOut"] == ["all.lock"]
    assert (whole["context"], "leftOut" in whole) == (blocks[1:], False)
    assert whole["text"].endswith("Write only the message.")


@pytest.mark.requirement("13:diffs")
async def test_only_prompts_that_take_a_diff_shorten_it(daemon: Daemon, upstream: FakeUpstream) -> None:
    prompts = {
        "commit": {"text": "Mine: {{input}}"},
        "mine": {"text": "{{input}}", "takes_diff": True},
        "docs": {"text": "{{input}}", "takes_diff": False},
    }
    await daemon.initialize({**provider(upstream.base_url, models=NARROW), "prompts": prompts})
    shortened = {}
    for name in (*prompts, "review"):
        prompt = (await daemon.request("prompts/get", {"name": name, "input": LONG + SHORT})).result
        shortened[name] = prompt.get("leftOut", [])

    assert shortened == {"commit": ["all.lock"], "mine": ["all.lock"], "docs": [], "review": []}


@pytest.mark.requirement("13:diffs")
@pytest.mark.parametrize("model", [None, "fake:unknown", "nobody:m"])
async def test_an_unknown_limit_counts_as_32_000_tokens(chatty: Daemon, model: str | None) -> None:
    # A diff may use half of the tokens, which is about 64,000 bytes.
    fitting, longer = change("a.py", 63_900), change("b.py", 63_900)
    given = {} if model is None else {"model": model}

    assert "leftOut" not in await get_commit(chatty, input=fitting, **given)
    assert (await get_commit(chatty, input=fitting + longer, **given))["leftOut"] == ["b.py"]


@pytest.mark.requirement("13:diffs")
async def test_a_prompts_model_overrides_the_clients_default_but_not_a_chosen_model(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    prompts = {"wide": {"text": "{{input}}", "model": "fake:wide", "takes_diff": True}}
    await daemon.initialize({**provider(upstream.base_url, models=NARROW), "prompts": prompts})

    async def shortens(name: str, **models: str) -> bool:
        params = {"name": name, "input": LONG + SHORT, **models}
        return "leftOut" in (await daemon.request("prompts/get", params)).result

    assert await shortens("commit")
    assert not await shortens("commit", defaultModel="fake:wide")
    assert not await shortens("wide", defaultModel="fake:m")
    assert await shortens("wide", model="fake:m")


@pytest.mark.requirement("13:diffs")
async def test_a_diff_is_shortened_without_any_provider(daemon: Daemon) -> None:
    await daemon.initialize()

    prompt = await get_commit(daemon, input=change("a.py", 30_000) + change("b.py", 60_000))
    assert prompt["leftOut"] == ["b.py"]
