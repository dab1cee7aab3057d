"""Chats with Copilot on each of its routes, through the real daemon and the emulator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.copilot import configure, copilot_daemon, make_question, table
from tests.daemon import Daemon, running_daemon
from tests.emulator import CopilotEmulator, faults
from tests.fakes import tool_plugin

pytestmark = pytest.mark.slow

ROUTES = {
    "gpt-4.1": "/chat/completions",
    "gemini-3.1-pro-preview": "/chat/completions",
    "gpt-5-mini": "/responses",
    "gpt-5.3-codex": "/responses",
    "claude-sonnet-4.6": "/v1/messages",
}
WEATHER = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
USE_IT = 'Please use the tool weather with {"city":"Rome"}'
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": PNG, "mediaType": "image/png"}


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        configure(home, table(running, github_token=running.issue_token("octocat")))
        yield running


@pytest.fixture
async def daemon(home: Path, emulator: CopilotEmulator) -> AsyncIterator[Daemon]:
    async with copilot_daemon(home) as running:
        yield running


def user(*content):
    return {"role": "user", "content": list(content)}


def text(words):
    return {"type": "text", "text": words}


def append(file, addition):
    """Append a text to a file."""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(addition)


def chats(emulator):
    return [each.request for each in emulator.seen if each.request.path in ROUTES.values()]


@pytest.mark.requirement("copilot:routes")
@pytest.mark.parametrize("stream", [True, False])
async def test_each_model_takes_its_own_route(daemon, emulator, stream):
    for model in ROUTES:
        exchange = await daemon.request("chat/start", make_question(model=f"copilot:{model}", stream=stream))

        assert exchange.result["text"] == "You said: Hello", model
        assert exchange.result["stopReason"] == "end_turn"
        assert exchange.result["usage"]["cost"]["currency"] == "AIU"
    assert [request.path for request in chats(emulator)] == list(ROUTES.values())


@pytest.mark.requirement("copilot:conversations")
@pytest.mark.parametrize("model", ROUTES)
async def test_a_chat_with_tools_thinking_and_an_image_lasts_many_turns(daemon, emulator, model):
    messages = [user(text(USE_IT))]
    turn = {"model": f"copilot:{model}", "tools": [WEATHER]}
    turn |= {} if model == "gpt-4.1" else {"thinking": "medium"}

    first = (await daemon.request("chat/start", {**turn, "messages": messages})).result
    (call,) = first["toolCalls"]
    messages += [
        {"role": "assistant", "content": first["content"]},
        user({"type": "tool_result", "toolUseId": call["id"], "content": "sunny"}),
    ]
    second = (await daemon.request("chat/start", {**turn, "messages": messages})).result
    messages += [{"role": "assistant", "content": second["content"]}, user(text("Look"), IMAGE)]
    third = (await daemon.request("chat/start", {**turn, "messages": messages})).result
    messages += [{"role": "assistant", "content": third["content"]}, user(text("And now?"))]
    fourth = (await daemon.request("chat/start", {**turn, "messages": messages})).result

    assert (first["stopReason"], call["arguments"]) == ("tool_use", {"city": "Rome"})
    assert any(block["type"] == "thinking" for block in first["content"]) == (model != "gpt-4.1")
    assert second["text"] == "The tool weather answered: sunny"
    assert "I see 1 image" in third["text"]
    assert fourth["text"] == "You said: And now?"
    # The image is in the history of the last two requests. The second request has a tool result.
    headers = [request.headers for request in chats(emulator)]
    assert [each.get("copilot-vision-request") for each in headers] == [None, None, "true", "true"]
    assert [each["x-initiator"] for each in headers] == ["user", "agent", "user", "user"]


@pytest.mark.requirement("12:initiator", "12:rounds-split")
@pytest.mark.parametrize("model", ROUTES)
async def test_the_initiator_of_rounds_after_the_first_is_agent_on_every_route(home, emulator, model):
    append(home / "config.toml", '[tools]\nallow = ["shed/*"]\n')
    use_it = 'Please use the tool shed__echo with {"text":"Rome"}'
    turn = {"model": f"copilot:{model}", "daemonTools": ["shed/echo"], "messages": [user(text(use_it))]}
    async with running_daemon(home, env=tool_plugin.install(home / "site")) as daemon:
        await daemon.initialize()
        result = (await daemon.request("chat/start", turn)).result

    types = [block["type"] for block in result["content"] if block["type"] != "thinking"]
    assert types[-3:] == ["tool_use", "tool_result", "text"]
    assert [each.headers["x-initiator"] for each in chats(emulator)] == ["user", "agent"]
    assert "The tool shed__echo answered: Rome" in result["text"]


@pytest.mark.requirement("copilot:conversations", "2:block-memory")
@pytest.mark.parametrize("model", ["gemini-3.1-pro-preview", "gpt-5-mini", "claude-sonnet-4.6"])
async def test_a_client_that_keeps_only_text_and_calls_gets_a_valid_second_request(daemon, emulator, model):
    """The service requires its encrypted reasoning unchanged. The client drops it; the daemon restores it."""
    turn = {"model": f"copilot:{model}", "tools": [WEATHER], "thinking": "medium"}
    messages = [user(text(USE_IT))]
    first = (await daemon.request("chat/start", {**turn, "messages": messages})).result
    thin = [
        {key: block[key] for key in ("type", "text", "id", "name", "arguments") if key in block}
        for block in first["content"]
        if block["type"] in ("text", "tool_use")
    ]
    (call,) = first["toolCalls"]
    messages += [
        {"role": "assistant", "content": thin},
        user({"type": "tool_result", "toolUseId": call["id"], "content": "sunny"}),
    ]

    second = await daemon.request("chat/start", {**turn, "messages": messages})

    assert second.result["text"] == "The tool weather answered: sunny"
    assert "warning" not in second.delta_types


@pytest.mark.requirement("copilot:identity", "copilot:interaction-id")
async def test_every_request_identifies_the_client(daemon, emulator):
    await daemon.request(
        "chat/start", make_question(model="copilot:gpt-4.1", conversationId="the-conversation")
    )

    (request,) = chats(emulator)
    assert request.headers["editor-version"] == "tests/0"
    assert request.headers["user-agent"].startswith("jumpseat/")
    assert request.headers["copilot-integration-id"] == "vscode-chat"
    assert request.headers["openai-intent"] == "conversation-panel"
    assert request.headers["x-interaction-id"]
    assert request.headers["x-request-id"]
    assert "the-conversation" not in str(request.headers)


@pytest.mark.requirement("copilot:billing")
async def test_the_request_after_a_tool_call_is_not_billed(daemon, emulator):
    messages = [user(text(USE_IT))]
    turn = {"model": "copilot:claude-sonnet-4.6", "tools": [WEATHER]}
    bucket = emulator.account().buckets["premium_interactions"]
    before = bucket.remaining
    first = (await daemon.request("chat/start", {**turn, "messages": messages})).result
    between = bucket.remaining
    result = {"type": "tool_result", "toolUseId": first["toolCalls"][0]["id"], "content": "sunny"}
    messages += [{"role": "assistant", "content": first["content"]}, user(result)]
    await daemon.request("chat/start", {**turn, "messages": messages})

    assert before - between == 1
    assert bucket.remaining == between


@pytest.mark.requirement("copilot:billing")
@pytest.mark.parametrize(
    ("fault", "initiators"),
    [
        (faults.server_error(), ["user", "agent"]),
        # The service did not count a request that failed in one of these two ways.
        (faults.rate_limited(0), ["user", "user"]),
        (faults.reject_token(), ["user", "user"]),
    ],
    ids=["server error", "rate limit", "expired token"],
)
async def test_a_counted_request_is_not_billed_again_when_it_is_repeated(daemon, emulator, fault, initiators):
    emulator.script("gpt-4.1", fault)

    exchange = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert exchange.result["text"] == "You said: Hello"
    assert [request.headers["x-initiator"] for request in chats(emulator)] == initiators


@pytest.mark.requirement("copilot:cures")
async def test_a_model_that_is_no_longer_on_its_route_is_reached_on_another(daemon, emulator):
    await daemon.request("models/list", {"provider": "copilot"})
    emulator.models["gpt-5-mini"].endpoints = ("/chat/completions",)

    answers = [
        await daemon.request("chat/start", make_question(model="copilot:gpt-5-mini")) for _ in range(2)
    ]

    assert [answer.result["text"] for answer in answers] == ["You said: Hello"] * 2
    assert [request.path for request in chats(emulator)] == [
        "/responses",
        "/chat/completions",
        "/chat/completions",
    ]


@pytest.mark.requirement("copilot:routes")
async def test_without_a_list_the_route_is_found_by_trying(daemon, emulator):
    emulator.script("/models", *[faults.server_error()] * 9)

    answer = await daemon.request("chat/start", make_question(model="copilot:gpt-5.3-codex"))

    assert answer.result["text"] == "You said: Hello"
    assert [request.path for request in chats(emulator)] == ["/chat/completions", "/responses"]


@pytest.mark.requirement("copilot:cures")
async def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(daemon, emulator):
    emulator.models["gpt-5-mini"].refuses.add("temperature")
    params = make_question(model="copilot:gpt-5-mini", settings={"temperature": 0.5})

    answers = [await daemon.request("chat/start", params) for _ in range(2)]

    assert [answer.result["text"] for answer in answers] == ["You said: Hello"] * 2
    assert len(chats(emulator)) <= 3
    assert all("warning" in answer.delta_types for answer in answers)


@pytest.mark.requirement("copilot:conversations")
async def test_reasoning_that_the_service_cannot_decrypt_is_left_out(daemon, emulator):
    turn = {"model": "copilot:gpt-5-mini", "thinking": "medium"}
    first = (await daemon.request("chat/start", {**turn, **make_question()})).result
    for block in first["content"]:
        if block["type"] == "thinking":
            block["signature"] = "gAAAAforeign"
    messages = [user(text("Hello")), {"role": "assistant", "content": first["content"]}, user(text("More"))]

    second = await daemon.request("chat/start", {**turn, "messages": messages})

    assert second.result["text"] == "You said: More"
    codes = [delta["code"] for delta in second.deltas if delta["type"] == "warning"]
    assert codes == ["foreign_data_dropped"]


REFUSALS = [
    (faults.quota_exceeded(), 1003, "copilot:gpt-4.1"),
    (faults.quota_exceeded(bare=True), 1003, "budget"),
    (faults.rate_limited(120), 1002, "Wait"),
    (faults.forbidden("unauthorized: not authorized to use this Copilot feature"), 1001, "seat"),
    (faults.forbidden(), 1001, "settings/copilot"),
    (faults.block_prompt(), 1006, "wording"),
    (faults.reject_client(), 1004, "Update"),
]


@pytest.mark.requirement("copilot:errors")
async def test_a_refusal_is_reported_with_a_hint_and_not_repeated(daemon, emulator):
    for number, (fault, code, hint) in enumerate(REFUSALS, 1):
        emulator.script("claude-sonnet-4.6", fault)

        exchange = await daemon.request("chat/start", make_question(model="copilot:claude-sonnet-4.6"))

        assert exchange.error["code"] == code
        assert hint in exchange.error["data"]["hint"]
        assert exchange.delta_types[-1] == "done"
        assert len(chats(emulator)) == number


@pytest.mark.requirement("copilot:rate-limit")
async def test_a_short_retry_delay_is_awaited_and_a_long_one_is_reported(daemon, emulator):
    emulator.script("gpt-4.1", faults.rate_limited(1))
    short = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
    emulator.script("gpt-4.1", faults.rate_limited(7200, "user_weekly_rate_limited"))
    long = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

    assert short.result["text"] == "You said: Hello"
    (retry,) = [delta for delta in short.deltas if delta["type"] == "retry"]
    assert retry["delayMs"] >= 1000
    assert (long.error["code"], long.error["data"]["retryAfter"]) == (1002, 7200)
    assert long.error["data"]["retryable"]


@pytest.mark.requirement("copilot:errors")
@pytest.mark.parametrize("fault", [faults.fail(after=6), faults.reset(after=6)], ids=["error", "reset"])
async def test_an_answer_that_breaks_off_keeps_its_partial(daemon, emulator, fault):
    for model in ("gpt-4.1", "gpt-5-mini", "claude-sonnet-4.6"):
        emulator.script(model, fault)

        exchange = await daemon.request("chat/start", make_question("count to 40", model=f"copilot:{model}"))

        assert exchange.error["code"] in (1007, 1008, 1009), model
        assert "partial" in exchange.error["data"]
        done = exchange.deltas[-1]
        assert (done["type"], done["stopReason"]) == ("done", "error")
        assert done["content"] == exchange.error["data"]["partial"]["content"]


@pytest.mark.requirement("2:cancel-request")
async def test_a_cancel_before_the_first_byte_ends_the_request_to_the_service(daemon, emulator):
    emulator.script("gpt-4.1", faults.stall(after=0))
    request_id = daemon.start("chat/start", make_question(model="copilot:gpt-4.1"))
    request = await emulator.wait_for("/chat/completions")
    daemon.notify("$/cancelRequest", {"id": request_id})
    exchange = await daemon.read_until(request_id)
    await request.disconnected.wait()

    assert exchange.error["code"] == -32800
    assert exchange.deltas[-1]["stopReason"] == "cancelled"


@pytest.mark.requirement("copilot:quirks")
async def test_the_quirks_of_the_service_are_hidden(daemon, emulator):
    quirks = emulator.models["gpt-4.1"].quirks
    for quirk in ("cot", "usage_chunk", "no_done", "comments", "references", "stray_line", "padding"):
        quirks.clear()
        quirks.add(quirk)

        exchange = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))

        assert exchange.result["text"] == "You said: Hello", quirk
        assert exchange.result["stopReason"] == "end_turn", quirk
