"""The emulator's Messages API: Copilot's additions to it, and its refusals."""

import pytest

from tests.unit.emulator.visitor import WEATHER

PATH = "/v1/messages"
MODEL = "claude-sonnet-4.6"
TOOL = {"name": "weather", "description": "", "input_schema": WEATHER}
THINKING = {"type": "enabled", "budget_tokens": 1024}
HI = {"role": "user", "content": "Hi"}


def make_body(*messages, **more):
    return {"model": MODEL, "max_tokens": 4096, "stream": True, "messages": list(messages), **more}


def user_says(text):
    return {"role": "user", "content": text}


async def test_signed_thinking_must_come_back_unchanged(user):
    question = user_says('use the tool weather with {"city": "Rome"}')
    first = await user.post(PATH, make_body(question, thinking=THINKING, tools=[TOOL], stream=False))
    thinking, text, call = first.json()["content"]
    assert (first.json()["stop_reason"], call["input"]) == ("tool_use", {"city": "Rome"})
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "rain"}

    async def follow(*blocks):
        spoken = {"role": "assistant", "content": list(blocks)}
        body = make_body(
            question, spoken, {"role": "user", "content": [result]}, thinking=THINKING, tools=[TOOL]
        )
        return await user.post(PATH, {**body, "stream": False})

    answered = await follow(thinking, text, call)
    assert answered.json()["content"][-1]["text"] == "The tool weather answered: rain"
    for changed in ({"thinking": "Something else."}, {"signature": ""}, {"signature": "AAAA"}):
        refused = await follow({**thinking, **changed}, text, call)
        assert "Invalid `signature`" in refused.json()["error"]["message"]
    missing = await follow(text, call)
    assert "Expected `thinking`" in missing.json()["error"]["message"]
    assert (await follow(thinking, text)).status_code == 400


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (make_body(HI, {"role": "assistant", "content": "Once"}), "prefill"),
        (make_body(HI, cache_control={"type": "ephemeral"}), "cache_control: Extra inputs are not permitted"),
        (make_body({"role": "system", "content": "Hi"}), 'Unexpected role "system"'),
        (make_body({"role": "user", "content": [{"type": "text", "text": ""}]}), "non-empty"),
        (make_body({"role": "user", "content": ""}), "non-empty"),
        (make_body(HI, max_tokens=None), "max_tokens"),
        (make_body(HI, thinking={"type": "enabled", "budget_tokens": 4096}), "greater than"),
        (make_body(HI, thinking={"type": "enabled", "budget_tokens": 10}), "at least 1024"),
        (make_body(HI, thinking=THINKING, temperature=0.2), "temperature"),
        (make_body(HI, thinking=THINKING, tools=[TOOL], tool_choice={"type": "any"}), "forces tool use"),
        (make_body(HI, tools=[{**TOOL, "input_schema": {**WEATHER, "$schema": "x"}}]), "$schema"),
        (make_body(HI, tools=[TOOL], tool_choice={"type": "tool", "name": "time"}), "not found"),
        (make_body({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}), "unexpected"),
    ],
)
async def test_unsupported_parameters_and_invalid_messages_are_refused(user, body, words):
    answer = await user.post(PATH, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert words in answer.json()["error"]["message"]


async def test_four_cache_marks_are_accepted_and_a_fifth_is_not(user):
    def make_marked_body(count):
        blocks = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * count
        return make_body({"role": "user", "content": blocks})

    assert (await user.post(PATH, make_marked_body(4))).status_code == 200
    assert (await user.post(PATH, make_marked_body(5))).status_code == 400


async def test_an_unknown_beta_is_refused(user):
    known = await user.post(PATH, make_body(HI), anthropic_beta="interleaved-thinking-2025-05-14")
    assert known.status_code == 200
    other = await user.post(PATH, make_body(HI), anthropic_beta="fine-grained-tool-streaming-2025-05-14")
    assert "anthropic-beta" in other.json()["error"]["message"]
