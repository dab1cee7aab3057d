"""Blocks that cross the wire and come back are unchanged, byte for byte where a provider needs it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumpseat.chat import (
    BLOCK_CLASSES,
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    JsonSchemaOutput,
    NamedTool,
    Origin,
    OtherBlock,
    Position,
    Range,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.engine import TurnRequest
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.params import ChatStartParams
from jumpseat.wire import write_json

OPAQUE = 'é \U0001f600 "quoted" \\ back\nline\u2028 {"a":1.0,"a":2} \x7f'
ORIGIN = Origin("p", "m")
EVERY: list[ContentBlock] = [
    TextBlock("Hi", origin=ORIGIN, opaque=OPAQUE),
    TextBlock(""),
    ImageBlock("data:image/png;base64,AAAA"),
    ImageBlock("AAAA", "image/png", origin=ORIGIN, opaque=OPAQUE),
    DocumentBlock("AAAA", "application/pdf", "a.pdf", origin=ORIGIN, opaque=OPAQUE),
    DocumentBlock("https://example.com/a.pdf"),
    ContextBlock("x = 1"),
    ContextBlock("x", "file:///a.py", "python", Range(Position(0, 1), Position(2, 3)), "a", opaque=OPAQUE),
    ToolUseBlock(
        "c", "grep", {"q": [1, {"a": None}]}, '{ "q": [1, {"a":null}] }', origin=ORIGIN, opaque=OPAQUE
    ),
    ToolUseBlock("c", "grep", None, '{"q":', "The arguments were cut off."),
    ToolUseBlock("c", "grep", {}, ""),
    ToolUseBlock("c", "grep", {"n": 10**30}, f'{{"n":{10**30}}}'),
    ToolResultBlock("c", "found", origin=ORIGIN, opaque=OPAQUE),
    ToolResultBlock("c", "", is_error=True),
    ToolResultBlock("c", (TextBlock("a"), ImageBlock("AAAA", "image/png"), DocumentBlock("AAAA", "a/b"))),
    ThinkingBlock("hm", OPAQUE, origin=ORIGIN, opaque=OPAQUE),
    ThinkingBlock("", "signature"),
    ThinkingBlock(""),
    RedactedThinkingBlock(OPAQUE, origin=ORIGIN, opaque=OPAQUE),
    OtherBlock("compaction", OPAQUE, origin=ORIGIN, opaque=OPAQUE),
    OtherBlock("search"),
]


def decode(**params: Any) -> TurnRequest:
    whole = {"messages": [{"role": "user", "content": "hi"}], **params}
    return turn_from_wire(ChatStartParams.model_validate(whole))


def read(*blocks: Any) -> list[ContentBlock]:
    return list(decode(messages=[{"role": "assistant", "content": list(blocks)}]).messages[0].content)


@pytest.mark.parametrize("block", EVERY, ids=lambda block: block.type)
def test_a_block_that_goes_out_and_back_is_unchanged(block: ContentBlock) -> None:
    over_the_wire = json.loads(write_json(to_wire(block)))

    assert over_the_wire["type"] == block.type
    assert read(over_the_wire) == [block]


def test_every_type_of_block_is_tested_here() -> None:
    assert {type(block) for block in EVERY} == set(BLOCK_CLASSES)


@pytest.mark.parametrize("block", EVERY, ids=lambda block: block.type)
def test_absent_values_are_not_null_except_unreadable_arguments(block: ContentBlock) -> None:
    wire = to_wire(block)

    assert [key for key, value in wire.items() if value is None] == (
        ["arguments"] if wire.get("error") else []
    )


@pytest.mark.requirement("2:tools", "2:broken-arguments")
@pytest.mark.parametrize(
    ("sent", "arguments", "raw", "error"),
    [
        ({"raw": '{"a": 1}'}, {"a": 1}, '{"a": 1}', None),
        ({"arguments": {"a": 1}}, {"a": 1}, '{"a":1}', None),
        ({}, {}, "{}", None),
        ({"arguments": {}}, {}, "{}", None),
        ({"arguments": []}, {}, "{}", None),
        ({"arguments": None, "raw": ""}, {}, "", None),
        ({"arguments": {}, "raw": " {} "}, {}, " {} ", None),
        ({"raw": '{"a":', "arguments": None}, None, '{"a":', None),
        ({"raw": "[1]"}, None, "[1]", None),
        ({"raw": " []", "arguments": []}, {}, "{}", None),
        ({"raw": "[]", "error": "no object"}, None, "[]", "no object"),
        ({"raw": '{"a":NaN}'}, None, '{"a":NaN}', None),
        ({"raw": '{"a":1}', "arguments": None, "error": "cut"}, None, '{"a":1}', "cut"),
    ],
)
def test_a_partial_call_of_a_client_is_completed(
    sent: dict[str, Any], arguments: Any, raw: str, error: str | None
) -> None:
    assert read({"type": "tool_use", "id": "c", "name": "grep", **sent}) == [
        ToolUseBlock("c", "grep", arguments, raw, error)
    ]


def test_a_string_is_one_text_block() -> None:
    messages = decode(
        messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": ""}]
    ).messages

    assert [tuple(message.content) for message in messages] == [(TextBlock("hi"),), (TextBlock(""),)]


def test_a_result_may_be_a_list_of_text_blocks() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert read({"type": "tool_result", "toolUseId": "c", "content": parts}) == [ToolResultBlock("c", "ab")]


def test_every_key_of_the_params_reaches_the_turn_request() -> None:
    ask = decode(
        system="Be brief.",
        model="a:b",
        tools=[{"name": "grep", "description": "finds", "parameters": {"type": "object"}}, {"name": "ls"}],
        toolChoice={"name": "grep"},
        maxTokens=5,
        stopSequences=["END"],
        stream=False,
        outputMode={"schema": {"type": "object"}},
        thinking="high",
        settings={"temperature": 1, "absent": None},
        conversationId="c",
        initiator="agent",
    )

    assert ask == TurnRequest(
        messages=decode().messages,
        system="Be brief.",
        model="a:b",
        tools=(ToolDefinition("grep", "finds", {"type": "object"}), ToolDefinition("ls")),
        tool_choice=NamedTool("grep"),
        max_tokens=5,
        stop_sequences=("END",),
        stream=False,
        output_mode=JsonSchemaOutput({"type": "object"}),
        thinking="high",
        settings={"temperature": 1},
        conversation_id="c",
        initiator="agent",
    )


@pytest.mark.parametrize("value", ["auto", "none", "required"])
def test_a_tool_choice_may_be_a_word(value: str) -> None:
    assert decode(toolChoice=value).tool_choice == value


@pytest.mark.parametrize("value", ["text", "json"])
def test_an_output_mode_may_be_a_word(value: str) -> None:
    assert decode(outputMode=value).output_mode == value


def test_absent_values_have_the_contracts_defaults() -> None:
    assert decode() == TurnRequest(messages=decode().messages)


@pytest.mark.requirement("2:result-media")
def test_a_result_of_texts_alone_is_one_string() -> None:
    text = {"type": "text", "text": "a"}
    result = {"type": "tool_result", "toolUseId": "2", "content": [text, text]}
    (message,) = decode(messages=[{"role": "user", "content": [result]}]).messages

    assert message.content == (ToolResultBlock("2", "aa"),)


@pytest.mark.requirement("2:documents")
@pytest.mark.parametrize("document", [{"source": "AAAA"}, {"source": "!", "mediaType": "application/pdf"}])
def test_a_document_without_a_type_or_with_a_wrong_source_is_invalid(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"mediaType must name a type|source must be base64"):
        decode(messages=[{"role": "user", "content": [{"type": "document", **document}]}])
