"""An Ollama server through the real daemon, as a client sees it."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.ollama_chat import call, last, lines, part
from jumpseat.testing.upstream import FakeUpstream, Gate
from tests.daemon import Daemon, Exchange, user
from tests.fakes.ollama import FakeModel, FakeOllama

WEATHER = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}


def overlay(base_url: str, **more: Any) -> dict[str, Any]:
    table = {"kind": "ollama", "base_url": base_url, "default_model": "qwen3:4b", **more}
    return {"providers": {"here": table}}


@pytest.fixture
async def server(daemon: Daemon, upstream: FakeUpstream) -> FakeOllama:
    """Start a fake server, which is the daemon's only provider, `here`."""
    fake = FakeOllama(upstream)
    await daemon.initialize(overlay(fake.base_url))
    return fake


async def chat(daemon: Daemon, *messages: Any, **params: Any) -> Exchange:
    return await daemon.request("chat/start", {"messages": list(messages) or [user("hi")], **params})


@pytest.mark.requirement("ollama:ndjson", "ollama:num-ctx", "ollama:thinking")
async def test_a_chat_streams_thinking_and_text(daemon: Daemon, server: FakeOllama) -> None:
    server.script(lines(part(thinking="Hm"), part("Hel"), part("lo"), last()))
    exchange = await chat(
        daemon, system="Be brief.", thinking="high", settings={"temperature": 0.1, "top_k": 5}
    )
    assert [(block["type"]) for block in exchange.result["content"]] == ["thinking", "text"]
    assert exchange.result["text"] == "Hello"
    assert exchange.result["stopReason"] == "end_turn"
    assert exchange.result["usage"]["inputTokens"] == 26
    assert exchange.delta_types[0] == "start"
    assert exchange.delta_types[-2:] == ["usage", "done"]
    assert "warning" not in exchange.delta_types
    (sent,) = server.chats
    assert sent["think"] is True
    assert sent["options"] == {"num_predict": 24_576, "num_ctx": 40_960, "temperature": 0.1, "top_k": 5}


@pytest.mark.requirement("ollama:replay-in-tool-loop", "ollama:tool-result", "ollama:minted-ids")
async def test_a_tool_round_trip_is_sent_back_unchanged(daemon: Daemon, server: FakeOllama) -> None:
    server.script(
        lines(
            part(thinking="A tool."),
            part(tool_calls=[call("weather", {"city": "Rome"}), call("weather", {"city": "Oslo"})]),
            last(),
        ),
        lines(part("Sunny in both."), last()),
    )
    first = (await chat(daemon, tools=[WEATHER])).result
    assert first["stopReason"] == "tool_use"
    ids = [each["id"] for each in first["toolCalls"]]
    assert len(set(ids)) == 2
    results = [{"type": "tool_result", "toolUseId": each, "content": "sunny"} for each in ids]
    second = await chat(
        daemon,
        user("hi"),
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": results},
        tools=[WEATHER],
    )
    assert second.result["text"] == "Sunny in both."
    assistant, *answers = server.chats[1]["messages"][1:]
    assert assistant["thinking"] == "A tool."
    assert [each["function"]["arguments"] for each in assistant["tool_calls"]] == [
        {"city": "Rome"},
        {"city": "Oslo"},
    ]
    assert [(each["role"], each["tool_name"], each["tool_call_id"]) for each in answers] == [
        ("tool", "weather", each) for each in ids
    ]


@pytest.mark.requirement("ollama:no-thinking")
async def test_a_model_without_thinking_answers_with_a_warning(daemon: Daemon, server: FakeOllama) -> None:
    server.models[:] = [FakeModel(capabilities=("completion", "tools"))]
    for chats_so_far in (2, 3):
        server.script(lines(part("Hi"), last()))
        if chats_so_far == 2:
            # The server refuses the first request because of its thinking, so the daemon sends a second one.
            server.script(lines(part("Hi"), last()))
        exchange = await chat(daemon, thinking="medium")
        warnings = [delta for delta in exchange.deltas if delta["type"] == "warning"]
        assert [each["code"] for each in warnings] == ["thinking_dropped"]
        assert exchange.result["text"] == "Hi"
        assert len(server.chats) == chats_so_far


async def test_a_cancel_closes_the_connection_and_keeps_the_partial(
    daemon: Daemon, server: FakeOllama, upstream: FakeUpstream
) -> None:
    server.script(lines(part("Hel"), Gate(), last()))
    request_id = daemon.start("chat/start", {"messages": [user("hi")]})
    await daemon.read_delta("text_delta")
    daemon.notify("$/cancelRequest", {"id": request_id})
    exchange = await daemon.read_until(request_id)
    await upstream.wait_for_disconnect(len(upstream.requests))
    assert exchange.error["code"] == -32800
    assert exchange.error["data"]["partial"]["text"] == "Hel"


@pytest.mark.requirement("ollama:error-in-stream", "ollama:early-end")
@pytest.mark.parametrize(("tail", "code"), [([{"error": "CUDA error"}], 1007), ([], 1009)])
async def test_a_failure_in_mid_stream_keeps_the_partial(
    daemon: Daemon, server: FakeOllama, tail: list[dict[str, Any]], code: int
) -> None:
    server.script(lines(part("Hel"), *tail))
    exchange = await chat(daemon)
    assert exchange.error["code"] == code
    assert exchange.error["data"]["partial"]["text"] == "Hel"
    assert exchange.delta_types[-1] == "done"


@pytest.mark.requirement("ollama:model-not-found")
async def test_a_missing_model_is_a_request_error_with_the_command_that_pulls_it(
    daemon: Daemon, server: FakeOllama
) -> None:
    error = (await chat(daemon, model="here:gemma3:1b")).error
    assert error["code"] == 1004
    assert "gemma3:1b" in error["message"]
    assert "ollama pull gemma3:1b" in error["data"]["hint"]


@pytest.mark.requirement("ollama:tags")
async def test_the_models_and_the_provider_are_listed(daemon: Daemon, server: FakeOllama) -> None:
    server.models.append(FakeModel("llava:7b", "llama", 32_768, ("completion", "vision")))
    (first, second) = (await daemon.request("models/list", {"provider": "here"})).result["models"]
    assert (first["id"], first["maxContextTokens"], first["isDefault"]) == ("here:qwen3:4b", 40_960, True)
    assert (second["supportsVision"], second["supportsToolUse"]) == (True, False)
    rows = (await daemon.request("providers/list")).result["providers"]
    (row,) = [each for each in rows if each["id"] == "here"]
    assert (row["kind"], row["auth"]["state"]) == ("ollama", "not_required")
    assert "num_ctx" in [setting["key"] for setting in row["settingsSchema"]]
