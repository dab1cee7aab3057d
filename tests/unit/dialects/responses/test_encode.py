"""Requests in the Responses dialect, except for the replay of answers."""

import pytest

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    NamedTool,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.responses import ResponsesFacts, encode, find_known_refusals, find_unsupported

ENCRYPTED_REASONING = "reasoning.encrypted_content"


def body_of(*messages, model="m", facts=None, **fields):
    request = ChatRequest(messages=messages or (Message.user("Hi"),), model=model, **fields)
    return encode(request, ResponsesFacts(provider="acme", **(facts or {})))


def items_of(*messages):
    return body_of(*messages)["input"]


@pytest.mark.requirement("responses:instructions", "responses:stateless", "responses:max-output-tokens")
def test_a_minimal_request_has_only_required_members():
    assert body_of(system="Be brief", stream=False, max_tokens=50) == {
        "model": "m",
        "instructions": "Be brief",
        "input": [{"role": "user", "content": "Hi"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 50,
    }


@pytest.mark.requirement("responses:stateless")
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "chatgpt-4o", "gpt-5-chat"])
def test_encrypted_reasoning_is_not_requested_from_models_without_it(model):
    assert "include" not in body_of(model=model)


@pytest.mark.requirement("responses:obfuscation-off")
def test_padding_is_turned_off_only_if_the_endpoint_supports_it():
    assert "stream_options" not in body_of()
    assert "stream_options" not in body_of(facts={"obfuscates": True}, stream=False)
    assert body_of(facts={"obfuscates": True})["stream_options"] == {"include_obfuscation": False}


@pytest.mark.requirement(
    "responses:reasoning", "responses:text-format", "responses:parameters", "responses:cache-key"
)
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"thinking": "high"}, {"reasoning": {"effort": "high", "summary": "auto"}}),
        ({"thinking": "off"}, {"reasoning": {"effort": "none"}}),
        ({"output_mode": "json"}, {"text": {"format": {"type": "json_object"}}}),
        (
            {"output_mode": JsonSchemaOutput({"type": "object"})},
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "output",
                        "schema": {"type": "object"},
                        "strict": False,
                    }
                }
            },
        ),
        (
            {"output_mode": "json", "facts": {"parameters": {"text": {"verbosity": "low"}}}},
            {"text": {"format": {"type": "json_object"}, "verbosity": "low"}},
        ),
        ({"settings": {"temperature": 0}, "facts": {"parameters": {"temperature": 1}}}, {"temperature": 0}),
        (
            {
                "model": "gpt-5",
                "facts": {"parameters": {"include": ["web_search_call.results", ENCRYPTED_REASONING]}},
            },
            {"model": "gpt-5", "include": [ENCRYPTED_REASONING, "web_search_call.results"]},
        ),
        ({"conversation_id": "c-1"}, {"prompt_cache_key": "c-1"}),
        ({"stop_sequences": ("a",)}, {}),
    ],
)
def test_each_option_becomes_a_parameter(fields, expected):
    assert body_of(**fields) == body_of() | expected


@pytest.mark.requirement("responses:no-stop")
def test_stop_sequences_are_reported_as_unsupported():
    request = ChatRequest(messages=(Message.user("Hi"),), model="m", stop_sequences=("a",))
    assert list(find_unsupported(request)) == ["stop"]


@pytest.mark.requirement("responses:sampling")
@pytest.mark.parametrize(
    ("model", "body", "refused"),
    [
        ("o3", {"temperature": 1, "top_p": 1}, {"temperature", "top_p"}),
        ("gpt-5", {"temperature": 1, "reasoning": {"effort": "none"}}, {"temperature", "reasoning"}),
        ("gpt-5.1", {"temperature": 1}, set()),
        ("gpt-5.1", {"temperature": 1, "reasoning": {"effort": "low"}}, {"temperature"}),
        ("gpt-5.6", {"temperature": 1, "reasoning": {"effort": "none"}}, set()),
        ("gpt-5.6", {"reasoning": {"effort": "minimal"}}, {"reasoning.effort"}),
        ("gpt-4o", {"temperature": 1, "reasoning": {"effort": "low"}}, {"reasoning"}),
        ("some-model", {"temperature": 1, "reasoning": {"effort": "low"}}, set()),
    ],
)
def test_refused_parameters_follow_from_the_name_of_the_model(model, body, refused):
    assert find_known_refusals(model, body).keys() == refused


