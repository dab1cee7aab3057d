"""Replay of answers with all forms of reasoning: decoded, then encoded."""

import json

import pytest

from jumpseat.chat import (
    ChatRequest,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.chat_completions import EndpointFacts, encode
from tests.unit.dialects.chat_completions.answers import answer, body, call, calls, chunk, stream


def encode_messages(*messages, **facts):
    request = ChatRequest(messages=messages, model="asked")
    return encode(request, EndpointFacts(provider="acme", **facts))["messages"]


def send_back(data, content_type="text/event-stream"):
    (message,) = encode_messages(answer(data, content_type).as_message())
    return message


CALL = {"id": "c-1", "type": "function", "function": {"name": "f", "arguments": '{"a" :1}'}}


@pytest.mark.requirement("chat:reasoning-content-replay")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_with_a_call_goes_back_in_its_original_field(field):
    data = stream(
        chunk({field: "Let me "}),
        chunk({field: "see."}),
        calls(call(0, "c-1", "f", '{"a" :1}')),
        chunk({}, "tool_calls"),
    )
    assert send_back(data) == {
        "role": "assistant",
        "content": None,
        field: "Let me see.",
        "tool_calls": [CALL],
    }


@pytest.mark.requirement("chat:reasoning-content-replay")
def test_reasoning_of_unknown_origin_is_sent_as_empty_if_it_is_required():
    foreign = ThinkingBlock("Hm", "sig")
    conversation = (
        Message("assistant", (foreign, ToolUseBlock("c-1", "f", {}, "{}"))),
        Message("user", (ToolResultBlock("c-1", "x"),)),
        Message.assistant("Done."),
    )
    assistant, _, last = encode_messages(*conversation, wants_reasoning_content=True)
    assert assistant["reasoning_content"] == ""
    assert "reasoning_content" not in last
    assert "reasoning_content" not in encode_messages(*conversation)[0]


@pytest.mark.requirement("chat:reasoning-details")
def test_reasoning_details_go_back_merged_and_otherwise_unmodified():
    def detail(**more):
        return {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1", **more}

    encrypted = {"type": "reasoning.encrypted", "index": 1, "data": "zz", "id": "rs_1", "format": "x"}
    data = stream(
        chunk({"reasoning": "a", "reasoning_details": [detail(text="a")]}),
        chunk({"reasoning": "b", "reasoning_details": [detail(text="b"), detail(signature="sig")]}),
        chunk({"reasoning_details": [encrypted]}),
        calls(call(0, "c-1", "f", '{"a" :1}')),
        chunk({}, "tool_calls"),
    )
    assert send_back(data)["reasoning_details"] == [detail(text="ab", signature="sig"), encrypted]
    assert "reasoning" not in send_back(data)


@pytest.mark.requirement("chat:thought-signature")
def test_a_thought_signature_is_sent_back_on_its_own_call():
    extra = {"google": {"thought_signature": "sig=="}}
    data = stream(
        calls(call(0, "c-1", "f", "{}", extra_content=extra)),
        calls(call(0, "c-2", "f", "{}")),
        chunk({}, "stop"),
    )
    first, second = send_back(data)["tool_calls"]
    assert first["extra_content"] == extra
    assert "extra_content" not in second


@pytest.mark.requirement("chat:reasoning-opaque")
def test_encrypted_reasoning_goes_back_with_its_text():
    data = stream(
        chunk({"reasoning_text": "a"}), chunk({"reasoning_opaque": "zz"}), chunk({"content": "x"}, "stop")
    )
    assert send_back(data) == {
        "role": "assistant",
        "content": "x",
        "reasoning_text": "a",
        "reasoning_opaque": "zz",
    }


@pytest.mark.requirement("chat:thinking-parts-replay")
def test_thinking_from_a_content_part_is_replayed_as_a_part():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "x"},
    ]
    assert send_back(body({"content": parts}), "application/json")["content"] == parts
    streamed = stream(
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]}),
        chunk({"content": "x"}, "stop"),
    )
    assert send_back(streamed)["content"] == parts
    called = stream(chunk({"content": parts[:1]}), calls(call(0, "c-1", "f", '{"a" :1}')))
    assert send_back(called) == {"role": "assistant", "content": parts[:1], "tool_calls": [CALL]}


@pytest.mark.requirement("chat:think-tags")
def test_reasoning_between_tags_is_not_sent_back():
    assert send_back(stream(chunk({"content": "<think>a</think>b"}, "stop"))) == {
        "role": "assistant",
        "content": "b",
    }


@pytest.mark.requirement("chat:one-role-in-a-row")
@pytest.mark.parametrize(
    "silent",
    [
        (),
        (TextBlock(""),),
        (OtherBlock("search", "found"), RedactedThinkingBlock("zz")),
        (ThinkingBlock("Hm", opaque=json.dumps({"field": "reasoning_content"})),),
    ],
    ids=["nothing", "empty text", "blocks of others", "thinking alone"],
)
def test_user_messages_around_an_empty_assistant_message_are_merged(silent):
    assert encode_messages(Message.user("a"), Message("assistant", silent), Message.user("b")) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


@pytest.mark.requirement("chat:custom-calls")
def test_a_call_of_a_custom_tool_has_free_text_and_is_replayed_unchanged():
    custom = {"id": "c-1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    response = answer(body({"content": None, "tool_calls": [custom]}, "tool_calls"), "application/json")
    (call_block,) = response.tool_calls
    assert (call_block.name, call_block.raw, call_block.arguments) == ("sql", "SELECT 1", None)
    assert (response.stop_reason, list(response.warnings)) == ("tool_use", [])
    begun = {"index": 0, "id": "c-1", "type": "custom", "custom": {"name": "sql", "input": "SELE"}}
    streamed = stream(calls(begun), calls({"index": 0, "custom": {"input": "CT 1"}}, finish="tool_calls"))
    for data, form in ((body({"tool_calls": [custom]}), "application/json"), (streamed, "text/event-stream")):
        assert send_back(data, form)["tool_calls"] == [custom]
