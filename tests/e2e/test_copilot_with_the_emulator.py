"""The real daemon with an emulated GitHub: whole conversations, and which host receives each credential."""

import asyncio

import pytest

from jumpseat.testing.upstream import Gate
from tests.daemon import WAIT_SECONDS, user
from tests.emulator import faults

pytestmark = pytest.mark.slow

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [
    {"name": "weather", "description": "The weather.", "parameters": WEATHER},
    {"name": "time", "description": "The time.", "parameters": {"type": "object", "properties": {}}},
]


@pytest.fixture
async def signed_in(daemon, emulator):
    """Initialize a daemon whose only provider, `gh`, uses the emulator with a token for octocat."""
    table = emulator.provider(github_token=emulator.issue_token())
    await daemon.initialize({"providers": {"gh": table}})
    return daemon


async def ask(daemon, model, *messages, **more):
    exchange = await daemon.request(
        "chat/start", {"model": f"gh:{model}", "messages": list(messages), **more}
    )
    return exchange.result


def result_of(call, text):
    content = [{"type": "text", "text": text}]
    return {"type": "tool_result", "toolUseId": call["id"], "content": content}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-4.1", "/chat/completions"),
        ("o4-mini", "/chat/completions"),
        ("claude-sonnet-4.6", "/v1/messages"),
        ("gemini-3.1-pro-preview", "/chat/completions"),
        ("gpt-5.3-codex", "/responses"),
    ],
)
async def test_two_tools_are_called_and_only_the_users_turn_is_charged(signed_in, emulator, model, path):
    """The emulator refuses the second request unless it contains the first answer's thinking, unchanged."""
    question = user("use the tools weather and time")
    thinking = {} if model == "gpt-4.1" else {"thinking": "low"}
    called = await ask(signed_in, model, question, tools=TOOLS, **thinking)
    assert [call["name"] for call in called["toolCalls"]] == ["weather", "time"]
    assert ("thinking" in [block["type"] for block in called["content"]]) == bool(thinking)
    results = [result_of(call, f"{call['name']}: fine") for call in called["toolCalls"]]
    history = [question, {"role": "assistant", "content": called["content"]}, user(results)]
    answered = await ask(signed_in, model, *history, tools=TOOLS, **thinking)
    assert answered["text"] == (
        "The tool weather answered: weather: fine\nThe tool time answered: time: fine"
    )
    assert len(emulator.requests(path=path)) == 2
    assert [charge.initiator for charge in emulator.charges] == ["user", "agent"]
    assert emulator.charges[1].cost == 0


async def test_claude_over_chat_completions_calls_two_tools_at_one_index(signed_in, emulator):
    """In the deltas of Copilot's chat completions, all calls of a Claude model have the index 0."""
    emulator.models["claude-sonnet-4.6"].endpoints = ("/chat/completions",)
    question = user("use the tools weather and time")
    called = await ask(signed_in, "claude-sonnet-4.6", question, tools=TOOLS)
    calls = [(call["name"], call["arguments"]) for call in called["toolCalls"]]
    assert calls == [("weather", {"city": "example"}), ("time", {})]


async def test_a_token_that_expires_between_two_chats_costs_one_exchange(signed_in, emulator):
    assert (await ask(signed_in, "gpt-4.1", user("Hi")))["text"] == "You said: Hi"
    assert emulator.exchanges == 1
    emulator.expire_copilot_tokens()
    for _ in range(2):
        assert (await ask(signed_in, "gpt-4.1", user("Again")))["text"] == "You said: Again"
    assert emulator.exchanges == 2


async def test_a_token_that_expires_in_mid_answer_does_not_end_the_answer(signed_in, emulator):
    gate = Gate()
    emulator.script("gpt-4.1", faults.hold(gate, after=4))
    params = {"model": "gh:gpt-4.1", "messages": [user("Count to 30")]}
    request = signed_in.start("chat/start", params)
    async with asyncio.timeout(WAIT_SECONDS):
        await signed_in.read_delta("text_delta")
        emulator.expire_copilot_tokens()
        gate.open()
        ended = await signed_in.read_until(request)
    assert ended.result["text"].endswith("29 30")


async def test_each_credential_is_sent_only_to_its_host(signed_in, emulator):
    emulator.add_account("someone-else")
    await ask(signed_in, "gpt-4.1", user("Hi"))
    await signed_in.request("auth/status", {"provider": "gh", "refresh": True})
    assert emulator.token_kinds_seen_by("copilot-individual") == {"copilot"}
    assert emulator.token_kinds_seen_by("api") == {"ghu"}
    for plane in ("github", "copilot", "copilot-business", "proxy", "telemetry"):
        assert emulator.token_kinds_seen_by(plane) == set()


@pytest.mark.parametrize("client_id", ["Ov23li8tweQw6odWQebz", "178c6fc778ccc68e1d6a"])
async def test_an_oauth_apps_token_is_used_directly_at_the_host_of_its_plan(daemon, emulator, client_id):
    emulator.set_plan("business")
    table = emulator.provider(github_token=emulator.issue_token(client_id=client_id))
    await daemon.initialize({"providers": {"gh": table}})
    assert (await ask(daemon, "gpt-4.1", user("Hi")))["text"] == "You said: Hi"
    assert emulator.exchanges == 0
    assert emulator.token_kinds_seen_by("copilot-business") == {"gho"}


async def test_each_reason_for_refusing_a_chat_has_its_error_kind(signed_in, emulator):
    async def kind(model="gpt-4.1", text="Hi"):
        params = {"model": f"gh:{model}", "messages": [user(text)]}
        return (await signed_in.request("chat/start", params)).error["data"]["kind"]

    emulator.models["gpt-4o"].limits["max_prompt_tokens"] = 5
    assert (await ask(signed_in, "gpt-4.1", user("Hi")))["stopReason"] == "end_turn"
    emulator.account().premium.remaining = 0
    assert await kind("claude-sonnet-4.6") == "quota_exceeded"
    assert await kind("gpt-4o", "word " * 500) == "context_exceeded"
    emulator.suspend()
    assert await kind() == "authorization"
