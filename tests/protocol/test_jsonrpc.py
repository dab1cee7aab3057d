"""JSON-RPC 2.0 as docs/protocol requires it: malformed messages, batches, ids and params."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, frame, user

SPEC_EXAMPLES = Path(__file__).parents[2].parent / "shared" / "data" / "jsonrpc_spec_examples.json"
"""The examples of the specification, in a file that is not part of the repository."""


def request(request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def check_parse_error(daemon: Daemon, body: bytes) -> None:
    daemon.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    answer = await daemon.read()
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    assert answer["error"]["data"]["kind"] == "parse_error"


@pytest.mark.requirement("1:parse-error")
@pytest.mark.parametrize(
    "body",
    [b"{", b'{"a": NaN}', b'{"a": 1e999}' + b"}", b"\xff\xfe", b"[" * 10_000, b"", b"{'a': 1}"],
    ids=["cut", "nan", "trailing", "not-utf-8", "deep", "empty", "quotes"],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_that_is_not_json_is_answered_with_a_parse_error(served: Daemon, body: bytes) -> None:
    await check_parse_error(served, body)
    assert (await served.request("providers/list")).notifications == []


@pytest.mark.requirement("1:parse-error", "1:invalid-request")
async def test_an_invalid_message_before_initialize_is_reported_and_initialize_works(
    daemon: Daemon,
) -> None:
    await check_parse_error(daemon, b"{")
    daemon.send(1)
    assert (await daemon.read())["error"]["code"] == -32600
    await daemon.initialize()


@pytest.mark.requirement("1:invalid-request")
@pytest.mark.parametrize(
    ("message", "answered_id"),
    [
        (1, None),
        ("text", None),
        (None, None),
        ({}, None),
        ({"jsonrpc": "2.0", "method": 1, "params": "bar"}, None),
        ({"jsonrpc": "1.0", "id": 7, "method": "models/list"}, 7),
        ({"id": "a", "method": "models/list"}, "a"),
        ({"jsonrpc": "2.0", "id": None, "method": "models/list"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "models/list"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "models/list"}, None),
        ({"jsonrpc": "2.0", "id": 8}, 8),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_invalid_message_is_an_invalid_request_error(
    served: Daemon, message: Any, answered_id: Any
) -> None:
    served.send(message)
    answer = await served.read()
    assert (answer["id"], answer["error"]["code"]) == (answered_id, -32600)
    assert (await served.request("providers/list")).notifications == []


@pytest.mark.requirement("1:unknown-method")
@pytest.mark.parametrize("method", ["nope", "$/nope", "exit", "chat/delta", ""])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_unknown_request_is_method_not_found(served: Daemon, method: str) -> None:
    assert (await served.request(method)).error["code"] == -32601


@pytest.mark.asyncio(loop_scope="module")
async def test_unknown_notifications_and_responses_are_ignored(served: Daemon) -> None:
    served.send(
        {"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}},
        {"jsonrpc": "2.0", "method": "chat/start", "params": {"messages": []}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": {}}},
    )
    assert (await served.request("providers/list")).result["providers"]


@pytest.mark.requirement("1:batch")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_batch_is_answered_by_one_array_without_its_notifications(served: Daemon) -> None:
    served.send(
        [
            request("a", "nope"),
            {"jsonrpc": "2.0", "method": "initialized"},
            1,
            request("b", "auth/status", {"provider": "local"}),
            request("c", "providers/list"),
        ]
    )
    answers = await served.read()
    assert {answer["id"] for answer in answers} == {"a", None, "b", "c"}
    codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers}
    assert codes == {"a": -32601, None: -32600, "b": None, "c": None}


@pytest.mark.requirement("1:batch")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_batch_is_one_error_and_a_batch_of_notifications_has_no_answer(served: Daemon) -> None:
    served.send([], [{"jsonrpc": "2.0", "method": "initialized"}])
    answer = await served.read()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert (await served.request("providers/list")).notifications == []


@pytest.mark.requirement("1:batch")
async def test_a_chat_in_a_batch_streams_and_is_answered_in_the_array(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"])))
    chatty.send([request(1, "chat/start", {"messages": [user("hi")]}), request(2, "nope")])
    messages = [await chatty.read()]
    while isinstance(messages[-1], dict):
        messages.append(await chatty.read())
    answers = {answer["id"]: answer for answer in messages.pop()}
    assert answers[1]["result"]["text"] == "Hi"
    assert answers[2]["error"]["code"] == -32601
    assert messages[-1]["params"]["delta"]["type"] == "done"


@pytest.mark.requirement("1:duplicate-id")
async def test_an_id_in_flight_is_refused_and_the_first_request_continues(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    chatty.send(request(1, "chat/start", {"messages": [user("hi")]}))
    await chatty.read_delta("text_delta")
    chatty.send(request(1, "providers/list"))
    assert (await chatty.read())["error"]["code"] == -32600
    chatty.send(request("1", "providers/list"))
    assert "result" in await chatty.read()
    chatty.notify("$/cancelRequest", {"id": 1})
    assert (await chatty.read_until(1)).error["code"] == -32800
    chatty.send(request(1, "providers/list"))
    assert "result" in await chatty.read()


@pytest.mark.requirement("1:invalid-params")
@pytest.mark.parametrize(
    ("params", "path"),
    [
        (None, "messages"),
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text"),
        ({"messages": [{"role": "user", "content": [{"type": "?"}]}]}, "messages.0.content.0.type"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0.type"),
        ({"messages": [user("x")], "maxTokens": 0}, "maxTokens"),
        ({"messages": [user("x")], "maxTokens": "5"}, "maxTokens"),
        ({"messages": [user("x")], "stream": "yes"}, "stream"),
        ({"messages": [user("x")], "thinking": "very"}, "thinking"),
        ({"messages": [user("x")], "outputMode": "xml"}, "outputMode"),
        ({"messages": [user("x")], "toolChoice": "maybe"}, "toolChoice"),
        ({"messages": [user("x")], "tools": [{"description": "no name"}]}, "tools.0.name"),
        ({"messages": [user("x")], "settings": {"nonsense": 1}}, "settings.nonsense"),
        (["positional"], ""),
        ("text", ""),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_error_for_bad_params_names_their_path(served: Daemon, params: Any, path: str) -> None:
    exchange = await served.request("chat/start", params)
    assert exchange.error["code"] == -32602
    assert exchange.error["data"]["kind"] == "invalid_params"
    assert path in [problem["path"] for problem in exchange.error["data"]["errors"]]
    assert all(problem["message"] for problem in exchange.error["data"]["errors"])
    assert exchange.notifications == []


@pytest.mark.requirement("1:absent-null-empty", "1:unknown-keys")
async def test_null_and_empty_values_count_as_absent_and_unknown_keys_are_ignored(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"])))
    exchange = await chatty.request(
        "chat/start",
        {
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "origin": {}}], "x": 1}],
            "system": None,
            "tools": None,
            "toolChoice": {},
            "outputMode": {},
            "settings": [],
            "thinking": None,
            "maxTokens": None,
            "turnId": None,
            "new": {"key": "of a later version"},
        },
    )
    assert exchange.result["text"] == "Hi"
    for params in (None, {}, []):
        assert "models" in (await chatty.request("models/list", params)).result


async def test_a_request_with_half_a_surrogate_pair_is_answered(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(
        Reply.events([b'data: {"choices":[{"delta":{"content":"cut \\ud83d"}}]}\n\n', *completion_stream()])
    )
    params = b'{"messages":[{"role":"user","content":"\\ud83d"}]}'
    body = b'{"jsonrpc":"2.0","id":1,"method":"chat/start","params":%b}' % params
    chatty.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert (await chatty.read_until(1)).result["text"] == "cut \ufffd"
    assert upstream.requests[0].json["messages"][0]["content"] == "\ufffd"


async def test_a_session_in_pieces_of_one_byte_gets_the_same_answers(daemon: Daemon) -> None:
    session = b"".join(
        frame(message)
        for message in (request(1, "initialize", {}), request(2, "nope"), [1], request(3, "shutdown"))
    )
    for index in range(len(session)):
        daemon.send_bytes(session[index : index + 1])
        if index % 16 == 0:
            assert daemon.process.stdin is not None
            await daemon.process.stdin.drain()
    answers = [await daemon.read() for _ in range(4)]
    assert [answer["id"] if isinstance(answer, dict) else answer[0]["id"] for answer in answers] == [
        1,
        2,
        None,
        3,
    ]


@pytest.mark.skipif(
    not SPEC_EXAMPLES.exists(), reason="the examples of JSON-RPC 2.0's section 7 are not here"
)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_examples_of_the_specification_get_the_answers_it_requires(served: Daemon) -> None:
    """The daemon does not have the methods of the examples, so method-not-found stands for their results."""

    def shape(value: Any) -> Any:
        if isinstance(value, list):
            return sorted((shape(item) for item in value), key=str)
        code = value["error"]["code"] if "error" in value else -32601
        return (value["id"], code)

    examples = json.loads(SPEC_EXAMPLES.read_text("utf-8"))["examples"]
    assert len(examples) == 15
    for example in examples:
        body = example["send"].encode()
        served.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        if example["receive"] is not None:
            assert shape(await served.read()) == shape(json.loads(example["receive"])), example["name"]
    assert (await served.request("providers/list")).notifications == []
