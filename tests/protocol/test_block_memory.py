"""Clients that keep only text, tool calls and results: the daemon restores the blocks that they dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from jumpseat.testing.answers.anthropic_messages import Call, Redacted, Thought, Words, message_stream
from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_stream
from jumpseat.testing.answers.responses import function_call, message, reasoning, response_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, Exchange, provider, running_daemon, user

pytestmark = pytest.mark.slow

MODEL = "claude-haiku-4-5"
SIGNATURE = "EqQBCgIYAhIM+/=="
ENCRYPTED = "gAAAAAB+/=\\u00e9=="
TOOLS = [{"name": "f", "description": "Does.", "parameters": {"type": "object"}}]
RAW = '{"b": 1.0,  "a": "é"}'
Shape: TypeAlias = Callable[[dict[str, Any]], list[dict[str, Any]]]
"""A function that returns the messages that a client sends in place of one message."""

ANSWER = Reply.events(message_stream(Words(["Fine."])))


def thin(content: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the assistant's message as VS Code keeps it: texts, and calls with id, name and arguments.

    The arguments are in reverse order, because clients may change their order.
    """
    parts = []
    for block in content:
        if block["type"] == "text":
            parts.append({"type": "text", "text": block["text"]})
        elif block["type"] == "tool_use":
            reversed_arguments = dict(reversed(block["arguments"].items()))
            parts.append(
                {
                    "type": "tool_use",
                    "id": block["id"],
                    "name": block["name"],
                    "arguments": reversed_arguments,
                }
            )
    return {"role": "assistant", "content": parts}


def in_one(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [message]


def in_pieces(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one message for each part, like clients that separate a call from the text before it."""
    return [{**message, "content": [part]} for part in message["content"]]


def results(name: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "toolUseId": name, "content": "ok"}]}


async def ask(daemon: Daemon, *messages: Any, **more: Any) -> Exchange:
    return await daemon.request("chat/start", {"messages": list(messages), **more})


def texts_below(directory: Path) -> list[str]:
    return [path.read_text() for path in directory.rglob("*") if path.is_file()]


def claude_config(upstream: FakeUpstream) -> dict[str, Any]:
    table = {"kind": "anthropic", "base_url": upstream.origin, "api_key": "literal", "default_model": MODEL}
    return {"providers": {"fake": table}}


@pytest.fixture
async def claude(daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon whose only provider is the upstream with the Messages API."""
    await daemon.initialize(claude_config(upstream))
    return daemon


@pytest.mark.requirement("2:block-memory")
@pytest.mark.parametrize("shape", [in_one, in_pieces])
async def test_signed_thinking_that_a_client_drops_is_sent_back_in_a_tool_loop(
    claude: Daemon, upstream: FakeUpstream, shape: Shape
) -> None:
    thought = Thought([" Schön,\n", "\u2028 let me… "], SIGNATURE)
    upstream.script(
        Reply.events(
            message_stream(
                thought, Redacted("cipher+/="), Words(["I ", "look."]), Call("toolu_1", "f", [RAW])
            )
        ),
        Reply.events(message_stream(Thought([""], "second"), Call("toolu_2", "f", [RAW]))),
        ANSWER,
    )
    conversation: list[Any] = [user("Go")]
    for name in ("toolu_1", "toolu_2"):
        turn = await ask(claude, *conversation, tools=TOOLS, thinking="low")
        conversation += [*shape(thin(turn.result["content"])), results(name)]
    last = await ask(claude, *conversation, tools=TOOLS, thinking="low")

    assert last.result["text"] == "Fine."
    assert "warning" not in last.delta_types
    sent = upstream.requests[2].json
    call = {"type": "tool_use", "name": "f", "input": {"b": 1.0, "a": "é"}}
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": " Schön,\n\u2028 let me… ", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "cipher+/="},
        {"type": "text", "text": "I look."},
        {**call, "id": "toolu_1"},
    ]
    assert sent["messages"][3]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "second"},
        {**call, "id": "toolu_2"},
    ]
    # The keys have the model's order, not the client's order.
    assert list(sent["messages"][1]["content"][3]["input"]) == ["b", "a"]
    assert sent["thinking"]["type"] == "enabled"


