"""The Python client and the daemon's tools, with the real daemon, a plug-in and a fake provider."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat_client import SyncClient, ToolApproval, ToolDecision
from tests.daemon import provider
from tests.fakes import tool_plugin

pytestmark = pytest.mark.timeout(60)

PATH = "/v1/chat/completions"


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    """Start a provider that answers "Done." by default."""
    with ThreadedUpstream() as running:
        running.default(Reply.events(completion_stream(["Done."])), PATH)
        yield running


def script_calls(upstream: ThreadedUpstream, *names: str, **arguments: Any) -> None:
    """Script one answer of the model: a call of each named tool, all with the same arguments."""
    made = [FakeCall(f"c{number}", name, [json.dumps(arguments)]) for number, name in enumerate(names, 1)]
    upstream.script(Reply.events(completion_stream(tool_calls=made)), path=PATH)


def spawn(home: Path, upstream: ThreadedUpstream, **options: Any) -> SyncClient:
    env = {**os.environ, **tool_plugin.install(home / "site")}
    return SyncClient.spawn(env=env, config=provider(upstream.base_url), **options)


@pytest.mark.requirement("12:cannot-ask", "12:rules")
@pytest.mark.parametrize(
    ("approve", "text", "statuses"),
    [
        (lambda call: call.arguments["text"] == "x", "x in ['/project']", {"running", "completed"}),
        (lambda call: ToolDecision(False, message="No."), "The user denied this call: No.", {"denied"}),
        (None, "This call needs the user's approval, which this client cannot ask for.", {"denied"}),
    ],
    ids=["allow", "deny", "cannot ask"],
)
def test_a_function_of_the_program_decides_about_calls(
    home: Path,
    upstream: ThreadedUpstream,
    approve: Callable[[ToolApproval], Any] | None,
    text: str,
    statuses: set[str],
) -> None:
    script_calls(upstream, "shed__echo", "shed__echo", text="x")
    with spawn(home, upstream, on_approval=approve) as client:
        chat = client.chat("Go", daemon_tools=["shed/*"], workspace_folders=["/project"])
        assert {delta.tool_status.status for delta in chat if delta.tool_status} == statuses
        result = chat.response()

    assert [block["content"] for block in result.content if block["type"] == "tool_result"] == [text] * 2
    assert (result.rounds, result.text) == (2, "Done.")


def test_a_remembered_decision_answers_the_other_questions(home: Path, upstream: ThreadedUpstream) -> None:
    script_calls(upstream, "shed__echo", "shed__echo", text="x")
    asked: list[str] = []

    async def approve(call: ToolApproval) -> ToolDecision:
        asked.append(call.tool_use_id)
        if len(asked) > 1:
            # Only the remembered decision can answer this question.
            await asyncio.Event().wait()
        return ToolDecision(True, "turn")

    with spawn(home, upstream, on_approval=approve) as client:
        result = client.chat("Go", daemon_tools=["shed/*"]).response()
        listed = client.list_tools()

    assert result.text == "Done."
    assert [block.get("isError") for block in result.content if block["type"] == "tool_result"] == [None] * 2
    assert "c1" in asked
    assert "echo" in [tool["tool"] for tool in listed["tools"] if tool["server"] == "shed"]


@pytest.mark.requirement("12:continuation")
def test_a_turn_that_reached_its_limit_of_rounds_can_be_continued(
    home: Path, upstream: ThreadedUpstream
) -> None:
    script_calls(upstream, "shed__echo", text="x")
    with spawn(home, upstream, on_approval=lambda call: True) as client:
        messages = [{"role": "user", "content": "Go"}]
        first = client.chat(messages, daemon_tools=["shed/*"], max_rounds=1).response()
        second = client.chat([*messages, first.as_message()], daemon_tools=["shed/*"]).response()

    assert (first.stop_reason, first.rounds) == ("max_rounds", 1)
    assert [block["type"] for block in second.content] == ["text"]


@pytest.mark.requirement("12:unsaved")
def test_a_program_can_answer_requests_for_its_unsaved_texts(home: Path, upstream: ThreadedUpstream) -> None:
    uri = "file:///project/a.py"
    script_calls(upstream, "shed__replace", uri=uri, text="two\n")
    edits: list[Any] = []

    async def answer(method: str, params: Any) -> Any:
        if method == "workspace/unsaved":
            return {"documents": [{"uri": uri, "version": 7, "text": "one\n"}]}
        edits.append((method, params["edit"]["documentChanges"][0]["textDocument"]))
        return {"applied": True}

    capabilities = {"workspace": {"applyEdit": True}, "experimental": {"jumpseat": {"unsaved": True}}}
    with spawn(
        home, upstream, on_approval=lambda call: True, on_request=answer, capabilities=capabilities
    ) as client:
        result = client.chat("Go", daemon_tools=["shed/*"]).response()

    assert edits == [("workspace/applyEdit", {"uri": uri, "version": 7})]
    assert result.content[1]["content"] == "replaced"
