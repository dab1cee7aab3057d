"""A title that a model suggests for a kept conversation."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, user

pytestmark = [pytest.mark.requirement("13:suggest-title"), pytest.mark.slow]


async def keep(daemon: Daemon, upstream: FakeUpstream, text: str, answer: str = "Fine.", **more: Any) -> None:
    """Keep a conversation with the id `c`, and clear the recorded requests."""
    upstream.script(Reply.events(completion_stream([answer])))
    chat = {"messages": [user(text)], "keep": True, "conversationId": "c", **more}
    assert (await daemon.request("chat/start", chat)).result["text"] == answer
    upstream.requests.clear()


async def suggest(daemon: Daemon, **more: Any) -> dict[str, Any]:
    return (await daemon.request("conversations/suggestTitle", {"id": "c", **more})).response


async def test_the_conversations_model_suggests_a_title_and_nothing_is_renamed(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    await keep(chatty, upstream, "Why is the sky blue?", "Because of Rayleigh.", model="fake:other")
    before = (await chatty.request("conversations/get", {"id": "c"})).result
    upstream.script(Reply.events(completion_stream('**"The Colour of the Sky"**\nHope this helps!')))

    assert await suggest(chatty) == {
        "jsonrpc": "2.0",
        "id": 104,  # The ids of the client start at 101, and this is its fourth request.
        "result": {"title": "The Colour of the Sky"},
    }
    (request,) = upstream.requests
    assert request.json["model"] == "other"
    (message,) = request.json["messages"]
    sent = str(message["content"])
    assert "User: Why is the sky blue?" in sent
    assert "Assistant: Because of Rayleigh." in sent
    assert "title of at most 8 words" in sent
    assert (await chatty.request("conversations/get", {"id": "c"})).result == before
    assert len((await chatty.request("conversations/list")).result["conversations"]) == 1


async def test_the_request_can_name_another_model(chatty: Daemon, upstream: FakeUpstream) -> None:
    await keep(chatty, upstream, "Hi")
    upstream.script(Reply.events(completion_stream("Greeting")))

    assert (await suggest(chatty, model="fake:third"))["result"] == {"title": "Greeting"}
    assert upstream.requests[0].json["model"] == "third"


async def test_only_a_part_of_a_long_conversation_is_sent(chatty: Daemon, upstream: FakeUpstream) -> None:
    await keep(chatty, upstream, "word " * 50_000, "answer " * 50_000)
    upstream.script(Reply.events(completion_stream("Words")))

    assert (await suggest(chatty))["result"] == {"title": "Words"}
    assert len(upstream.requests[0].body) < 4000


@pytest.mark.parametrize("answer", ["", " \n", '""', "```\n```"])
async def test_an_answer_without_a_title_is_an_error(
    chatty: Daemon, upstream: FakeUpstream, answer: str
) -> None:
    await keep(chatty, upstream, "Hi")
    upstream.script(Reply.events(completion_stream([answer])))
    error = (await suggest(chatty))["error"]

    assert (error["code"], error["data"]["kind"], error["data"]["provider"]) == (1009, "protocol", "fake")


async def test_unknown_conversations_and_failures_of_the_provider_are_errors(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    assert (await suggest(chatty))["error"]["code"] == 1004
    await keep(chatty, upstream, "Hi")
    upstream.script(Reply.json({"error": {"message": "no"}}, 401))
    assert (await suggest(chatty))["error"]["code"] == 1000


async def test_a_conversation_without_text_has_no_title(chatty: Daemon, upstream: FakeUpstream) -> None:
    image = {"type": "image", "source": "data:image/png;base64,iVBORw0KGgo="}
    call = chunk({"tool_calls": [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}]})
    upstream.script(Reply.events([call, chunk({}, "tool_calls"), "[DONE]"]))
    chat = {"messages": [{"role": "user", "content": [image]}], "tools": [{"name": "f"}]}
    await chatty.request("chat/start", {**chat, "keep": True, "conversationId": "c"})
    upstream.requests.clear()

    assert (await suggest(chatty))["error"]["code"] == 1004
    assert upstream.requests == []


async def test_a_suggestion_can_be_cancelled(chatty: Daemon, upstream: FakeUpstream) -> None:
    await keep(chatty, upstream, "Hi")
    upstream.script(Reply.events([chunk({"content": "The "}), Gate()]))
    request = chatty.start("conversations/suggestTitle", {"id": "c"})
    await upstream.wait_for_request()
    chatty.notify("$/cancelRequest", {"id": request})
    exchange = await chatty.read_until(request)

    assert exchange.error["code"] == -32800
    assert exchange.deltas == []
    await upstream.wait_for_disconnect()
