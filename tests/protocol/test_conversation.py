"""Conversations that clients send, and the request body that a provider of each dialect receives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.answers.chat_completions import completion_body, completion_stream
from jumpseat.testing.answers.ollama_chat import last, lines, part
from jumpseat.testing.answers.responses import message, response_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, Exchange, provider, user
from tests.fakes.ollama import FakeOllama

Body = dict[str, Any]


def check_chat_completions(body: Body) -> None:
    """Check that tool messages answer exactly the calls of the message before them.

    No other message may be empty, and the user must begin.
    """
    waiting: list[str] = []
    for each in body["messages"]:
        if each["role"] == "tool":
            waiting.remove(each["tool_call_id"])
            continue
        assert not waiting, body
        assert each["content"] or each.get("tool_calls"), body
        waiting = [call["id"] for call in each.get("tool_calls", ())]
    assert not waiting, body
    assert body["messages"][0]["role"] == "user", body


def check_responses(body: Body) -> None:
    """Check that one output follows each call, that ids of calls are unique, and that no content is empty."""
    calls = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(outputs), body
    assert len(calls) == len(set(calls)), body
    kinds = [(item.get("type"), item.get("call_id")) for item in body["input"]]
    for call in calls:
        assert kinds.index(("function_call", call)) < kinds.index(("function_call_output", call)), body
    assert all(item["content"] for item in body["input"] if "content" in item), body


def check_messages(body: Body) -> None:
    """Check that roles alternate, results come first and answer the last message, and no text is empty."""
    roles = [each["role"] for each in body["messages"]]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))], body
    waiting: list[str] = []
    seen: set[str] = set()
    for each in body["messages"]:
        parts = each["content"]
        assert parts, body
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting), body
        assert all(part["type"] == "tool_result" for part in parts[: len(results)]), body
        assert all(part["text"].strip() for part in parts if part["type"] == "text"), body
        waiting = [part["id"] for part in parts if part["type"] == "tool_use"]
        assert not seen.intersection(waiting), body
        seen.update(waiting)
    assert not waiting, body


def check_ollama(body: Body) -> None:
    """Check that tool messages answer exactly the calls of the message before them, and name their tools.

    No other message may be empty.
    """
    waiting: list[tuple[str, str]] = []
    for each in body["messages"]:
        if each["role"] == "tool":
            waiting.remove((each["tool_call_id"], each["tool_name"]))
            continue
        assert not waiting, body
        assert each["content"] or each.get("tool_calls"), body
        waiting = [(call["id"], call["function"]["name"]) for call in each.get("tool_calls", ())]
    assert not waiting, body


@dataclass(frozen=True)
class Dialect:
    """One kind of provider: how it answers, and what its real server checks."""

    kind: str
    answer: Reply
    check: Callable[[Body], None]
    user_begins: bool = True
    """Whether the server requires a message of the user at the beginning."""


DIALECTS = [
    Dialect("openai", Reply.events(completion_stream(["Fine."])), check_chat_completions),
    Dialect("openai-responses", Reply.events(response_stream(message("Fine."))), check_responses),
    Dialect("anthropic", Reply.events(message_stream(Words(["Fine."]))), check_messages),
    Dialect("ollama", lines(part("Fine."), last()), check_ollama, user_begins=False),
]


def make_answer(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    texts = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"role": "assistant", "content": texts}


def make_question(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    return {**make_answer(*blocks), "role": "user"}


def call(name: str, tool: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "arguments": {"a": 1}}


def result(name: str, content: str = "found") -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": name, "content": content}


CONVERSATIONS = {
    "all in order": (
        [user("Hi"), make_answer("On it.", call("1")), make_question(result("1")), user("Thanks")],
        [],
    ),
    "no result at the end": ([user("Hi"), make_answer(call("1"), call("2"))], ["tool_result_missing"]),
    "no result, the user goes on": (
        [user("Hi"), make_answer(call("1")), user("Stop")],
        ["tool_result_missing"],
    ),
    "one of two results": (
        [user("Hi"), make_answer(call("1"), call("2")), make_question(result("2"))],
        ["tool_result_missing"],
    ),
    "words before results": ([user("Hi"), make_answer(call("1")), make_question("Here:", result("1"))], []),
    "results in two messages": (
        [
            user("Hi"),
            make_answer(call("1"), call("2")),
            make_question(result("2")),
            make_question("And:", result("1")),
        ],
        [],
    ),
    "calls in two messages": (
        [
            user("Hi"),
            make_answer(call("1")),
            make_answer(call("2", "g")),
            make_question(result("1"), result("2")),
        ],
        [],
    ),
    "a late result": (
        [
            user("Hi"),
            make_answer(call("1")),
            user("Go on"),
            make_answer("I go."),
            make_question(result("1", "late")),
        ],
        ["tool_result_moved"],
    ),
    "two results of one call": (
        [user("Hi"), make_answer(call("1")), make_question(result("1", "one"), result("1", "two"))],
        ["tool_results_joined"],
    ),
    "one id in every answer": (
        [
            *(user("Hi"), make_answer(call("1")), make_question(result("1", "first"))),
            *(
                make_answer(call("1", "g")),
                make_question(result("1", "second")),
                make_answer("Well."),
                user("More"),
            ),
        ],
        [],
    ),
    "one id twice in one answer": (
        [
            user("Hi"),
            make_answer(call("1"), call("1", "g")),
            make_question(result("1", "first"), result("1", "second")),
        ],
        [],
    ),
    "an empty answer": ([user("Hi"), make_answer(), user("Are you there?")], []),
    "an answer of reasoning alone": (
        [user("Hi"), make_answer({"type": "thinking", "thinking": "Hm", "signature": "s"}), user("And?")],
        ["unfinished_dropped"],
    ),
    "an empty message": (
        [user("Hi"), make_answer("Yes?"), user(" \n"), make_question(), user("Go")],
        ["empty_message_dropped"],
    ),
    "the assistant first": ([make_answer("How can I help?"), user("Hi")], ["opening_added"]),
    "a call first": ([make_answer(call("1")), make_question(result("1"), "Hi")], ["opening_added"]),
    "several in a row": (
        [user("Hi"), user("there"), make_answer("One."), make_answer("Two."), user("a"), user("b")],
        [],
    ),
}
"""The messages that a client sends, and the codes of the expected warnings."""


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.kind)
async def dialect(request: pytest.FixtureRequest, daemon: Daemon, upstream: FakeUpstream) -> Dialect:
    """Initialize the daemon with one provider, `fake`, which has the kind of the dialect."""
    chosen: Dialect = request.param
    more: dict[str, Any] = {"kind": chosen.kind, "api_key": "literal"}
    base_url = upstream.base_url
    if chosen.kind == "ollama":
        base_url, more = FakeOllama(upstream).base_url, {"kind": "ollama", "default_model": "qwen3:4b"}
    await daemon.initialize(provider(base_url, **more))
    return chosen


def chats(upstream: FakeUpstream) -> list[Body]:
    """Return the bodies of the chats so far. Other requests have no body, or one without messages."""
    bodies = [request.json for request in upstream.requests if request.method == "POST"]
    return [body for body in bodies if "messages" in body or "input" in body]


async def send(daemon: Daemon, upstream: FakeUpstream, dialect: Dialect, messages: list[Any]) -> Exchange:
    path = "/api/chat" if dialect.kind == "ollama" else None
    upstream.script(dialect.answer, path=path)
    return await daemon.request("chat/start", {"messages": messages})


@pytest.mark.requirement("2:orphans", "2:order", "2:tool-use-without-result")
async def test_the_provider_gets_a_valid_conversation_in_every_case(
    daemon: Daemon, upstream: FakeUpstream, dialect: Dialect
) -> None:
    for name, (messages, warnings) in CONVERSATIONS.items():
        exchange = await send(daemon, upstream, dialect, messages)
        assert exchange.result["text"] == "Fine.", name
        codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
        assert codes == [code for code in warnings if dialect.user_begins or code != "opening_added"], name
        body = chats(upstream)[-1]
        dialect.check(body)
        words = [block for each in messages for block in _texts(each) if block.strip()]
        sent = repr(body)
        assert [word for word in words if word not in sent] == [], name
    assert len(chats(upstream)) == len(CONVERSATIONS)


def _texts(message: dict[str, Any]) -> Iterable[str]:
    """Yield the texts and the tool results in a user's message."""
    if message["role"] == "user":
        blocks = message["content"]
        if isinstance(blocks, str):
            yield blocks
        else:
            yield from (block.get("text", block.get("content")) for block in blocks)