@pytest.mark.requirement("2:block-memory")
async def test_encrypted_reasoning_that_a_client_drops_is_sent_back_in_a_tool_loop(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    await daemon.initialize(provider(upstream.base_url, kind="openai-responses"))
    first, second = reasoning("Hm.", encrypted=ENCRYPTED), reasoning(encrypted="two", item_id="rs_2")
    answer = message("Let me ", "see.", phase="commentary")
    upstream.script(
        Reply.events(response_stream(first, answer, function_call("call_1", "f", RAW))),
        Reply.events(response_stream(second, function_call("call_2", "f", RAW, item_id="fc_2"))),
        Reply.events(response_stream(message("Fine."))),
    )
    conversation: list[Any] = [user("Go")]
    for name in ("call_1", "call_2"):
        turn = await ask(daemon, *conversation, tools=TOOLS)
        conversation += [thin(turn.result["content"]), results(name)]
    last = await ask(daemon, *conversation, tools=TOOLS)

    assert last.result["text"] == "Fine."
    assert "warning" not in last.delta_types
    items = upstream.requests[2].json["input"]
    assert [item.get("type", "message") for item in items] == [
        *("message", "reasoning", "message", "function_call", "function_call_output"),
        *("reasoning", "function_call", "function_call_output"),
    ]
    assert (items[1], items[5]) == (first, second)
    assert (items[2]["phase"], items[2]["content"][0]["text"]) == ("commentary", "Let me see.")
    assert [items[3]["arguments"], items[6]["arguments"]] == [RAW, RAW]


@pytest.mark.requirement("2:block-memory")
async def test_a_thought_signature_is_sent_back_with_its_call(chatty: Daemon, upstream: FakeUpstream) -> None:
    extra = {"google": {"thought_signature": "sig+/="}}
    function = {"name": "f", "arguments": RAW}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function, "extra_content": extra}
    stream = [chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), "[DONE]"]
    done = [chunk({"content": "Fine."}), chunk({}, "stop"), "[DONE]"]
    upstream.script(Reply.events(stream), Reply.events(done))
    first = await ask(chatty, user("Go"), tools=TOOLS)
    await ask(chatty, user("Go"), thin(first.result["content"]), results("call_1"), tools=TOOLS)

    (sent,) = upstream.requests[1].json["messages"][1]["tool_calls"]
    assert (sent["extra_content"], sent["function"]["arguments"]) == (extra, RAW)


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    ("edited", "kinds"),
    [
        ([{"type": "text", "text": "Hello"}], ["thinking", "text"]),
        ([{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}], ["thinking", "text"]),
        ([{"type": "text", "text": "Hullo"}], ["text"]),
    ],
)
async def test_only_an_answer_whose_text_the_client_changed_loses_its_thinking(
    claude: Daemon, upstream: FakeUpstream, edited: list[dict[str, Any]], kinds: list[str]
) -> None:
    upstream.script(Reply.events(message_stream(Thought(["Hm"], SIGNATURE), Words(["Hello"]))), ANSWER)
    await ask(claude, user("Hi"))
    last = await ask(claude, user("Hi"), {"role": "assistant", "content": edited}, user("Go on"))

    assert "warning" not in last.delta_types
    assert [part["type"] for part in upstream.requests[1].json["messages"][1]["content"]] == kinds


@pytest.mark.requirement("2:block-memory")
async def test_the_partial_of_a_cancelled_chat_is_remembered_too(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    events = message_stream(Thought(["Hm"], SIGNATURE), Words(["Hel", "lo"]))
    # Send the two events that precede the blocks, the four events of the thinking block, and the first two
    # events of the text block, which end with `Hel`.
    upstream.script(Reply.events(events[: 2 + 4 + 2]).stall_after(), ANSWER)
    request_id = claude.start("chat/start", {"messages": [user("Hi")]})
    await claude.read_delta("text_delta")
    claude.notify("$/cancelRequest", {"id": request_id})
    partial = (await claude.read_until(request_id)).error["data"]["partial"]
    await ask(claude, user("Hi"), thin(partial["content"]), user("Go on"))

    assert upstream.requests[1].json["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": SIGNATURE},
        {"type": "text", "text": "Hel"},
    ]


