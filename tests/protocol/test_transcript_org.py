"""Transcripts in Org, through the daemon."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import Call, Thought, Words, message_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user

SIGNATURE = "EqQBCgIYAhIM+/=="
CLAUDE = {"kind": "anthropic", "api_key": "literal", "default_model": "claude-haiku-4-5"}


async def render(daemon: Daemon, messages: Any, **more: Any) -> str:
    params = {"messages": messages, "format": "org", **more}
    text = (await daemon.request("transcript/render", params)).result["text"]
    assert isinstance(text, str)
    return text


async def parse(daemon: Daemon, text: str) -> Any:
    return (await daemon.request("transcript/parse", {"text": text, "format": "org"})).result


@pytest.mark.requirement("5:transcript-org")
async def test_a_conversation_becomes_org_and_is_read_back(chatty: Daemon) -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "arguments": {}, "raw": "{}"}
    messages = [user("Hi.\n* Me"), {"role": "assistant", "content": [call]}]
    text = await render(
        chatty, messages, model="fake:m", daemonTools=["files/*"], settings={"temperature": 0.5}
    )

    assert text == (
        ":PROPERTIES:\n:model: fake:m\n:tools: [files/*]\n:settings: {temperature: 0.5}\n:END:\n\n"
        "* Me\n\nHi.\n,* Me\n\n* Assistant\n\n#+begin_tool_use :id c :name f\n{}\n#+end_tool_use\n"
    )
    assert await parse(chatty, text) == {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi.\n* Me"}]}, messages[1]],
        "model": "fake:m",
        "daemonTools": ["files/*"],
        "settings": {"temperature": 0.5},
        "turns": [
            {"role": "user", "startLine": 6, "endLine": 11, "message": 0},
            {"role": "assistant", "startLine": 11, "endLine": 16, "message": 1},
        ],
    }


@pytest.mark.requirement("5:transcript-org")
@pytest.mark.parametrize("method", ["transcript/parse", "transcript/render", "transcript/check"])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_format_is_an_error(served: Daemon, method: str) -> None:
    error = (await served.request(method, {"format": "rst"})).error

    assert error["code"] == -32602
    assert error["data"]["errors"][0]["path"] == "format"


@pytest.mark.requirement("5:transcript-org-head", "5:transcript-check")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_mistake_in_the_drawer_is_reported_at_its_place(served: Daemon) -> None:
    text = "#+title: T\n:PROPERTIES:\n:ID: x\n:settings: {temperature: 9}\n:END:\n\n* Me\n\nHi.\n"
    params = {"text": text, "format": "org"}
    (found,) = (await served.request("transcript/check", params)).result["diagnostics"]

    assert found["message"] == "settings.temperature must be at most 2."
    assert found["range"] == {"start": {"line": 3, "character": 12}, "end": {"line": 3, "character": 26}}
    params["text"] = text.replace(":END:\n", "")
    (found,) = (await served.request("transcript/check", params)).result["diagnostics"]
    assert (found["code"], found["range"]["start"]["line"]) == ("front_matter", 1)


@pytest.mark.requirement("5:transcript-org-answer")
async def test_an_answer_in_org_is_streamed_and_keeps_its_signature(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    words = ["Sure.\n\n", "* ", "one\n", "  #", "+STARTUP: x\n# Local Vari", "ables:"]
    upstream.script(
        Reply.events(message_stream(Thought(["Hm.\n*"], SIGNATURE), Words(words), Call("c", "f")))
    )
    await daemon.initialize({"providers": {"fake": {**CLAUDE, "base_url": upstream.origin}}})

    question = [user("Why?")]
    answer = await daemon.request("chat/start", {"messages": question, "transcript": "org"})

    written = "".join(delta.get("transcript", "") for delta in answer.deltas)
    message = {"role": "assistant", "content": answer.result["content"]}
    assert await render(daemon, [message], trimAnswers=True) == f"* Assistant\n\n{written}\n"
    assert "Hm.\n,*\n\n#+end_thinking" in written
    assert "\n\nSure.\n\n,* one\n  ,#+STARTUP: x\n# Local Variables\\:" in written
    text = f"* Me\n\nWhy?\n\n* Assistant\n\n{written}\n"
    read = (await parse(daemon, text))["messages"]
    assert read == [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}, message]
    assert SIGNATURE in str(read)


@pytest.mark.requirement("5:transcript-org-answer")
@pytest.mark.parametrize("form", [True, "markdown"])
async def test_an_answer_is_in_markdown_by_default(daemon: Daemon, upstream: FakeUpstream, form: Any) -> None:
    upstream.script(Reply.events(message_stream(Words(["* a\n## Me"]))))
    await daemon.initialize({"providers": {"fake": {**CLAUDE, "base_url": upstream.origin}}})

    answer = await daemon.request("chat/start", {"messages": [user("Why?")], "transcript": form})

    assert "".join(delta.get("transcript", "") for delta in answer.deltas) == "* a\n\\## Me"


BRANCHES = (
    ":PROPERTIES:\n:model: fake:m\n:tools: files\n:END:\n\n* Me\n\nWhy?\n\n* Assistant\n\nSo.\n\n"
    "** Side\n:PROPERTIES:\n:model: fake:other\n:settings: {temperature: 9}\n:END:\n\nReally?\n\n"
    "*** Me\n\n* Me\n"
)
"""A chat in which the heading `Side` begins a branch with a model and settings of its own."""


@pytest.mark.requirement("5:transcript-org-branches")
async def test_the_line_of_the_cursor_chooses_a_branch_with_its_own_values(chatty: Daemon) -> None:
    params = {"text": BRANCHES, "format": "org", "line": 18}
    read = (await chatty.request("transcript/parse", params)).result

    assert [message["content"][0]["text"] for message in read["messages"]] == ["Why?", "So.", "Really?"]
    assert read["branch"] == {
        "startLine": 13,
        "endLine": 23,
        "level": 3,
        "model": "fake:other",
        "settings": {"temperature": 9},
    }
    assert (read["model"], read["daemonTools"]) == ("fake:other", ["files/*"])
    trunk = (await chatty.request("transcript/parse", {**params, "line": 0})).result
    assert len(trunk["messages"]) == 2
    assert "branch" not in trunk


@pytest.mark.requirement("5:transcript-org-branches", "5:transcript-check")
@pytest.mark.asyncio(loop_scope="module")
async def test_only_the_branch_of_the_line_is_checked(served: Daemon) -> None:
    params = {"text": BRANCHES, "format": "org", "line": 18}
    text = BRANCHES.replace(":tools: files\n", "")

    (found,) = (await served.request("transcript/check", {**params, "text": text})).result["diagnostics"]
    assert found["range"]["start"] == {"line": 15, "character": 12}
    trunk = {**params, "text": text, "line": 0}
    assert (await served.request("transcript/check", trunk)).result["diagnostics"] == []


@pytest.mark.requirement("5:transcript-org-branches")
async def test_headings_are_written_on_the_level_of_the_branch(chatty: Daemon) -> None:
    assert await render(chatty, [user("Hi.\n*** Me")], level=3) == "*** Me\n\nHi.\n,*** Me\n"
    error = (await chatty.request("transcript/render", {"level": 0, "format": "org"})).error
    assert error["data"]["errors"][0]["path"] == "level"
