"""Params of clients: what counts as absent, what is ignored, and the path that a refusal names."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError

from jumpseat.connections.faults import to_wire_error
from jumpseat.connections.param_model import Params
from jumpseat.rpc import params
from jumpseat.rpc.methods import METHODS

HI = {"role": "user", "content": "hi"}


def read_params(**more: Any) -> params.ChatStartParams:
    return params.ChatStartParams.model_validate({"messages": [HI], **more})


def params_with(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": list(blocks)}]}


def problems(value: Any, model: type[Params] = params.ChatStartParams) -> list[dict[str, str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    fault = to_wire_error(caught.value)
    assert (fault.code, fault.data["kind"], fault.data["retryable"]) == (-32602, "invalid_params", False)
    found: list[dict[str, str]] = fault.data["errors"]
    return found


def paths(value: Any, model: type[Params] = params.ChatStartParams) -> list[str]:
    return [problem["path"] for problem in problems(value, model)]


@pytest.mark.requirement("1:absent-null-empty")
@pytest.mark.parametrize("empty", [None, {}], ids=["null", "empty"])
@pytest.mark.parametrize(
    "key",
    [
        key
        for key in params.ChatStartParams.model_json_schema(by_alias=True)["properties"]
        if key != "messages"
    ],
)
def test_null_and_empty_are_absent(key: str, empty: Any) -> None:
    assert read_params(**{key: empty}) == read_params()


@pytest.mark.parametrize(
    "content", ["", "hi", [], [{"type": "text", "text": "hi"}], [{"text": "", "type": "text"}] * 2]
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_plain_messages_are_read_like_messages_that_pydantic_validates(role: str, content: Any) -> None:
    plain = {"role": role, "content": content}
    result = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "a"}]}
    # A third key makes pydantic validate the message.
    messages = read_params(messages=[plain, result, {**plain, "id": 7}, plain]).messages
    assert messages[0] == messages[2] == messages[3]
    assert messages[1].content[0].type == "tool_result"


def test_the_error_of_a_wrong_message_has_its_index_in_the_clients_list() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "a"}]}
    wrong = {"role": "user", "content": [{"type": "tool_result"}]}
    assert paths({"messages": [HI, result, HI, wrong]}) == ["messages.3.content.0.toolUseId"]


def test_many_wrong_messages_are_listed_in_linear_time() -> None:
    begun = time.process_time()
    assert len(paths({"messages": [{"role": "system", "content": "hi"}] * 30_000})) == 30_000
    # Comparing each message with every other would take minutes.
    assert time.process_time() - begun < 20


# Lua encodes an empty table as an array.
@pytest.mark.requirement("1:absent-null-empty")
@pytest.mark.parametrize("key", ["settings", "tools", "stopSequences"])
def test_an_empty_array_is_absent_too(key: str) -> None:
    assert read_params(**{key: []}) == read_params()


@pytest.mark.requirement("1:absent-null-empty")
@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a"},
        {"type": "image", "source": "data:image/png;base64,AAAA"},
        {"type": "context", "text": "a"},
        {"type": "tool_use", "id": "1", "name": "n"},
        {"type": "tool_result", "toolUseId": "1"},
        {"type": "thinking"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "other", "kind": "x"},
    ],
    ids=lambda block: block["type"],
)
def test_null_and_empty_are_absent_in_blocks_too(block: dict[str, Any]) -> None:
    optional = {
        "origin",
        "opaque",
        "mediaType",
        "uri",
        "languageId",
        "range",
        "label",
        "arguments",
        "raw",
        "error",
        "content",
        "isError",
        "thinking",
        "signature",
    } - block.keys()
    bare = params.ChatStartParams.model_validate(params_with(block))

    empties: tuple[Any, ...] = (None, {})
    for empty in empties:
        padded = {**dict.fromkeys(optional, empty), **block}
        assert params.ChatStartParams.model_validate(params_with(padded)) == bare


@pytest.mark.requirement("1:absent-null-empty")
@pytest.mark.parametrize("empty", [None, {}, []], ids=["null", "object", "array"])
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, method in METHODS.items()
        if not any(field.is_required() for field in method.params.model_fields.values())
    ],
)
def test_params_that_are_absent_null_or_empty_are_the_same(name: str, empty: Any) -> None:
    model = METHODS[name].params

    assert model.model_validate(empty) == model()


@pytest.mark.parametrize(
    "options", [None, {}, [], {"config": None}, {"config": []}, {"config": {}, "coalesceMs": None}]
)
def test_initialization_options_may_be_missing_in_every_way(options: Any) -> None:
    read = params.InitializeParams.model_validate({"processId": None, "initializationOptions": options})

    assert read == params.InitializeParams()


@pytest.mark.requirement("1:unknown-keys")
def test_unknown_keys_are_ignored_at_every_depth() -> None:
    block = {"type": "text", "text": "a", "later": 1, "origin": {"provider": "p", "model": "m", "later": 1}}
    message = {"role": "assistant", "content": [block], "later": {"x": 1}}
    tool = {"name": "t", "later": True}
    read = params.ChatStartParams.model_validate({"messages": [message], "tools": [tool], "later": [1]})

    assert read.model_extra == {"later": [1]}
    assert "later" not in repr((read.messages, read.tools))


@pytest.mark.requirement("1:unknown-keys")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0.role"),
        (params_with({"type": "video"}), "messages.0.content.0.type"),
        ({"messages": [HI], "thinking": "extreme"}, "thinking"),
        ({"messages": [HI], "initiator": "robot"}, "initiator"),
        ({"messages": [HI], "toolChoice": "perhaps"}, "toolChoice"),
        ({"messages": [HI], "outputMode": "yaml"}, "outputMode"),
    ],
)
def test_unknown_roles_types_and_choices_are_refused(value: Any, path: str) -> None:
    assert paths(value) == [path]


GOOD = {"type": "text", "text": "a"}


@pytest.mark.requirement("1:invalid-params")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ["messages"]),
        ({"messages": []}, ["messages"]),
        ({"messages": "hi"}, ["messages"]),
        ({"messages": [5]}, ["messages.0"]),
        ({"messages": [None]}, ["messages.0.role", "messages.0.content"]),
        ({"messages": [HI, {"role": "user"}]}, ["messages.1.content"]),
        ({"messages": [{"role": "user", "content": 5}]}, ["messages.0.content"]),
        (params_with(5), ["messages.0.content.0"]),
        (params_with(GOOD, {}), ["messages.0.content.1.type"]),
        (params_with(GOOD, {"type": None}), ["messages.0.content.1.type"]),
        (params_with(GOOD, {"type": "text"}), ["messages.0.content.1.text"]),
        (params_with(GOOD, {"type": "text", "text": 5}), ["messages.0.content.1.text"]),
        (params_with({"type": "text", "text": "a", "opaque": 5}), ["messages.0.content.0.opaque"]),
        (params_with({"type": "text", "text": "a", "origin": "x"}), ["messages.0.content.0.origin"]),
        (
            params_with({"type": "text", "text": "a", "origin": {"model": "m"}}),
            ["messages.0.content.0.origin.provider"],
        ),
        (params_with({"type": "image", "source": "AAAA"}), ["messages.0.content.0"]),
        (params_with({"type": "image"}), ["messages.0.content.0.source"]),
        (
            params_with({"type": "context", "text": "a", "range": {"start": {"line": -1, "character": 0}}}),
            ["messages.0.content.0.range.start.line", "messages.0.content.0.range.end"],
        ),
        (
            params_with({"type": "tool_use", "arguments": "x", "id": ""}),
            ["messages.0.content.0.id", "messages.0.content.0.name", "messages.0.content.0.arguments"],
        ),
        (params_with({"type": "tool_result", "content": "x"}), ["messages.0.content.0.toolUseId"]),
        (
            params_with({"type": "tool_result", "toolUseId": "1", "content": 5}),
            ["messages.0.content.0.content"],
        ),
        (
            params_with({"type": "tool_result", "toolUseId": "1", "content": [GOOD, {"type": "text"}]}),
            ["messages.0.content.0.content.1.text"],
        ),
        (params_with({"type": "thinking", "signature": 5}), ["messages.0.content.0.signature"]),
        (params_with({"type": "redacted_thinking"}), ["messages.0.content.0.data"]),
        (params_with({"type": "other"}), ["messages.0.content.0.kind"]),
        ({"messages": [HI], "maxTokens": 0}, ["maxTokens"]),
        ({"messages": [HI], "maxTokens": "5"}, ["maxTokens"]),
        ({"messages": [HI], "maxTokens": 1.5}, ["maxTokens"]),
        ({"messages": [HI], "maxTokens": True}, ["maxTokens"]),
        ({"messages": [HI], "stream": 0}, ["stream"]),
        ({"messages": [HI], "system": ["x"]}, ["system"]),
        ({"messages": [HI], "model": ""}, ["model"]),
        ({"messages": [HI], "tools": {"name": "x"}}, ["tools"]),
        ({"messages": [HI], "tools": [{"name": "x", "parameters": "y"}]}, ["tools.0.parameters"]),
        ({"messages": [HI], "toolChoice": {"name": ""}}, ["toolChoice.name"]),
        ({"messages": [HI], "stopSequences": ["a", ""]}, ["stopSequences.1"]),
        ({"messages": [HI], "outputMode": {"schema": "x"}}, ["outputMode.schema"]),
        ({"messages": [HI], "settings": "x"}, ["settings"]),
        ({"messages": [HI], "turnId": ""}, ["turnId"]),
        ({"messages": [HI], "turnId": "x" * 257}, ["turnId"]),
        ({"messages": [HI], "turnId": 5}, ["turnId"]),
        ({"messages": [HI], "workDoneToken": 1.5}, ["workDoneToken"]),
        (5, [""]),
        ([1], [""]),
        ("text", [""]),
    ],
)
def test_a_refusal_has_the_path_of_the_clients_value(value: Any, expected: list[str]) -> None:
    assert paths(value) == expected


@pytest.mark.parametrize("value", [5, {"messages": [5]}, params_with(5), {"messages": [HI], "settings": "x"}])
def test_a_refusal_names_json_types_and_not_our_classes(value: Any) -> None:
    messages = [problem["message"] for problem in problems(value)]

    assert messages == ["must be an object"]


def test_a_refusal_does_not_repeat_values() -> None:
    canary = "sk-canary-4711"
    bad = {**params_with({"type": "text", "text": [canary]}), "maxTokens": canary, "stream": canary}

    assert canary not in str(problems(bad))


def test_an_error_of_our_own_rule_is_a_plain_sentence() -> None:
    assert problems(params_with({"type": "image", "source": "AAAA"}))[0]["message"] == (
        "mediaType must name an image type if source is bare base64"
    )


@pytest.mark.parametrize(
    ("source", "media_type"),
    [
        ("http://host/a.png", "image/png"),
        ("file:///etc/passwd", "image/png"),
        ("not base64!!", "image/png"),
        ("data:text/html;base64,AAAA", None),
        ("data:image/png,raw", None),
        ("AAAA", "text/plain"),
    ],
)
def test_an_invalid_image_is_refused(source: str, media_type: str | None) -> None:
    block = {"type": "image", "source": source, "mediaType": media_type}
    assert paths(params_with(block)) == ["messages.0.content.0"]


@pytest.mark.parametrize("key", ["origin", "range"])
def test_an_empty_array_is_an_empty_object_where_an_object_belongs(key: str) -> None:
    blocks = [params_with({"type": "context", "text": "x", key: empty}) for empty in ([], {})]
    array, empty_object = map(params.ChatStartParams.model_validate, blocks)
    assert array == empty_object


@pytest.mark.parametrize("value", [{}, {"id": None}, {"id": 1.5}, {"id": [1]}])
def test_a_cancel_without_a_readable_id_is_refused(value: Any) -> None:
    assert set(paths(value, params.CancelParams)) == {"id"}
