"""The classification of JSON values as JSON-RPC messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumpseat.wire import (
    Batch,
    Invalid,
    Message,
    Notification,
    Request,
    RpcResponse,
    classify,
    messages,
    write_json,
)
from jumpseat.wire.messages import MAX_BATCH


def test_the_codes_match_json_rpc_and_lsp() -> None:
    codes = {name: value for name, value in vars(messages).items() if isinstance(value, int)}
    assert codes == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "SERVER_NOT_INITIALIZED": -32002,
        "REQUEST_CANCELLED": -32800,
        "MAX_BATCH": MAX_BATCH,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "m"}, Request(1, "m", None)),
        ({"jsonrpc": "2.0", "id": "1", "method": "m", "params": [1]}, Request("1", "m", [1])),
        ({"jsonrpc": "2.0", "id": -1, "method": "", "params": 5, "more": 1}, Request(-1, "", 5)),
        ({"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}, Notification("m", {"a": 1})),
        ({"jsonrpc": "2.0", "id": 1, "result": None}, RpcResponse(1, None, None)),
        ({"jsonrpc": "2.0", "id": 1, "result": 5, "error": None}, RpcResponse(1, 5, None)),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": 1}}, RpcResponse(None, None, {"code": 1})),
    ],
)
def test_a_message_is_classified_by_its_members(value: Any, expected: Message) -> None:
    assert classify(value) == expected


@pytest.mark.parametrize(
    ("value", "answer_id"),
    [
        (None, None),
        (5, None),
        ("text", None),
        ([], None),
        ({}, None),
        ({"jsonrpc": "2.0"}, None),
        ({"id": 1, "method": "m"}, 1),
        ({"jsonrpc": "1.0", "id": "a", "method": "m"}, "a"),
        ({"jsonrpc": 2.0, "id": 1, "method": "m"}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": None}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "m"}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "error": "text"}, 1),
        ({"jsonrpc": "2.0", "id": 1.5, "result": 1}, None),
        ({"jsonrpc": "2.0", "result": 1}, None),
    ],
)
def test_an_invalid_message_is_answered_under_its_id_if_that_is_readable(value: Any, answer_id: Any) -> None:
    invalid = classify(value)

    assert isinstance(invalid, Invalid)
    assert invalid.id == answer_id
    assert invalid.reason.endswith(".")


def test_each_item_of_a_batch_is_classified_by_itself() -> None:
    batch = classify([{"jsonrpc": "2.0", "method": "m"}, 1, [{"jsonrpc": "2.0", "method": "m"}]])

    assert isinstance(batch, Batch)
    assert batch.items[0] == Notification("m", None)
    assert [type(item) for item in batch.items[1:]] == [Invalid, Invalid]


def test_a_body_is_compact_utf8_and_always_json() -> None:
    assert write_json({"a": "é", "b": [1, float("nan")]}) == '{"a":"é","b":[1,null]}'.encode()


def test_half_a_surrogate_pair_does_not_stop_a_message() -> None:
    body = write_json({"na\udcffme": ["\ud83d\ude00", "x\ud800"], "n": 1})

    assert json.loads(body) == {"na\ufffdme": ["\U0001f600", "x\ufffd"], "n": 1}


def test_a_value_that_json_cannot_hold_is_a_plain_error() -> None:
    with pytest.raises(ValueError, match="could not be written as JSON"):
        write_json({"a": object()})
