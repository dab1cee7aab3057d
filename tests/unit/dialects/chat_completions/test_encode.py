"""Requests in the chat-completions dialect."""

import json

import pytest

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    Fold,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder, EndpointFacts, encode

HERE = Origin("acme", "m")


def body_of(messages=None, facts=None, **fields):
    request = ChatRequest(messages=messages or (Message.user("Hi"),), model="m", **fields)
    return encode(request, EndpointFacts(provider="acme", **(facts or {})))


def messages_of(*messages, **fields):
    return body_of(messages, **fields)["messages"]


@pytest.mark.requirement("chat:include-usage")
def test_a_minimal_request_has_only_required_members():
    assert body_of(stream=False, max_tokens=5) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 5,
    }


@pytest.mark.requirement("chat:roles", "chat:include-usage")
def test_facts_of_the_endpoint_change_the_request():
    facts = {"max_tokens_field": "max_completion_tokens", "system_role": "developer", "include_usage": False}
    body = body_of(facts=facts, system="Be brief")
    assert body["messages"][0] == {"role": "developer", "content": "Be brief"}
    assert body["max_completion_tokens"] == 8192
    assert "max_tokens" not in body
    assert "stream_options" not in body


@pytest.mark.requirement("chat:response-format", "chat:reasoning-effort", "chat:further-parameters")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"stop_sequences": ("a",)}, {"stop": ["a"]}),
        ({"thinking": "high"}, {"reasoning_effort": "high"}),
        ({"thinking": "off"}, {"reasoning_effort": "none"}),
        ({"output_mode": "json"}, {"response_format": {"type": "json_object"}}),
        (
            {"output_mode": JsonSchemaOutput({"type": "object"})},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "output", "schema": {"type": "object"}},
                }
            },
        ),
        ({"settings": {"temperature": 0}}, {"temperature": 0}),
        ({"facts": {"parameters": {"seed": 1}}}, {"seed": 1}),
        ({"facts": {"dropped": ("max_tokens", "model")}, "settings": {"x": 1}}, {"x": 1}),
    ],
)
def test_each_option_becomes_a_parameter(fields, expected):
    plain = body_of()
    body = body_of(**fields)
    if "dropped" in fields.get("facts", {}):
        del plain["max_tokens"]
    assert body == plain | expected


@pytest.mark.requirement("chat:tools", "chat:tool-choice")
def test_tools_and_tool_choice_are_encoded():
    tools = (ToolDefinition("f", "Does f", {"type": "object"}), ToolDefinition("g"))
    body = body_of(tools=tools)
    assert body["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "Does f", "parameters": {"type": "object"}},
        },
        {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}},
    ]
    assert "tool_choice" not in body
    assert body_of(tools=tools, tool_choice="required")["tool_choice"] == "required"
    named = {"type": "function", "function": {"name": "g"}}
    assert body_of(tools=tools, tool_choice=NamedTool("g"))["tool_choice"] == named
    assert "tool_choice" not in body_of(tool_choice="none")


@pytest.mark.requirement("chat:one-role-in-a-row")
def test_consecutive_messages_of_one_role_are_merged():
    assert messages_of(
        Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d")
    ) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c\n\nd"},
    ]


@pytest.mark.requirement("chat:tool-message")
def test_a_tool_round_has_the_order_that_the_dialect_requires():
    calls = (
        TextBlock("Look."),
        ToolUseBlock("c-1", "f", {"a": 1}, '{"a":  1}'),
        ToolUseBlock("c-2", "g", None, '{"a": [', "broken"),
        ToolUseBlock("c-3", "h", {}, "null"),
    )
    results = (
        TextBlock("Here you are."),
        ToolResultBlock("c-1", "one"),
        ToolResultBlock("c-2", "no such file", is_error=True),
        ToolResultBlock("c-3", ""),
    )
    assistant, *rest = messages_of(Message.user("Go"), Message("assistant", calls), Message("user", results))[
        1:
    ]
    assert assistant["content"] == "Look."
    assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == [
        '{"a":  1}',
        '{"a": [',
        "{}",
    ]
    assert rest == [
        {"role": "tool", "tool_call_id": "c-1", "content": "one"},
        {"role": "tool", "tool_call_id": "c-2", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "c-3", "content": ""},
        {"role": "user", "content": "Here you are."},
    ]


