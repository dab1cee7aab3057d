"""Requests in the Messages dialect."""

from dataclasses import replace

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
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.anthropic_messages import MessagesFacts, encode, encode_with_warnings

HERE = Origin("acme", "claude-sonnet-4-5")
ELSEWHERE = Origin("acme", "claude-opus-4-6")
FACTS = MessagesFacts(provider="acme")


def request(*messages, **more):
    defaults = {"messages": messages or (Message.user("Hi"),), "model": "claude-sonnet-4-5", "stream": False}
    return ChatRequest(**{**defaults, **more})


def body(*messages, **more):
    return encode(request(*messages, **more), FACTS)


def encode_messages(*messages):
    return body(*messages)["messages"]


def warning_codes(*messages, **more):
    return [each.code for each in encode_with_warnings(request(*messages, **more), FACTS)[1]]


def assistant(*blocks):
    return Message("assistant", blocks)


def user(*blocks):
    return Message("user", blocks)


def call(call_id="t", raw='{"a": 1}', arguments=None, **more):
    return ToolUseBlock(call_id, "f", arguments, raw, **more)


def text(value):
    return {"type": "text", "text": value}


@pytest.mark.requirement("messages:body")
def test_a_request_may_have_every_option():
    tools = (ToolDefinition("f", "Does.", {"type": "object", "properties": {"a": {}}}), ToolDefinition("g"))
    assert body(system="Be brief.", tools=tools, max_tokens=100, stop_sequences=["END"], stream=True) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "stream": True,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [text("Hi")]}],
        "tools": [
            {
                "name": "f",
                "description": "Does.",
                "input_schema": {"type": "object", "properties": {"a": {}}},
            },
            {"name": "g", "input_schema": {"type": "object", "properties": {}}},
        ],
        "stop_sequences": ["END"],
    }
    assert set(body(system=" \n")) == {"model", "max_tokens", "messages"}


@pytest.mark.requirement("messages:tool-choice")
@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        (NamedTool("f"), {"type": "tool", "name": "f"}),
    ],
)
def test_the_tool_choice_is_encoded(choice, wire):
    assert body(tools=(ToolDefinition("f"),), tool_choice=choice).get("tool_choice") == wire
    assert "tool_choice" not in body(tool_choice=choice)


@pytest.mark.requirement("messages:parameters", "messages:cache-breakpoints")
def test_settings_and_configured_parameters_override_the_body():
    cache = {"type": "ephemeral"}
    parameters = {"cache_control": cache, "output_config": {"effort": "max"}}
    facts = replace(FACTS, parameters=parameters)
    asked = request(
        settings={"top_k": 5},
        output_mode=JsonSchemaOutput({"type": "object"}),
    )
    got = encode(asked, facts)
    assert got["top_k"] == 5
    assert set(got["output_config"]) == {"effort", "format"}
    assert got["cache_control"] == cache
    assert "cache_control" not in str(encode(asked, FACTS))


@pytest.mark.requirement("messages:images")
@pytest.mark.parametrize(
    ("source", "media_type", "wire"),
    [
        ("aGk=", "image/jpeg", {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}),
        ("aGk=", None, {"type": "base64", "media_type": "image/png", "data": "aGk="}),
        ("data:image/gif;base64,aGk=", None, {"type": "base64", "media_type": "image/gif", "data": "aGk="}),
        ("data:image/x,h%69", None, {"type": "base64", "media_type": "image/x", "data": "aGk="}),
        ("https://a.example/i.png", None, {"type": "url", "url": "https://a.example/i.png"}),
    ],
)
def test_images_are_encoded(source, media_type, wire):
    assert encode_messages(user(ImageBlock(source, media_type)))[0]["content"] == [
        {"type": "image", "source": wire}
    ]


