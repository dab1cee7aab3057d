"""Spellings of names, facts about models, and notifications of changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, provider, user


def rows(*names: str) -> Reply:
    return Reply.json({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


LISTED = rows("claude-opus-4.6", "claude-sonnet-4.5", "x-2024-01-01", "x-2025-01-01")


async def chat(daemon: Daemon, model: str) -> Any:
    return await daemon.request("chat/start", {"messages": [user("hi")], "model": model})


SPELLINGS = {
    "claude-opus-4-6": "claude-opus-4.6",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4.5",
    "fake:anthropic/Claude-Sonnet-4.5": "claude-sonnet-4.5",
    "fake:x-2024-01-01": "x-2024-01-01",
    "unheard-of": "unheard-of",
}


@pytest.mark.requirement("4:upstream-spellings")
async def test_an_upstream_spelling_is_sent_as_the_provider_lists_it(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(LISTED, path="/v1/models")
    upstream.default(Reply.events(completion_stream(["Hi"])), path="/v1/chat/completions")
    await chatty.request("models/list")
    for name, model in SPELLINGS.items():
        exchange = await chat(chatty, name)
        assert exchange.deltas[0]["model"] == model, name
        assert upstream.requests[-1].json["model"] == model, name
    assert len(upstream.requests) == 1 + len(SPELLINGS), "a chat requested the list"


@pytest.mark.requirement("4:upstream-spellings")
async def test_an_ambiguous_name_is_refused_with_its_candidates(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(LISTED, path="/v1/models")
    await chatty.request("models/list")
    exchange = await chat(chatty, "x")
    assert exchange.error["code"] == 1004
    assert "x-2024-01-01, x-2025-01-01" in exchange.error["message"]
    assert exchange.notifications == []


@pytest.mark.requirement("3:model-facts", "3:model-info")
async def test_the_configuration_adds_facts_that_the_endpoint_does_not_list(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    data = [{"id": "m", "context_length": 9000}, {"id": "gpt-4o"}]
    upstream.default(Reply.json({"data": data}), path="/v1/models")
    configured = {"id": "m", "max_context_tokens": 5, "max_output_tokens": 70, "supports_vision": False}
    await daemon.initialize(provider(upstream.base_url, models=[configured, "unlisted"]))
    listing = (await daemon.request("models/list", {"provider": "fake"})).result["models"]
    found = {row["model"]: row for row in listing}
    assert set(found) == {"m", "gpt-4o", "unlisted"}
    assert (found["m"]["maxContextTokens"], found["m"]["maxOutputTokens"]) == (9000, 70)
    assert (found["m"]["supportsVision"], found["m"]["supportsToolUse"]) == (False, False)
    # A server may run a model of the same name with a smaller context, so its limits are unknown.
    assert not {"maxContextTokens", "maxOutputTokens"} & (set(found["gpt-4o"]) | set(found["unlisted"]))


ABILITIES = ("supportsVision", "supportsToolUse", "supportsThinking", "supportsJson")


@pytest.mark.requirement("3:abilities")
@pytest.mark.parametrize(
    ("listed", "configured", "claimed"),
    [
        ({}, {}, set()),
        ({"capabilities": {"vision": True, "function_calling": False}}, {}, {"supportsVision"}),
        ({}, {"capabilities": {"tool_calls": True, "vision": False}}, {"supportsToolUse"}),
        ({}, {"models": [{"id": "gpt-4o", "supports_thinking": True}]}, {"supportsThinking"}),
    ],
)
async def test_an_ability_is_listed_only_if_it_is_stated(
    daemon: Daemon, upstream: FakeUpstream, listed: Any, configured: Any, claimed: set[str]
) -> None:
    upstream.default(Reply.json({"data": [{"id": "gpt-4o", **listed}]}), path="/v1/models")
    await daemon.initialize(provider(upstream.base_url, **configured))
    (model,) = (await daemon.request("models/list", {"provider": "fake"})).result["models"]
    assert {ability for ability in ABILITIES if model[ability]} == claimed


@pytest.mark.requirement("3:abilities")
async def test_a_chat_may_use_an_ability_that_is_not_stated(daemon: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
    upstream.default(Reply.events(completion_stream(["Hi"])), path="/v1/chat/completions")
    await daemon.initialize(provider(upstream.base_url))
    await daemon.request("models/list", {"provider": "fake"})
    tool = {"name": "t", "description": "", "parameters": {"type": "object"}}
    params = {"messages": [user("hi")], "model": "fake:m", "tools": [tool]}
    assert (await daemon.request("chat/start", params)).result["text"] == "Hi"
    assert len(upstream.requests[-1].json["tools"]) == 1


@pytest.mark.slow
@pytest.mark.requirement("3:slow-list", "3:models-list")
async def test_a_silent_provider_causes_an_error_and_its_models_are_announced_later(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    gate = Gate()
    upstream.script(replace(LISTED, held=gate), path="/v1/models")
    (failure,) = (await chatty.request("models/list", {"provider": "fake"})).result["errors"]
    assert failure["error"]["code"] == 1008
    assert failure["error"]["data"]["retryable"] is True
    gate.open()
    notified = await chatty.read()
    assert (notified["method"], notified["params"]) == ("models/didChange", {"provider": "fake"})
    listed = (await chatty.request("models/list", {"provider": "fake"})).result
    assert (len(listed["models"]), listed["errors"]) == (4, [])
    assert len(upstream.requests) == 1


@pytest.mark.requirement("3:model-facts", "2:degradation", "2:max-tokens")
async def test_configured_facts_apply_before_the_first_list(daemon: Daemon, upstream: FakeUpstream) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])), path="/v1/chat/completions")
    configured = {"id": "m", "max_output_tokens": 70, "supports_vision": False}
    await daemon.initialize(provider(upstream.base_url, models=[configured]))
    await chat(daemon, "m")
    assert upstream.requests[0].json["max_tokens"] == 70
    image = {"type": "image", "source": "https://example.org/a.png"}
    params = {"messages": [{"role": "user", "content": [image]}], "model": "m"}
    assert (await daemon.request("chat/start", params)).error["code"] == 1004
    assert len(upstream.requests) == 1


@pytest.mark.requirement("6:config")
async def test_a_wrong_fact_is_an_error_that_names_its_key(daemon: Daemon) -> None:
    overlay = provider("http://127.0.0.1:9/v1", models=[{"id": "m", "max_context_tokens": 0}])
    params = {"initializationOptions": {"config": overlay}}
    error = (await daemon.request("initialize", params)).error
    assert error["code"] == 1010
    assert "providers.fake.models.0.max_context_tokens" in error["message"]


@pytest.mark.requirement("7:unknown-keys")
async def test_an_unknown_fact_is_warned_about_with_its_path(daemon: Daemon) -> None:
    await daemon.initialize(provider("http://127.0.0.1:9/v1", models=["n", {"id": "m", "max_tokens": 1}]))
    assert "providers.fake.models.1.max_tokens" in await daemon.whole_log()


@pytest.mark.requirement("3:did-change")
async def test_a_client_is_notified_only_if_the_list_has_changed(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(rows("one"), rows("one"), rows("one", "two"), path="/v1/models")
    params = {"provider": "fake", "refresh": True}
    notifications = [(await chatty.request("models/list", params)).notifications for _ in range(3)]
    assert notifications[:2] == [[], []]
    assert notifications[2] == [
        {"jsonrpc": "2.0", "method": "models/didChange", "params": {"provider": "fake"}}
    ]
