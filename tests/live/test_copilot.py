"""The real GitHub Copilot through the real daemon, for people with an account.

These tests use the sign-in that jumpseat finds on this machine (`jumpseat status` names it), and save
nothing. On each of the three routes, they ask a few short questions of a model that the plan includes. If a
route has no such model, they ask its cheapest model, but only if `JUMPSEAT_LIVE_COPILOT=premium` allows that.
tests/README.md has the command.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.daemon import SERVE, Daemon, running_daemon
from tests.live.chosen import ROUTES, Chosen, choose

VARIABLE = "JUMPSEAT_LIVE_COPILOT"
PROVIDER = os.environ.get("JUMPSEAT_LIVE_PROVIDER", "copilot")

pytestmark = [
    pytest.mark.live_copilot,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not os.environ.get(VARIABLE),
        reason=f"asks GitHub Copilot with your own account: set {VARIABLE}=included to allow it",
    ),
]

WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@contextlib.asynccontextmanager
async def personal_daemon() -> AsyncIterator[Daemon]:
    """Start a daemon with the configuration and the sign-ins of the person who runs the tests."""
    async with running_daemon(None, command=SERVE, wait_seconds=120) as daemon:
        # Without this setting, the daemon would choose a default provider and save it.
        await daemon.initialize({"default_provider": PROVIDER})
        yield daemon


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    async with personal_daemon() as running:
        yield running


@pytest.fixture
async def models(daemon: Daemon) -> list[dict[str, Any]]:
    listing = (await daemon.request("models/list", {"provider": PROVIDER})).result
    assert listing["errors"] == []
    rows: list[dict[str, Any]] = listing["models"]
    return rows


def choose_or_skip(models: list[dict[str, Any]], route: str, *, needs: str | None = None) -> Chosen:
    """Return the cheapest model on a route. Skip the test if there is none, or if its cost is not allowed."""
    found = choose(models, route, needs=needs)
    if found is None:
        pytest.skip(f"the account has no model for {route}" + (f" with {needs}" if needs else ""))
    if not found.included and os.environ[VARIABLE] != "premium":
        pytest.skip(f"{found.id} costs {found.price}: set {VARIABLE}=premium to allow it")
    print(f"\nasking {found.id} on {route}: {found.price}")
    return found


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def test_the_account_is_signed_in_and_may_chat(daemon: Daemon) -> None:
    status = (await daemon.request("auth/status", {"provider": PROVIDER, "refresh": True})).result

    print(f"\n{status.get('login')}, plan {status.get('plan')}, from {status.get('source')}")
    assert status["state"] == "signed_in", status.get("message")
    assert status["chatEnabled"] is not False
    assert all(0 <= quota["percentRemaining"] <= 100 for quota in status["quotas"])


async def test_the_models_are_listed_with_their_limits_and_routes(models: list[dict[str, Any]]) -> None:
    chat = [row for row in models if row.get("endpoints")]

    print("\n" + "\n".join(f"{row['id']}  {row.get('endpoints')}  {row.get('billing')}" for row in models))
    assert len(chat) >= 2
    assert sum(bool(row["isDefault"]) for row in models) <= 1
    assert any(row.get("maxPromptTokens") for row in chat)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_chat_is_answered_on_each_route(
    daemon: Daemon, models: list[dict[str, Any]], route: str, stream: bool
) -> None:
    chosen = choose_or_skip(models, route)
    params = {
        "model": chosen.id,
        "messages": [user("Answer with the one word: pong")],
        "maxTokens": 512,
        "stream": stream,
    }
    exchange = await daemon.request("chat/start", params)

    assert "pong" in exchange.result["text"].lower()
    assert exchange.result["stopReason"] == "end_turn"
    assert exchange.result["usage"]["inputTokens"] > 0
    assert ("text_delta" in exchange.delta_types) == stream


@pytest.mark.parametrize("route", ROUTES)
async def test_a_tool_is_called_and_its_result_is_used(
    daemon: Daemon, models: list[dict[str, Any]], route: str
) -> None:
    chosen = choose_or_skip(models, route, needs="supportsToolUse")
    turn = {"model": chosen.id, "tools": [WEATHER], "maxTokens": 1024}
    question = user("Use the tool get_weather for Rome, then tell me the temperature.")
    first = (await daemon.request("chat/start", {**turn, "messages": [question]})).result
    (call, *_) = first["toolCalls"]
    results = [
        {"type": "tool_result", "toolUseId": each["id"], "content": "It is 23 degrees."}
        for each in first["toolCalls"]
    ]
    messages = [
        question,
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": results},
    ]
    second = (await daemon.request("chat/start", {**turn, "messages": messages})).result

    assert (call["name"], "error" in call) == ("get_weather", False)
    assert "rome" in str(call["arguments"]).lower()
    assert first["stopReason"] == "tool_use"
    assert "23" in second["text"]


@pytest.mark.parametrize("route", ROUTES)
async def test_thinking_is_received_and_sent_back(
    daemon: Daemon, models: list[dict[str, Any]], route: str
) -> None:
    chosen = choose_or_skip(models, route, needs="supportsThinking")
    turn = {"model": chosen.id, "thinking": "low", "maxTokens": 2048}
    question = user("What is 17 * 23? Think first.")
    first = (await daemon.request("chat/start", {**turn, "messages": [question]})).result
    messages = [question, {"role": "assistant", "content": first["content"]}, user("Add 9 to that.")]
    second = (await daemon.request("chat/start", {**turn, "messages": messages})).result

    assert "391" in first["text"]
    assert "400" in second["text"]
    print(
        f"\n{[block['type'] for block in first['content']]}, {first['usage'].get('reasoningTokens')} tokens"
    )


async def test_a_cancel_ends_an_answer_and_keeps_the_partial_text(
    daemon: Daemon, models: list[dict[str, Any]]
) -> None:
    chosen = choose_or_skip(models, ROUTES[0])
    request = daemon.start(
        "chat/start",
        {
            "model": chosen.id,
            "messages": [user("Count from 1 to 500, in words.")],
            "maxTokens": 4096,
        },
    )
    await daemon.read_delta("text_delta")
    daemon.notify("$/cancelRequest", {"id": request})
    error = (await daemon.read_until(request)).error

    assert error["code"] == -32800
    assert error["data"]["partial"]["text"]
