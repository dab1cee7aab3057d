"""Requests in Ollama's dialect."""

import json

import pytest

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.ollama_chat import ServerFacts, encode, find_losses

HERE = Origin("acme", "qwen3:4b")
WEATHER = ToolDefinition("weather", "Tells the weather.", {"type": "object"})
TIME = ToolDefinition("time")


def request_for(*messages, **more):
    return ChatRequest(messages=messages or (Message.user("Hi"),), model="qwen3:4b", **more)


def encode_as_json(request, **facts):
    """Return the body, after checking that JSON can represent it."""
    body = encode(request, ServerFacts(provider="acme", **facts))
    json.dumps(body)
    return body


def warning_codes(request, **facts):
    return [warning.code for warning in find_losses(request, ServerFacts(provider="acme", **facts))]


def user(*blocks):
    return Message("user", blocks)


def assistant(*blocks):
    return Message("assistant", blocks)


@pytest.mark.requirement("ollama:system-message", "ollama:truncate", "ollama:keep-alive")
def test_a_minimal_request_has_only_required_members():
    assert encode_as_json(request_for(system="Be brief."), num_ctx=40_960) == {
        "model": "qwen3:4b",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_predict": 8192, "num_ctx": 40_960},
    }


@pytest.mark.requirement("ollama:stream-always")
def test_an_unstreamed_answer_is_requested_explicitly():
    assert encode_as_json(request_for(stream=False))["stream"] is False


@pytest.mark.requirement("ollama:images-raw-base64")
def test_images_are_bare_base64_next_to_the_text():
    images = (ImageBlock("QUJD", "image/png"), ImageBlock("data:image/jpeg;base64,REVG"))
    (message,) = encode_as_json(request_for(user(TextBlock("Look"), *images)))["messages"]
    assert message == {"role": "user", "content": "Look", "images": ["QUJD", "REVG"]}


@pytest.mark.requirement("ollama:images-raw-base64")
@pytest.mark.parametrize("source", ["https://example.com/x.png", "data:image/svg+xml,%3Csvg%3E"])
def test_an_image_that_is_not_base64_is_refused(source):
    with pytest.raises(RequestError, match=r"acme (accepts images in base64|does not accept)"):
        encode_as_json(request_for(user(ImageBlock(source))))


def test_context_is_text_and_messages_of_one_role_are_merged():
    context = ContextBlock("x = 1", uri="file:///a.py", language_id="python")
    body = encode_as_json(request_for(user(context), user(TextBlock("Explain.")), Message.user("Please.")))
    (message,) = body["messages"]
    assert message["content"] == "`/a.py`:\n```python\nx = 1\n```\n\nExplain.\n\nPlease."


@pytest.mark.requirement("ollama:replay-in-tool-loop", "ollama:tool-result", "ollama:arguments-object")
def test_a_tool_loop_is_replayed_completely():
    body = encode_as_json(
        request_for(
            Message.user("Weather?"),
            assistant(
                ThinkingBlock("Hm.", origin=HERE),
                TextBlock("I will look."),
                ToolUseBlock("c1", "weather", {"city": "Rome"}, '{"city":"Rome"}', origin=HERE),
                ToolUseBlock("c2", "time", {}, "", origin=HERE),
            ),
            user(
                TextBlock("Thanks."), ToolResultBlock("c1", "Sunny"), ToolResultBlock("c2", "no clock", True)
            ),
        )
    )
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "I will look.",
            "thinking": "Hm.",
            "tool_calls": [
                {"id": "c1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Rome"}}},
                {"id": "c2", "function": {"index": 1, "name": "time", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "Sunny", "tool_call_id": "c1", "tool_name": "weather"},
        {"role": "tool", "content": "Error: no clock", "tool_call_id": "c2", "tool_name": "time"},
        {"role": "user", "content": "Thanks."},
    ]


def test_blocks_of_other_models_and_unsupported_blocks_are_left_out():
    foreign = ThinkingBlock("Secret.", origin=Origin("acme", "other"))
    blocks = (foreign, RedactedThinkingBlock("x", origin=HERE), OtherBlock("search"))
    body = encode_as_json(
        request_for(assistant(*blocks, TextBlock("Hi")), assistant(*blocks), Message.user("Go on"))
    )
    assert body["messages"][0] == {"role": "assistant", "content": "Hi"}
    only = encode_as_json(request_for(assistant(*blocks), Message.user("Go on")))
    assert [message["role"] for message in only["messages"]] == ["user"]