@pytest.mark.requirement("2:block-memory-owner", "2:foreign-opaque")
async def test_another_model_does_not_get_the_blocks_of_the_first(
    claude: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(message_stream(Thought(["Hm"], SIGNATURE), Words(["Hello"]))), ANSWER)
    first = await ask(claude, user("Hi"))
    conversation = [user("Hi"), thin(first.result["content"]), user("Go on")]
    last = await ask(claude, *conversation, model="fake:claude-sonnet-4-5")

    assert "warning" not in last.delta_types
    assert [part["type"] for part in upstream.requests[1].json["messages"][1]["content"]] == ["text"]


@pytest.mark.requirement("2:block-memory-bounds")
async def test_the_block_memory_belongs_to_one_connection_and_is_never_written_to_files(
    claude: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(Reply.events(message_stream(Thought(["Hm"], SIGNATURE), Words(["Hello"]))), ANSWER)
    first = await ask(claude, user("Hi"))
    assert not any(SIGNATURE in text for text in texts_below(home))
    async with running_daemon(home) as other:
        await other.initialize(claude_config(upstream))
        await ask(other, user("Hi"), thin(first.result["content"]), user("Go on"))

    assert [part["type"] for part in upstream.requests[1].json["messages"][1]["content"]] == ["text"]


@pytest.mark.requirement("2:refused-once")
async def test_refused_reasoning_costs_only_one_request(daemon: Daemon, upstream: FakeUpstream) -> None:
    await daemon.initialize(provider(upstream.base_url, kind="openai-responses"))
    refusal = {"message": "The encrypted content could not be verified.", "code": "invalid_encrypted_content"}
    fine = Reply.events(response_stream(message("Fine.")))
    upstream.script(Reply.json({"error": {**refusal, "type": "invalid_request_error"}}, 400), fine, fine)
    origin = {"provider": "fake", "model": "m"}
    stale = {"type": "thinking", "thinking": "Hm.", "signature": ENCRYPTED, "origin": origin}
    answer = {"role": "assistant", "content": [stale, {"type": "text", "text": "Hello", "origin": origin}]}
    for requests in (2, 3):
        exchange = await ask(daemon, user("Hi"), answer, user("Go on"))
        assert exchange.result["text"] == "Fine."
        codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
        assert codes == ["foreign_data_dropped"]
        assert len(upstream.requests) == requests

    kinds = [[item.get("type") for item in request.json["input"]] for request in upstream.requests]
    assert kinds == [[None, "reasoning", "message", None], *[[None, "message", None]] * 2]


@pytest.mark.requirement("2:call-ids-unique", "2:block-memory-owner")
@pytest.mark.parametrize("keeps", [thin, lambda content: {"role": "assistant", "content": content}])
async def test_two_calls_with_one_id_get_unique_ids_but_go_back_with_the_providers_id(
    chatty: Daemon, upstream: FakeUpstream, keeps: Callable[[Any], dict[str, Any]]
) -> None:
    calls = [FakeCall("call_0", "f", ['{"a":1}']), FakeCall("call_0", "f", ['{"a":2}'])]
    upstream.script(
        Reply.events(completion_stream(tool_calls=calls)), Reply.events(completion_stream(["Fine."]))
    )
    first = await ask(chatty, user("Hi"), tools=TOOLS)
    ids = [call["id"] for call in first.result["toolCalls"]]
    assert [call["arguments"] for call in first.result["toolCalls"]] == [{"a": 1}, {"a": 2}]
    assert len(set(ids)) == 2
    answers = [{"type": "tool_result", "toolUseId": each, "content": f"of {each}"} for each in ids]
    second = {"role": "user", "content": answers[::-1]}
    last = await ask(chatty, user("Hi"), keeps(first.result["content"]), second, tools=TOOLS)

    assert last.result["text"] == "Fine."
    sent = upstream.requests[-1].json["messages"]
    assert [call["id"] for call in sent[1]["tool_calls"]] == ["call_0", "call_0"]
    results = [(each["tool_call_id"], each["content"]) for each in sent[2:]]
    assert results == [("call_0", f"of {each}") for each in ids]