@pytest.mark.requirement("2:wrong-role", "2:result-without-tool-use", "2:order", "2:no-delta-when-invalid")
async def test_a_conversation_that_cannot_be_repaired_is_refused_with_the_path(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    beyond_help: list[tuple[list[Any], str]] = [
        ([user("Hi"), make_question(result("1"))], "messages.1.content.0.toolUseId"),
        (
            [user("Hi"), make_answer(call("1")), make_question("x", result("2"))],
            "messages.2.content.1.toolUseId",
        ),
        ([make_question("Hi", call("1"))], "messages.0.content.1"),
        ([user("Hi"), make_answer(call("1"), result("2"))], "messages.1.content.1.toolUseId"),
        ([user("Hi"), make_answer({"type": "context", "text": "x"})], "messages.1.content.0"),
        ([user(" "), make_answer()], "messages"),
    ]
    for messages, path in beyond_help:
        exchange = await chatty.request("chat/start", {"messages": messages})

        assert exchange.error["code"] == -32602, path
        assert [error["path"] for error in exchange.error["data"]["errors"]] == [path]
        assert exchange.deltas == []
    assert upstream.requests == []


@pytest.mark.requirement("2:warnings", "1:unknown-keys")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("method", ["chat/start", "edit/start"])
async def test_the_warnings_are_also_in_the_result(
    chatty: Daemon, upstream: FakeUpstream, stream: bool, method: str
) -> None:
    answer = Reply.events(completion_stream(["Hi"])) if stream else Reply.json(completion_body("Hi"))
    upstream.script(answer)
    asked: dict[str, Any] = {"messages": [user(""), user("hi")]}
    if method == "edit/start":
        asked = {"target": {"type": "context", "text": "x"}, "instruction": "y"}
    params = {**asked, "stream": stream, "max_tokens": 5, "somethingElse": 1}
    exchange = await chatty.request(method, params)

    reported = exchange.result["warnings"]
    codes = ["unknown_parameter"]
    codes += [] if method == "edit/start" else ["empty_message_dropped"]
    assert [each["code"] for each in reported] == codes
    assert all(set(each) == {"code", "message"} for each in reported)
    streamed = [delta for delta in exchange.deltas if delta["type"] == "warning"]
    assert streamed == ([{"type": "warning", **each} for each in reported] if stream else [])
    upstream.script(Reply.events(completion_stream(["Hi"])))
    assert "warnings" not in (await chatty.request("chat/start", {"messages": [user("hi")]})).result


@pytest.mark.requirement("2:usage")
async def test_usage_that_the_provider_does_not_report_is_absent(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"], usage=None)))
    exchange = await chatty.request("chat/start", {"messages": [user("hi")]})

    assert "usage" not in exchange.result
    assert "usage" not in exchange.deltas[-1]


@pytest.mark.requirement("2:conversation-id")
@pytest.mark.parametrize("name", ["", "a/b", "a b", "é", "x" * 129, "a\n"])
async def test_the_id_of_a_kept_conversation_must_be_a_plain_name(
    chatty: Daemon, upstream: FakeUpstream, name: str
) -> None:
    params = {"messages": [user("hi")], "conversationId": name}
    error = (await chatty.request("chat/start", {**params, "keep": True})).error
    assert (error["code"], error["data"]["errors"][0]["path"]) == (-32602, "conversationId")

    upstream.script(Reply.events(completion_stream(["Hi"])))
    assert (await chatty.request("chat/start", params)).result["text"] == "Hi"