@pytest.mark.requirement("ollama:arguments-object")
def test_arguments_that_could_not_be_read_are_left_out_with_a_warning():
    broken = ToolUseBlock("c1", "weather", None, '{"city', error="cut")
    request = request_for(assistant(broken), user(ToolResultBlock("c1", "?")))
    assert encode_as_json(request)["messages"][0]["tool_calls"][0]["function"]["arguments"] == {}
    assert warning_codes(request) == ["tool_arguments_dropped"]


@pytest.mark.requirement("ollama:tools")
def test_tools_are_functions():
    tools = encode_as_json(request_for(tools=(WEATHER, TIME)))["tools"]
    assert tools[0] == {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object"},
        },
    }
    assert tools[1]["function"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.requirement("ollama:no-tool-choice")
@pytest.mark.parametrize(
    ("choice", "offered", "warned"),
    [
        ("auto", ["weather", "time"], []),
        ("none", [], []),
        ("required", ["weather", "time"], ["tool_choice_dropped"]),
        (NamedTool("time"), ["time"], ["tool_choice_dropped"]),
    ],
)
def test_a_tool_choice_limits_the_offered_tools(choice, offered, warned):
    request = request_for(tools=(WEATHER, TIME), tool_choice=choice)
    body = encode_as_json(request)
    assert "tool_choice" not in body
    assert [tool["function"]["name"] for tool in body.get("tools", [])] == offered
    assert warning_codes(request) == warned


@pytest.mark.requirement("ollama:think-switch")
@pytest.mark.parametrize(("level", "think"), [("off", False), ("low", True), ("high", True), (None, None)])
def test_thinking_is_a_switch(level, think):
    request = request_for(thinking=level)
    assert encode_as_json(request).get("think") == think
    assert "think" not in encode_as_json(request, dropped={"think"})
    assert warning_codes(request) == []


@pytest.mark.requirement("ollama:think-levels")
@pytest.mark.parametrize(("level", "think"), [("off", "low"), ("medium", "medium"), (None, None)])
def test_gpt_oss_has_thinking_levels_and_cannot_turn_thinking_off(level, think):
    request = request_for(thinking=level)
    assert encode_as_json(request, thinks_in_levels=True).get("think") == think
    assert warning_codes(request, thinks_in_levels=True) == (["thinking_adjusted"] if level == "off" else [])


@pytest.mark.requirement("ollama:format")
def test_json_mode_and_a_schema_are_sent_as_the_format():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert encode_as_json(request_for(output_mode="json"))["format"] == "json"
    assert encode_as_json(request_for(output_mode=JsonSchemaOutput(schema)))["format"] == schema
    assert "format" not in encode_as_json(request_for())


@pytest.mark.requirement("ollama:options", "ollama:keep-alive")
def test_parameters_are_sent_where_the_server_reads_them():
    parameters = {"keep_alive": -1, "options": {"num_gpu": 1}, "mirostat": 2, "truncate": True}
    request = request_for(
        max_tokens=512, stop_sequences=("END",), settings={"temperature": 0.2, "top_k": 40, "seed": 1}
    )
    body = encode_as_json(request, parameters=parameters, num_ctx=4096)
    assert body["options"] == {
        "num_predict": 512,
        "num_ctx": 4096,
        "stop": ["END"],
        "num_gpu": 1,
        "mirostat": 2,
        "temperature": 0.2,
        "top_k": 40,
        "seed": 1,
    }
    assert (body["keep_alive"], body["truncate"]) == (-1, True)


@pytest.mark.requirement("ollama:num-ctx-override")
def test_the_context_size_of_a_chat_precedes_configured_and_derived_ones():
    for parameters in ({"num_ctx": 8192}, {"options": {"num_ctx": 8192}}):
        assert encode_as_json(request_for(), parameters=parameters, num_ctx=1)["options"]["num_ctx"] == 8192
    asked = request_for(settings={"num_ctx": 100})
    assert encode_as_json(asked, parameters={"num_ctx": 8192}, num_ctx=1)["options"]["num_ctx"] == 100