@pytest.mark.requirement("messages:results-first", "messages:merging")
def test_tool_results_come_first_and_messages_of_one_role_become_one():
    got = encode_messages(
        Message.user("a"),
        Message.user("b"),
        assistant(TextBlock("c"), call("t1"), call("t2")),
        user(TextBlock("by the way"), ToolResultBlock("t1", "one")),
        user(ToolResultBlock("t2", "", is_error=True), ToolResultBlock("t3", " ")),
    )
    assert got[0] == {"role": "user", "content": [text("a"), text("b")]}
    assert [part["type"] for part in got[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert got[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "Error", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t3"},
        text("by the way"),
    ]


@pytest.mark.requirement("messages:no-empty-text")
def test_empty_text_is_never_sent():
    got = encode_messages(
        Message.user("a"), assistant(TextBlock(""), TextBlock(" \n")), user(TextBlock("\t"), TextBlock("b"))
    )
    assert got == [{"role": "user", "content": [text("a"), text("b")]}]


@pytest.mark.requirement("messages:context-blocks")
def test_context_becomes_fenced_text():
    (part,) = encode_messages(user(ContextBlock("x = 1", label="a.py", language_id="python")))[0]["content"]
    assert part["type"] == "text"
    assert "```python\nx = 1\n```" in part["text"]


@pytest.mark.requirement("messages:prefill")
def test_a_trailing_assistant_message_does_not_end_in_white_space():
    got = encode_messages(Message.user("a"), Message.assistant("Once upon a "))
    assert got[-1] == {"role": "assistant", "content": [text("Once upon a")]}
    assert encode_messages(Message.assistant("kept "), Message.user("a"))[0]["content"] == [text("kept ")]


@pytest.mark.requirement("messages:no-prefill")
@pytest.mark.parametrize(
    ("model", "asks"),
    [("claude-sonnet-4-5", False), ("claude-opus-4-6", True), ("claude-sonnet-5", True), ("other", False)],
)
def test_a_model_without_prefill_gets_a_user_message_to_continue(model, asks):
    half = (Message.user("a"), Message.assistant("Once upon a "))
    assert len(body(*half, model=model)["messages"]) == 2 + asks
    assert warning_codes(*half, model=model) == (["prefill_replaced"] if asks else [])
    if asks:
        *_, kept, last = body(*half, model=model)["messages"]
        assert (kept["content"], last["role"]) == ([text("Once upon a ")], "user")


@pytest.mark.requirement("messages:no-prefill")
def test_a_paused_turn_goes_back_unchanged():
    origin = Origin("acme", "claude-opus-4-6")
    search = OtherBlock("server_tool_use", opaque='{"type":"server_tool_use","id":"s"}', origin=origin)
    paused = (Message.user("a"), assistant(TextBlock("I search."), search))
    assert len(body(*paused, model="claude-opus-4-6")["messages"]) == 2
    assert warning_codes(*paused, model="claude-opus-4-6") == []


@pytest.mark.requirement("messages:final-thinking")
def test_thinking_without_content_after_it_is_left_out():
    cut_off = (
        ThinkingBlock("x", "s", origin=HERE),
        TextBlock("So"),
        ThinkingBlock("y", "t", origin=HERE),
        RedactedThinkingBlock("d", origin=HERE),
    )
    kinds = [
        part["type"]
        for part in encode_messages(Message.user("a"), assistant(*cut_off), Message.user("b"))[1]["content"]
    ]
    assert kinds == ["thinking", "text"]
    assert warning_codes(Message.user("a"), assistant(*cut_off), Message.user("b")) == ["unfinished_dropped"]


SCHEMA = {
    "type": "object",
    "properties": {"list": {"type": "array", "items": {"type": "object"}}, "open": {"type": "object"}},
}


@pytest.mark.requirement("messages:json-schema")
def test_additional_properties_are_forbidden_in_a_schema():
    mode = JsonSchemaOutput(SCHEMA)
    got, warnings = encode_with_warnings(request(output_mode=mode), FACTS)
    form = got["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["properties"]["list"]["items"]["additionalProperties"] is False
    assert warnings == []
    assert "additionalProperties" not in SCHEMA


@pytest.mark.requirement("messages:json-schema", "messages:json-mode")
@pytest.mark.parametrize(
    ("model", "mode"),
    [
        ("claude-3-5-sonnet-20241022", JsonSchemaOutput(SCHEMA)),
        ("kimi-k2", JsonSchemaOutput(SCHEMA)),
        ("claude-opus-5", "json"),
    ],
)
def test_the_system_prompt_asks_for_json_if_the_model_lacks_the_output_mode(model, mode):
    got, warnings = encode_with_warnings(request(model=model, output_mode=mode, system="Hi."), FACTS)
    assert got["system"].startswith("Hi.\n\nAnswer with one JSON value")
    assert ('"properties"' in got["system"]) == (mode != "json")
    assert "output_config" not in got
    assert [each.code for each in warnings] == ["json_mode_emulated"]


@pytest.mark.requirement("messages:stop-sequences")
def test_a_stop_sequence_of_white_space_is_dropped_with_a_warning():
    assert body(stop_sequences=["\n\n", "END"])["stop_sequences"] == ["END"]
    assert "stop_sequences" not in body(stop_sequences=["\n"])
    assert warning_codes(stop_sequences=["\n"]) == ["parameter_dropped"]


@pytest.mark.requirement("messages:replay-in-place", "messages:replay-empty-thinking")
def test_thinking_goes_back_byte_for_byte_in_place():
    blocks = (
        ThinkingBlock(" Let me \n", "EqQB+/=", origin=HERE),
        RedactedThinkingBlock("cipher", origin=HERE),
        TextBlock("So:", origin=HERE),
        ThinkingBlock("", "c2ln", origin=HERE),
        ThinkingBlock("unsigned", origin=HERE),
        call(origin=HERE),
    )
    got = encode_messages(Message.user("a"), assistant(*blocks), user(ToolResultBlock("t", "ok")))
    assert got[1]["content"] == [
        {"type": "thinking", "thinking": " Let me \n", "signature": "EqQB+/="},
        {"type": "redacted_thinking", "data": "cipher"},
        text("So:"),
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "thinking", "thinking": "unsigned", "signature": ""},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]


def test_thinking_that_lost_its_origin_goes_back_only_with_a_signature():
    got = encode_messages(
        assistant(ThinkingBlock("a", "s"), ThinkingBlock("b"), TextBlock("c")), Message.user("d")
    )
    assert got[0]["content"] == [{"type": "thinking", "thinking": "a", "signature": "s"}, text("c")]


@pytest.mark.requirement("messages:replay-foreign")
def test_thinking_of_another_model_is_left_out_with_a_warning():
    messages = (
        Message.user("a"),
        assistant(
            ThinkingBlock("secret", "s", origin=ELSEWHERE),
            RedactedThinkingBlock("d", origin=ELSEWHERE),
            OtherBlock("server_tool_use", opaque='{"type": "server_tool_use"}', origin=ELSEWHERE),
            TextBlock("b", origin=ELSEWHERE, opaque='{"citations": []}'),
            call(origin=ELSEWHERE, opaque='{"caller": {}}'),
        ),
        user(ToolResultBlock("t", "ok")),
    )
    got = encode_messages(*messages)
    assert got[1]["content"] == [
        text("b"),
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    assert "secret" not in str(got)
    assert warning_codes(*messages) == ["foreign_data_dropped"]


@pytest.mark.requirement("messages:replay-merged")
def test_two_turns_that_become_one_lose_their_thinking():
    first = assistant(ThinkingBlock("x", "s", origin=HERE), TextBlock("a"))
    second = assistant(RedactedThinkingBlock("d", origin=HERE), TextBlock("b"))
    messages = (Message.user("q"), first, second, Message.user("r"))
    assert encode_messages(*messages)[1]["content"] == [text("a"), text("b")]
    assert warning_codes(*messages) == ["foreign_data_dropped"]
    nothing = assistant(TextBlock(" "))
    assert len(encode_messages(Message.user("q"), first, nothing, Message.user("r"))[1]["content"]) == 2
    bare = assistant(ThinkingBlock("x", "s", origin=HERE))
    assert encode_messages(Message.user("q"), bare, bare, Message.user("r")) == [
        {"role": "user", "content": [text("q"), text("r")]}
    ]


@pytest.mark.requirement("messages:replay-raw")
@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (call(raw='{"b": 1, "a": 1.50}', arguments={"a": 2}), {"b": 1, "a": 1.5}),
        (call(raw="", arguments={}), {}),
        (call(raw="", arguments={"a": 1}), {"a": 1}),
        (call(raw='{"a": [1, 2'), {"INVALID_JSON": '{"a": [1, 2'}),
        (call(raw="[1]"), {"INVALID_JSON": "[1]"}),
        (call(raw=""), {}),
    ],
)
def test_a_calls_input_goes_back_from_its_raw_text(block, wire):
    got = encode_messages(assistant(block), user(ToolResultBlock("t", "ok")))
    assert got[0]["content"][0]["input"] == wire


@pytest.mark.requirement("messages:replay-other", "messages:replay-citations")
def test_a_block_of_an_unknown_type_is_replayed_unchanged():
    server = '{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"é"}}'
    got = encode_messages(
        assistant(
            OtherBlock("server_tool_use", opaque=server, origin=HERE),
            OtherBlock("mystery", "text only", origin=HERE),
            OtherBlock("mystery", opaque="not json", origin=HERE),
            TextBlock("b", origin=HERE, opaque='{"citations":[{"url":"u"}]}'),
            call(origin=HERE, opaque='{"caller":{"type":"direct"}}'),
        ),
        user(ToolResultBlock("t", "ok")),
    )
    assert got[0]["content"] == [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "é"}},
        {"type": "text", "text": "b", "citations": [{"url": "u"}]},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
    ]


