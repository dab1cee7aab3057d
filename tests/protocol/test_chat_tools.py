"""Tools, their calls and results in `chat/start`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import (
    FakeCall,
    completion_stream,
)
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.protocol.test_chat import chat, chatty, check_rules, upstream

# The daemon is shared by the tests of this module.
pytestmark = pytest.mark.asyncio(loop_scope="module")
__all__ = ["chatty", "upstream"]  # Pytest finds these fixtures by their names.


WEATHER = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}


@pytest.mark.requirement("2:tools", "2:stop-reasons")
async def test_a_tool_round_trip_replays_the_call_byte_for_byte(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    raw = ['{"city" :', ' "Zürich" }']
    upstream.script(Reply.events(completion_stream(["Look: "], tool_calls=[FakeCall("c1", "weather", raw)])))
    upstream.script(Reply.events(completion_stream(["Sunny."])))
    asked = [user("weather?")]
    first = await chatty.request("chat/start", {"messages": asked, "tools": [WEATHER]})
    check_rules(first)
    assert first.result["stopReason"] == "tool_use"
    (call,) = first.result["toolCalls"]
    assert (call["id"], call["name"], call["arguments"]) == ("c1", "weather", {"city": "Zürich"})
    assert call["raw"] == "".join(raw)

    answer = {"type": "tool_result", "toolUseId": "c1", "content": "sunny"}
    asked += [
        {"role": "assistant", "content": first.result["content"]},
        {"role": "user", "content": [answer]},
    ]
    second = await chatty.request("chat/start", {"messages": asked, "tools": [WEATHER]})
    assert second.result["text"] == "Sunny."
    sent = upstream.requests[1].json["messages"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == "".join(raw)
    assert sent[2] == {"role": "tool", "tool_call_id": "c1", "content": "sunny"}


@pytest.mark.requirement("2:tools")
async def test_a_tool_choice_reaches_the_provider(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.events(completion_stream(["ok"])))
    choices: list[tuple[Any, Any]] = [(word, word) for word in ("auto", "none", "required")]
    choices.append(({"name": "weather"}, {"type": "function", "function": {"name": "weather"}}))
    for choice, sent in choices:
        await chat(chatty, tools=[WEATHER], toolChoice=choice)
        assert upstream.requests[-1].json.get("tool_choice", "auto") == sent


@pytest.mark.requirement("2:broken-arguments")
async def test_tool_arguments_that_cannot_be_read_are_null_with_an_error(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    broken: list[tuple[list[str], Any]] = [(['{"a": 1'], None), (["[1]"], None), (["nonsense"], None)]
    for pieces, arguments in (*broken, ([], {}), ([""], {}), (["{}"], {})):
        upstream.script(Reply.events(completion_stream(tool_calls=[FakeCall("c1", "weather", pieces)])))
        exchange = await chat(chatty, tools=[WEATHER])
        check_rules(exchange)
        (call,) = exchange.result["toolCalls"]
        assert "arguments" in call, pieces
        assert call["arguments"] == arguments, pieces
        assert call["raw"] == "".join(pieces)
        assert ("error" in call) == (arguments is None), pieces


@pytest.mark.requirement("2:tool-use-without-result")
async def test_a_call_without_a_result_gets_an_error_result_and_a_warning(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["ok"])))
    call = {"type": "tool_use", "id": "c1", "name": "weather", "arguments": {}}
    messages = [user("?"), {"role": "assistant", "content": [call]}, user("never mind")]
    exchange = await chatty.request("chat/start", {"messages": messages, "tools": [WEATHER]})
    assert exchange.result["text"] == "ok"
    assert "warning" in exchange.delta_types
    roles = [message["role"] for message in upstream.requests[0].json["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]


@pytest.mark.requirement("2:result-without-tool-use", "2:no-delta-when-invalid")
async def test_a_result_without_its_call_is_refused(chatty: Daemon) -> None:
    result = {"type": "tool_result", "toolUseId": "c9", "content": "x"}
    exchange = await chatty.request("chat/start", {"messages": [{"role": "user", "content": [result]}]})
    assert exchange.error["code"] == -32602
    assert exchange.error["data"]["errors"][0]["path"] == "messages.0.content.0.toolUseId"
    assert exchange.notifications == []


@pytest.mark.requirement("2:degradation")
async def test_tools_and_images_are_refused_for_a_model_that_does_not_accept_them(
    home: Path, upstream: FakeUpstream
) -> None:
    lacking = {"toolCalls": False, "vision": False, "jsonMode": False, "thinking": False}
    configured = {"tool_calls": False, "vision": False, "json_mode": False, "thinking": False}
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url, capabilities=configured))
        (row,) = [
            row for row in (await daemon.request("providers/list")).result["providers"] if row["id"] == "fake"
        ]
        assert {key: row["capabilities"][key] for key in lacking} == lacking
        assert row["capabilitySources"]["vision"] == "config"

        assert (await chat(daemon, tools=[WEATHER])).error["code"] == 1004
        image = {"type": "image", "source": "iVBORw0KGgo=", "mediaType": "image/png"}
        exchange = await daemon.request("chat/start", {"messages": [{"role": "user", "content": [image]}]})
        assert exchange.error["code"] == 1004
        assert "images" in exchange.error["message"]

        upstream.script(Reply.events(completion_stream(["x"])))
        exchange = await chat(daemon, outputMode="json", thinking="high")
        warned = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
        assert warned == ["json_mode_dropped", "thinking_dropped"]
        assert "response_format" not in upstream.requests[0].json