@pytest.mark.requirement("chat:assistant-content")
def test_content_is_null_only_with_calls():
    call = ToolUseBlock("c-1", "f", {}, "{}")
    (only,) = messages_of(Message("assistant", (call,)))
    assert only["content"] is None
    assert messages_of(Message("assistant", (OtherBlock("x"), RedactedThinkingBlock("y")))) == []


@pytest.mark.requirement("chat:user-content")
@pytest.mark.parametrize(
    ("image", "url"),
    [
        (ImageBlock("aGk="), "data:image/png;base64,aGk="),
        (ImageBlock("aGk=", "image/jpeg"), "data:image/jpeg;base64,aGk="),
        (ImageBlock("data:image/gif;base64,aGk="), "data:image/gif;base64,aGk="),
        (ImageBlock("https://x/y.png"), "https://x/y.png"),
    ],
)
def test_an_image_is_a_part_with_a_url(image, url):
    (message,) = messages_of(Message("user", (TextBlock("See"), image)))
    assert message["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


@pytest.mark.requirement("chat:user-content")
def test_a_context_block_is_text():
    (message,) = messages_of(Message("user", (TextBlock("Why?"), ContextBlock("x = 1", label="a.py"))))
    context = "`a.py`:\n```\nx = 1\n```"
    assert message["content"] == [{"type": "text", "text": "Why?"}, {"type": "text", "text": context}]


@pytest.mark.requirement("chat:reasoning-content-replay")
def test_reasoning_goes_back_to_its_origin_only():
    def encode_block(opaque, origin=HERE):
        thinking = ThinkingBlock("Hm", origin=origin, opaque=json.dumps(opaque) if opaque else None)
        (message,) = messages_of(Message("assistant", (thinking, TextBlock("x", origin=origin))))
        return {key: value for key, value in message.items() if key not in ("role", "content")}

    details = [{"type": "reasoning.text", "text": "Hm", "signature": "s", "index": 0}]
    assert encode_block({"field": "reasoning_content"}) == {"reasoning_content": "Hm"}
    assert encode_block({"field": "reasoning", "reasoning_details": details}) == {
        "reasoning_details": details
    }
    assert encode_block({"field": "reasoning_text", "reasoning_opaque": "z"}) == {
        "reasoning_text": "Hm",
        "reasoning_opaque": "z",
    }
    assert encode_block(None) == {}
    assert encode_block({"field": "content"}) == {}
    assert encode_block([1]) == {}
    assert encode_block({"field": "reasoning_content"}, Origin("acme", "other")) == {}
    assert encode_block({"field": "reasoning_content"}, Origin("other", "m")) == {}


@pytest.mark.requirement("chat:thought-signature")
def test_a_thought_signature_goes_back_with_its_call_and_only_to_its_origin():
    def encode_block(origin):
        call = ToolUseBlock(
            "c-1", "f", {}, "{}", origin=origin, opaque='{"extra_content":{"google":{"s":1}}}'
        )
        return messages_of(Message("assistant", (call,)))[0]["tool_calls"][0]

    assert encode_block(HERE)["extra_content"] == {"google": {"s": 1}}
    assert "extra_content" not in encode_block(Origin("acme", "other"))


def test_decoded_blocks_are_sent_back_unchanged():
    delta = {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "Hm",
        "tool_calls": [{"id": "c-1", "type": "function", "function": {"name": "f", "arguments": '{"a" :1}'}}],
    }
    body = json.dumps(
        {"id": "r", "model": "m-2026", "choices": [{"message": delta, "finish_reason": "tool_calls"}]}
    )
    fold = Fold("acme", "m")
    for event in ChatCompletionsDecoder("acme", "m").feed_body(body.encode()):
        fold.add(event)
    assert messages_of(fold.response().as_message()) == [delta]