@pytest.mark.requirement("messages:tool-ids")
def test_ids_of_other_providers_are_rewritten_in_call_and_result():
    got = encode_messages(assistant(call("call:1.x|é")), user(ToolResultBlock("call:1.x|é", "ok")))
    assert got[0]["content"][0]["id"] == got[1]["content"][0]["tool_use_id"] == "call_1_x__"


SEARCH = OtherBlock(
    "server_tool_use", opaque='{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}'
)
FOUND = OtherBlock(
    "web_search_tool_result", opaque='{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}'
)


@pytest.mark.requirement("messages:replay-cut-off")
def test_a_server_tool_call_that_was_cut_off_is_left_out():
    thought = ThinkingBlock("x", "s", origin=HERE)
    cut = assistant(thought, TextBlock("a"), SEARCH)
    messages = (Message.user("q"), cut, Message.user("r"))
    assert encode_messages(*messages)[1]["content"] == [text("a")]
    assert warning_codes(*messages) == ["unfinished_dropped"]
    assert [
        each["role"] for each in encode_messages(Message.user("q"), assistant(SEARCH), Message.user("r"))
    ] == [
        "user",
        "user",
    ]


@pytest.mark.requirement("messages:replay-cut-off")
@pytest.mark.parametrize(
    "messages",
    [
        (Message.user("q"), assistant(SEARCH)),
        (Message.user("q"), assistant(SEARCH, FOUND), Message.user("r")),
        (Message.user("q"), assistant(SEARCH, call()), user(ToolResultBlock("t", "ok")), assistant(FOUND)),
    ],
    ids=["paused turn", "with its result", "call of our tool inside it"],
)
def test_a_server_tool_call_with_an_actual_or_possible_result_is_kept(messages):
    assert encode_messages(*messages)[1]["content"][0]["type"] == "server_tool_use"
    assert warning_codes(*messages) == []
