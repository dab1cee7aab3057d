"""`edit/start`."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_body, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon

TARGET = {
    "type": "context",
    "text": "x = 1\n",
    "uri": "file:///home/me/a.py",
    "languageId": "python",
    "range": {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}},
}
EDIT: dict[str, Any] = {"target": TARGET, "instruction": "Make it two."}
PIECES = ["Here it is:\n\n``", "`python\nx =", " 2\n``", "`\nDone."]

# The daemon is shared by the tests of this module.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def chatty(pair: tuple[Daemon, FakeUpstream]) -> Daemon:
    return pair[0]


@pytest.fixture
def upstream(pair: tuple[Daemon, FakeUpstream]) -> FakeUpstream:
    return pair[1]


@pytest.mark.requirement("2:edit-start", "2:edit-replacement")
async def test_an_edit_streams_like_a_chat_and_adds_the_replacement(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(PIECES)))
    exchange = await chatty.request("edit/start", {**EDIT, "turnId": "e1", "system": "Be kind."})

    assert exchange.delta_types[0] == "start"
    assert exchange.delta_types[-1] == "done"
    raw = "".join(delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta")
    assert raw == "".join(PIECES) == exchange.result["text"]
    assert exchange.result["replacement"] == "x = 2\n"
    assert (exchange.result["turnId"], exchange.result["stopReason"]) == ("e1", "end_turn")
    assert {note["params"]["turnId"] for note in exchange.notifications} == {"e1"}
    system, question = upstream.requests[0].json["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith("Be kind.\n\n")
    asked = question["content"]
    asked = asked if isinstance(asked, str) else "".join(part["text"] for part in asked)
    assert "/home/me/a.py" in asked
    assert "line 5" in asked
    assert "```python\nx = 1\n```" in asked
    assert "Make it two." in asked


@pytest.mark.requirement("2:edit-start")
async def test_an_edit_that_is_not_streamed_has_no_deltas(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json(completion_body("x = 3")))
    exchange = await chatty.request("edit/start", {**EDIT, "stream": False})

    assert exchange.notifications == []
    assert exchange.result["replacement"] == "x = 3\n"


@pytest.mark.requirement("2:edit-context")
async def test_context_precedes_the_target_of_an_edit_and_must_not_be_rewritten(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json(completion_body("x = 3")))
    context = [{"type": "context", "text": "LIMIT = 3\n", "uri": "file:///home/me/b.py"}]
    exchange = await chatty.request("edit/start", {**EDIT, "stream": False, "context": context})

    assert exchange.result["replacement"] == "x = 3\n"
    asked = str(upstream.requests[0].json["messages"][-1]["content"])
    places = [
        asked.index(each) for each in ("must not rewrite", "LIMIT = 3", "Now the piece", "x = 1", "Make it")
    ]
    assert places == sorted(places)


@pytest.mark.requirement("2:edit-context")
async def test_an_edit_refuses_context_that_only_messages_can_have(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    context = [{"type": "tool_use", "id": "c1", "name": "read", "arguments": {}}]
    exchange = await chatty.request("edit/start", {**EDIT, "context": context})

    assert exchange.error["code"] == -32602
    assert upstream.requests == []


@pytest.mark.requirement("2:edit-nothing-to-apply", "2:stop-reason-unknown")
@pytest.mark.parametrize(
    ("word", "reason", "warned"),
    [
        ("Stop", "end_turn", False),
        ("MAX_TOKENS", "max_tokens", False),
        ("RECITATION", "content_filter", False),
        ("NEW_REASON", "end_turn", True),
    ],
)
async def test_only_an_edit_that_ended_for_a_known_good_reason_has_a_replacement(
    chatty: Daemon, upstream: FakeUpstream, word: str, reason: str, warned: bool
) -> None:
    upstream.script(Reply.events(completion_stream(["```\nx = 2\n```"], finish_reason=word)))
    exchange = await chatty.request("edit/start", EDIT)

    assert (exchange.result["stopReason"], exchange.result["rawStopReason"]) == (reason, word)
    assert ("replacement" in exchange.result) == (word == "Stop")
    codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
    assert codes == ["unknown_stop_reason"] * warned


@pytest.mark.requirement("2:edit-nothing-to-apply")
async def test_an_edit_that_was_cut_off_has_no_replacement(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["```\nx ="], finish_reason="length")))
    result = (await chatty.request("edit/start", EDIT)).result

    assert "replacement" not in result
    assert (result["stopReason"], result["text"]) == ("max_tokens", "```\nx =")


@pytest.mark.requirement("2:edit-nothing-to-apply")
async def test_an_edit_that_is_answered_with_a_diff_has_no_replacement(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["```diff\n-x = 1\n", "+x = 2\n```"])))
    result = (await chatty.request("edit/start", EDIT)).result

    assert "replacement" not in result
    assert (result["stopReason"], result["text"]) == ("end_turn", "```diff\n-x = 1\n+x = 2\n```")


@pytest.mark.requirement("2:edit-start")
@pytest.mark.parametrize("by_turn", [True, False])
async def test_an_edit_is_cancelled_like_a_chat(
    chatty: Daemon, upstream: FakeUpstream, by_turn: bool
) -> None:
    upstream.script(Reply.events(completion_stream(["x = "])[:2]).stall_after())
    request_id = chatty.start("edit/start", {**EDIT, "turnId": "e1"})
    await chatty.read_delta("text_delta")
    cancel = ("chat/cancel", {"turnId": "e1"}) if by_turn else ("$/cancelRequest", {"id": request_id})
    chatty.notify(*cancel) if not by_turn else chatty.start(*cancel)
    while (message := await chatty.read()).get("id") != request_id:
        pass
    await upstream.wait_for_disconnect()

    assert message["error"]["code"] == -32800
    assert message["error"]["data"]["partial"]["text"] == "x = "
    assert "replacement" not in message["error"]["data"]["partial"]


@pytest.mark.requirement("2:edit-start", "2:turn-id")
async def test_an_edit_and_a_chat_cannot_have_the_same_turn_id_at_the_same_time(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    gate = Gate()
    upstream.script(Reply.events([gate, *completion_stream(["x"])]))
    first = chatty.start("edit/start", {**EDIT, "turnId": "t"})
    await chatty.read_delta("start")
    chat = {"messages": [{"role": "user", "content": "hi"}], "turnId": "t"}
    second = await chatty.read_until(chatty.start("chat/start", chat))
    gate.open()

    assert second.error["data"]["errors"][0]["path"] == "turnId"
    assert (await chatty.read_until(first)).result["replacement"] == "x\n"


@pytest.mark.requirement("2:edit-start")
@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"target": TARGET}, "instruction"),
        ({**EDIT, "instruction": ""}, "instruction"),
        ({"instruction": "Do."}, "target"),
        ({**EDIT, "target": {**TARGET, "type": "text"}}, "target.type"),
        ({**EDIT, "target": {"type": "context"}}, "target.text"),
        ({**EDIT, "maxTokens": 0}, "maxTokens"),
    ],
)
async def test_wrong_params_of_an_edit_are_reported(
    chatty: Daemon, params: dict[str, Any], path: str
) -> None:
    exchange = await chatty.request("edit/start", params)

    assert exchange.error["code"] == -32602
    assert [each["path"] for each in exchange.error["data"]["errors"]] == [path]
    assert exchange.notifications == []


@pytest.mark.requirement("2:edit-start")
async def test_an_edit_goes_to_the_named_model(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["y"])))
    result = (await chatty.request("edit/start", {**EDIT, "model": "fake:other"})).result

    assert upstream.requests[0].json["model"] == "other"
    assert result["replacement"] == "y\n"
