"""The daemon never sends the character U+0000 from any source, except in the id of a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import Message
from jumpseat.conversations import ConversationStore, conversations_directory
from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, Exchange, provider, user

CONFIG = '[prompts.review]\ntext = "a\\u0000b"\nsettings = { "x\\U00000000" = ["\\u0000"] }\n'
SETTINGS = {"settings": {"default_model": "fake:\0", "providers": {}}}


def strings_and_keys(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings_and_keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_and_keys(item)


def has_nul(exchange: Exchange) -> bool:
    return any("\0" in text for text in strings_and_keys([exchange.response, *exchange.notifications]))


def assert_escapes_in_a_file_are_read(home: Path, conversation: str) -> None:
    """Write an escaped U+0000 into the file of the conversation. Fail unless it is read as U+FFFD."""
    (file,) = home.rglob(f"{conversation}*.jsonl")
    kept = file.read_text("utf-8")
    assert "Hi\ufffd" in kept
    file.write_text(kept.replace("Hi\ufffd", "Hi\\u0000"), "utf-8")
    read = ConversationStore(conversations_directory(home)).get(conversation)
    assert read.messages[0] == Message.user("Hi\ufffd")


@pytest.mark.requirement("1:no-nul")
async def test_nul_is_replaced_in_a_chat_that_then_continues(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    await daemon.initialize(provider(upstream.base_url))
    call = FakeCall("c", "f\0", ('{"a\\u0000"', ': "\\u0000"}'))
    upstream.script(
        Reply.events(completion_stream(["a\0", "b"], tool_calls=[call])),
        Reply.events(completion_stream(["c"])),
    )
    asked = {"keep": True, "transcript": True, "turnId": "t\0", "messages": [user("Hi\0")], "system": "\0"}
    first = await daemon.request("chat/start", asked)

    assert not has_nul(first)
    assert upstream.requests[0].json["messages"] == [
        {"role": "system", "content": "\ufffd"},
        {"role": "user", "content": "Hi\ufffd"},
    ]
    (tool_use,) = first.result["toolCalls"]
    assert (first.result["text"], first.result["turnId"]) == ("a\ufffdb", "t\ufffd")
    assert (tool_use["name"], tool_use["arguments"]) == ("f\ufffd", {"a\ufffd": "\ufffd"})
    assert tool_use["raw"] == '{"a\\u0000": "\\u0000"}', "the text of the model is not kept byte for byte"

    answer = {"role": "assistant", "content": first.result["content"]}
    result = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "c", "content": "\0"}]}
    asked |= {"messages": [user("Hi\0"), answer, result], "conversationId": first.result["conversationId"]}
    second = await daemon.request("chat/start", asked)

    assert "warnings" not in second.result, "the turn does not continue the kept conversation"
    sent = upstream.requests[1].json["messages"]
    assert sent[2]["tool_calls"][0]["function"]["arguments"] == tool_use["raw"]
    got = await daemon.request("conversations/get", {"id": first.result["conversationId"]})
    assert not has_nul(got)
    assert got.result["messages"][:2] == [
        {"role": "user", "content": [{"type": "text", "text": "Hi\ufffd"}]},
        answer,
    ]

    assert_escapes_in_a_file_are_read(home, first.result["conversationId"])


@pytest.mark.requirement("1:no-nul")
async def test_a_request_id_with_nul_is_returned_unchanged_and_can_cancel_the_request(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    await daemon.initialize(provider(upstream.base_url))
    upstream.script(Reply.events(completion_stream(["Hello"])[:2]).stall_after())
    params = {"messages": [user("Hi")]}
    daemon.send({"jsonrpc": "2.0", "id": "1\0", "method": "chat/start", "params": params})
    await daemon.read_delta("text_delta")
    daemon.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "1\0"}})
    cancelled = await daemon.read_until("1\0")

    assert cancelled.error["code"] == -32800
    assert {each["params"]["requestId"] for each in cancelled.notifications} == {"1\0"}
    daemon.send({"jsonrpc": "2.0", "id": "\0", "method": "no/such\0"})
    assert "no/such\ufffd" in (await daemon.read_until("\0")).error["message"]


@pytest.mark.requirement("1:no-nul")
async def test_nul_is_replaced_in_a_providers_error_and_list_of_models(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    await daemon.initialize(provider(upstream.base_url))
    fault = {"error": {"message": "No\0", "code": "a\0", "type": "b\0"}}
    upstream.script(Reply.json(fault, status=400), Reply.json({"data": [{"id": "m\0", "name": "n\0"}]}))

    failed = await daemon.request("chat/start", {"messages": [user("Hi")]})
    assert not has_nul(failed)
    assert failed.error["data"]["providerCode"] == "a\ufffd"
    listed = await daemon.request("models/list", {"refresh": True})
    assert not has_nul(listed)
    assert "fake:m\ufffd" in [row["id"] for row in listed.result["models"]]


@pytest.mark.requirement("1:no-nul")
async def test_escapes_in_files_and_transcripts_become_replacement_characters(
    home: Path, daemon: Daemon
) -> None:
    (home / "config.toml").write_text(CONFIG, "utf-8")
    (home / "settings.json").write_text(json.dumps(SETTINGS), "utf-8")
    await daemon.initialize()
    prompt = await daemon.request("prompts/get", {"name": "review"})
    assert not has_nul(prompt)
    assert (prompt.result["text"], prompt.result["settings"]) == ("a\ufffdb", {"x\ufffd": ["\ufffd"]})
    saved = await daemon.request("settings/get")
    assert not has_nul(saved)
    assert saved.result["settings"]["default_model"] == "fake:\ufffd"

    text = (
        '---\nsystem: "\\0 \\x00 \\u0000"\nsettings: {"\\0": "\\0"}\n---\n\n## Assistant\n\n'
        '```tool_use id="a\\u0000" name="\\\\u0000"\n{"a": "\\u0000"}\n```\n'
    )
    parsed = await daemon.request("transcript/parse", {"text": text})
    assert not has_nul(parsed)
    assert (parsed.result["system"], parsed.result["settings"]) == (
        "\ufffd \ufffd \ufffd",
        {"\ufffd": "\ufffd"},
    )
    (call,) = parsed.result["messages"][0]["content"]
    assert (call["id"], call["name"], call["arguments"]) == ("a\ufffd", "\\u0000", {"a": "\ufffd"})
