"""The real LiteLLM proxy between the daemon and a fake provider, in each dialect that the proxy serves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.answers.responses import function_call, message, response_stream
from jumpseat.testing.upstream import Event, FakeUpstream, Gate, Reply
from tests.daemon import Daemon, running_daemon, user
from tests.gateways.litellm_proxy import KEY, Gateway, running_gateway

MODELS = {
    # These names do not reveal the models, so jumpseat must learn from the gateway what the models refuse.
    "alias-4o": "openai/gpt-4o",
    "alias-o": "openai/o3",
    "alias-5": "openai/gpt-5",
    "alias-p": "perplexity/sonar",
    "alias-m": "mistral/mistral-large-latest",
    "alias-c": "anthropic/claude-sonnet-4-5",
}
KINDS = ("openai", "openai-responses", "anthropic")
ANSWERS = {
    "/v1/chat/completions": completion_stream(["O", "K"]),
    "/v1/responses": response_stream(message("O", "K")),
    "/v1/messages": message_stream(Words(["O", "K"])),
}
TOOL = {"name": "weather", "description": "The weather of a city", "parameters": {"type": "object"}}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running_gateway(tmp_path_factory.mktemp("litellm"), MODELS) as running:
        yield running


@pytest.fixture
async def behind(gateway: Gateway) -> AsyncIterator[FakeUpstream]:
    """Start the provider behind the gateway. It answers OK in each dialect."""
    async with FakeUpstream(gateway.upstream_port) as upstream:
        for path, events in ANSWERS.items():
            upstream.default(Reply.events(events), path)
        yield upstream


@pytest.fixture
async def daemon(home: Path, gateway: Gateway, behind: FakeUpstream) -> AsyncIterator[Daemon]:
    """Start a daemon that uses the gateway as several providers, one of each kind, named `by-KIND`."""
    async with running_daemon(home, wait_seconds=60) as daemon:
        bases = {kind: gateway.origin if kind == "anthropic" else f"{gateway.origin}/v1" for kind in KINDS}
        await daemon.initialize(
            {
                "providers": {
                    f"by-{kind}": {
                        "kind": kind,
                        "base_url": base,
                        "api_key": KEY,
                        "max_retries": 0,
                        "settings": {
                            name: {"type": "number", "description": name, "optional": True}
                            for name in ("seed", "temperature", "frequency_penalty")
                        },
                    }
                    for kind, base in bases.items()
                }
            }
        )
        yield daemon


def chat(kind: str, model: str, *messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "model": f"by-{kind}:{model}",
        "messages": list(messages) or [user("Hi")],
        "maxTokens": 99,
        **more,
    }


def warning_codes(result: dict[str, Any]) -> list[str]:
    return [each["code"] for each in result.get("warnings", ())]


def answer_with_pause(events: list[Event], gate: Gate) -> Reply:
    """Return an answer that waits before its last piece until the gate is open."""
    place = next(number for number, event in enumerate(events) if "'K'" in repr(event))
    return Reply.events([*events[:place], gate, *events[place:]])


def hold(behind: FakeUpstream) -> Gate:
    """Make every answer wait before its last piece; return the gate that they wait for."""
    gate = Gate()
    for path, events in ANSWERS.items():
        behind.default(answer_with_pause(events, gate), path)
    return gate


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["alias-4o", "alias-m", "alias-c"])
async def test_an_answer_is_streamed(daemon: Daemon, behind: FakeUpstream, kind: str, model: str) -> None:
    gate = hold(behind)
    request = daemon.start("chat/start", chat(kind, model))
    first = await daemon.read_delta("text_delta")
    assert first["delta"]["text"] == "O"
    gate.open()
    exchange = await daemon.read_until(request)
    assert exchange.result["text"] == "OK"
    assert exchange.result["stopReason"] == "end_turn"
    assert exchange.result["usage"]["outputTokens"] > 0
    assert warning_codes(exchange.result) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tool_is_called_and_its_result_reaches_the_model(
    daemon: Daemon, behind: FakeUpstream, kind: str
) -> None:
    if kind == "openai":
        call = FakeCall("call_1", "weather", ('{"city": ', '"Rome"}'))
        behind.script(Reply.events(completion_stream(tool_calls=[call])))
    else:
        # For clients of the Messages API, LiteLLM calls OpenAI's models through the Responses API.
        behind.script(
            Reply.events(response_stream(function_call("call_1", "weather", '{"city": ', '"Rome"}')))
        )
    tools = {"tools": [TOOL]}
    first = (await daemon.request("chat/start", chat(kind, "alias-4o", **tools))).result
    assert first["stopReason"] == "tool_use"
    (called,) = first["toolCalls"]
    assert (called["name"], called["arguments"]) == ("weather", {"city": "Rome"})
    result = {"type": "tool_result", "toolUseId": called["id"], "content": "Sunny"}
    round_trip = [user("Hi"), {"role": "assistant", "content": first["content"]}]
    round_trip.append({"role": "user", "content": [result]})
    second = await daemon.request("chat/start", chat(kind, "alias-4o", *round_trip, **tools))
    assert (second.result["text"], warning_codes(second.result)) == ("OK", [])
    sent = behind.requests[-1].body.decode()
    assert "Sunny" in sent
    assert sent.count("call_1") == 2


REFUSED = [
    ("openai", "alias-4o", {"thinking": "low"}, "reasoning_effort", "thinking_dropped"),
    ("openai", "alias-p", {"stopSequences": ["END"]}, "stop", "parameter_dropped"),
    ("openai", "alias-p", {"settings": {"seed": 7}}, "seed", "parameter_dropped"),
    ("openai", "alias-m", {"settings": {"frequency_penalty": 1}}, "frequency_penalty", "parameter_dropped"),
    ("openai", "alias-o", {"settings": {"temperature": 0.2}}, "temperature", "parameter_dropped"),
    ("openai", "alias-5", {"settings": {"temperature": 0.2}}, "temperature", "parameter_dropped"),
    ("openai-responses", "alias-4o", {"thinking": "low"}, "effort", "thinking_dropped"),
    ("openai-responses", "alias-m", {"thinking": "low"}, "reasoning_effort", "thinking_dropped"),
    ("openai-responses", "alias-c", {"settings": {"seed": 7}}, "seed", "parameter_dropped"),
    (
        "openai-responses",
        "alias-m",
        {"settings": {"frequency_penalty": 1}},
        "frequency_penalty",
        "parameter_dropped",
    ),
    ("openai-responses", "alias-5", {"settings": {"temperature": 0.2}}, "temperature", "parameter_dropped"),
    ("anthropic", "alias-4o", {"thinking": "low"}, "effort", "thinking_dropped"),
    ("anthropic", "alias-m", {"thinking": "low"}, "reasoning_effort", "thinking_dropped"),
    ("anthropic", "alias-p", {"stopSequences": ["END"]}, "stop", "parameter_dropped"),
    ("anthropic", "alias-p", {"settings": {"seed": 7}}, "seed", "parameter_dropped"),
    (
        "anthropic",
        "alias-m",
        {"settings": {"frequency_penalty": 1}},
        "frequency_penalty",
        "parameter_dropped",
    ),
    ("anthropic", "alias-5", {"settings": {"temperature": 0.2}}, "temperature", "parameter_dropped"),
]


@pytest.mark.requirement(
    "chat:refused-parameter", "responses:refused-parameter", "messages:refused-parameter"
)
@pytest.mark.parametrize(("kind", "model", "params", "name", "code"), REFUSED)
async def test_a_parameter_that_the_gateway_refuses_is_dropped_with_a_warning(
    daemon: Daemon,
    behind: FakeUpstream,
    kind: str,
    model: str,
    params: dict[str, Any],
    name: str,
    code: str,
) -> None:
    for _ in range(2):
        result = (await daemon.request("chat/start", chat(kind, model, **params))).result
        assert (result["text"], warning_codes(result)) == ("OK", [code])
    for request in behind.requests:
        assert name not in {**request.json, **(request.json.get("reasoning") or {})}


async def test_parameters_that_the_gateway_refuses_one_by_one_are_dropped_in_one_chat(
    daemon: Daemon, behind: FakeUpstream
) -> None:
    params = {"thinking": "low", "stopSequences": ["END"], "settings": {"seed": 7}}
    result = (await daemon.request("chat/start", chat("openai", "alias-p", **params))).result
    assert result["text"] == "OK"
    assert sorted(warning_codes(result)) == ["parameter_dropped", "parameter_dropped", "thinking_dropped"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_parameter_that_the_provider_behind_the_gateway_refuses_is_dropped(
    daemon: Daemon, behind: FakeUpstream, kind: str
) -> None:
    words = "Unsupported parameter: 'temperature' is not supported with this model."
    refusal = {"message": words, "type": "invalid_request_error", "param": "temperature"}
    behind.script(Reply.json({"error": {**refusal, "code": "unsupported_parameter"}}, 400))
    params = {"settings": {"temperature": 0.2}}
    result = (await daemon.request("chat/start", chat(kind, "alias-4o", **params))).result
    assert (result["text"], warning_codes(result)) == ("OK", ["parameter_dropped"])
    first, second = behind.requests
    assert first.json["temperature"] == 0.2
    assert "temperature" not in second.json


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "words", "code", "error"),
    [
        (401, "Incorrect API key provided: sk-of-the-upstream.", "invalid_api_key", 1000),
        (429, "Rate limit reached for requests.", "rate_limit_exceeded", 1002),
        (400, "This model's maximum context length is 9 tokens.", "context_length_exceeded", 1005),
        (503, "The server is overloaded.", None, 1007),
    ],
)
async def test_an_error_of_the_provider_behind_the_gateway_has_the_matching_code(
    daemon: Daemon, behind: FakeUpstream, kind: str, status: int, words: str, code: str | None, error: int
) -> None:
    behind.script(Reply.json({"error": {"message": words, "code": code}}, status))
    failed = (await daemon.request("chat/start", chat(kind, "alias-4o"))).error
    assert failed["code"] == error, failed
    assert KEY not in str(failed)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancel_reaches_the_provider_behind_the_gateway(
    daemon: Daemon, behind: FakeUpstream, kind: str
) -> None:
    hold(behind)
    request = daemon.start("chat/start", chat(kind, "alias-4o", turnId="t"))
    await daemon.read_delta("text_delta")
    daemon.notify("$/cancelRequest", {"id": request})
    failed = (await daemon.read_until(request)).error
    assert (failed["code"], failed["data"]["partial"]["text"]) == (-32800, "O")
    await behind.wait_for_disconnect()