@pytest.mark.requirement("responses:tools", "responses:tool-choice")
def test_tools_and_tool_choice_are_encoded():
    tools = (ToolDefinition("f", "Does f", {"type": "object"}), ToolDefinition("g"))
    empty = {"type": "object", "properties": {}}
    body = body_of(tools=tools)
    assert body["tools"] == [
        {
            "type": "function",
            "name": "f",
            "description": "Does f",
            "parameters": {"type": "object"},
            "strict": False,
        },
        {"type": "function", "name": "g", "parameters": empty, "strict": False},
    ]
    assert "tool_choice" not in body
    for choice in ("none", "required"):
        assert body_of(tools=tools, tool_choice=choice)["tool_choice"] == choice
    named = body_of(tools=tools, tool_choice=NamedTool("g"))["tool_choice"]
    assert named == {"type": "function", "name": "g"}
    assert "tool_choice" not in body_of(tool_choice="none")


@pytest.mark.requirement("responses:input-items")
def test_consecutive_messages_of_one_role_are_merged():
    assert items_of(Message.user("a"), Message.user("b"), Message.assistant("c"), Message.user("d")) == [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        },
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "c", "annotations": []}],
        },
        {"role": "user", "content": "d"},
    ]


@pytest.mark.requirement("responses:images", "responses:context-blocks")
def test_images_and_context_are_parts():
    url, data = "https://x/y.png", "data:image/gif;base64,AA"
    blocks = (TextBlock("See"), ContextBlock("x = 1", label="a.py"), ImageBlock(url), ImageBlock(data))
    (item,) = items_of(Message("user", (*blocks, ImageBlock("AA", "image/webp"))))
    kinds = [part["type"] for part in item["content"]]
    assert kinds == ["input_text", "input_text", "input_image", "input_image", "input_image"]
    assert "```" in item["content"][1]["text"]
    urls = [part["image_url"] for part in item["content"][2:]]
    assert urls == [url, data, "data:image/webp;base64,AA"]
    assert {part["detail"] for part in item["content"][2:]} == {"auto"}


@pytest.mark.requirement("responses:input-items", "responses:calls")
def test_a_tool_round_has_the_order_that_the_dialect_requires():
    calls = (
        TextBlock("Look."),
        ToolUseBlock("c-1", "f", {"a": 1}, '{"a":  1}'),
        ToolUseBlock("c-2", "g", {}, ""),
    )
    results = (
        TextBlock("Here."),
        ToolResultBlock("c-1", "one"),
        ToolResultBlock("c-2", "broke", is_error=True),
    )
    items = items_of(Message("assistant", calls), Message("user", results))
    assert items[1:] == [
        {"type": "function_call", "call_id": "c-1", "name": "f", "arguments": '{"a":  1}'},
        {"type": "function_call", "call_id": "c-2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c-1", "output": "one"},
        {"type": "function_call_output", "call_id": "c-2", "output": "Error: broke"},
        {"role": "user", "content": "Here."},
    ]


@pytest.mark.requirement("responses:call-ids")
def test_an_id_that_is_too_long_is_mapped_for_call_and_result_alike():
    long = "toolu_" + "x" * 100
    items = items_of(
        Message("assistant", (ToolUseBlock(long, "f", {}, "{}"),)),
        Message("user", (ToolResultBlock(long, "one"),)),
    )
    assert items[0]["call_id"] == items[1]["call_id"] != long
    assert len(items[0]["call_id"]) <= 64
