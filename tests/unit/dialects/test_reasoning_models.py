"""The parameters that OpenAI's reasoning models reject, by model name."""

import pytest

from jumpseat.dialects.chat_completions import find_reasoning_refusals, takes_only_max_completion_tokens
from jumpseat.dialects.reasoning_models import SAMPLING, habit_of

ON, OFF, ALWAYS, NEVER = "on, may be off", "off, may be on", "always on", "never"

MODELS = {
    "gpt-5.6": ON,
    "gpt-5.6-sol": ON,
    "gpt-5.5-pro-2026-04-01": ALWAYS,
    "gpt-5.5": ON,
    "gpt-5.4-pro": ALWAYS,
    "gpt-5.4-mini": OFF,
    "gpt-5.3-chat-latest": ALWAYS,
    "gpt-5.3": OFF,
    "gpt-5.2-pro": ALWAYS,
    "gpt-5.2-chat-latest": ALWAYS,
    "gpt-5.2": OFF,
    "gpt-5.1-codex-max": ALWAYS,
    "gpt-5.1-chat-latest": ALWAYS,
    "gpt-5.1-2025-11-13": OFF,
    "gpt-5-chat-latest": NEVER,
    "gpt-5-mini": ALWAYS,
    "gpt-5": ALWAYS,
    "o1": ALWAYS,
    "o3-mini": ALWAYS,
    "o4-mini-2025-04-16": ALWAYS,
    "gpt-4o": None,
    "gpt-6": None,
    "gpt-50": None,
    "olmo-2": None,
    "o1x": None,
    "openai/gpt-5": None,
}


def refuses_sampling(model, **body):
    return "temperature" in find_reasoning_refusals(model, {"temperature": 1, **body})


@pytest.mark.requirement("chat:reasoning-models")
@pytest.mark.parametrize("model", MODELS)
def test_sampling_is_refused_exactly_while_the_model_reasons(model):
    habit = MODELS[model]
    assert refuses_sampling(model) is (habit in (ON, ALWAYS))
    assert refuses_sampling(model, reasoning_effort="low") is (habit in (ON, OFF, ALWAYS))
    assert refuses_sampling(model, reasoning_effort="none") is (habit == ALWAYS)
    assert (habit_of(model) is None) is (habit is None)
    assert takes_only_max_completion_tokens(model) is (habit not in (None, NEVER))


@pytest.mark.requirement("chat:sampling-while-reasoning")
def test_only_the_parameters_of_sampling_are_refused():
    body = dict.fromkeys((*SAMPLING, "seed", "max_completion_tokens", "messages"), 1)
    assert set(find_reasoning_refusals("gpt-5", body)) == {
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
    }


@pytest.mark.requirement("chat:stop-while-reasoning")
@pytest.mark.parametrize(
    ("model", "refused"), [("o1", False), ("o3", True), ("o4-mini", True), ("gpt-5", True), ("gpt-4o", False)]
)
def test_stop_sequences_are_refused_by_later_reasoners(model, refused):
    assert ("stop" in find_reasoning_refusals(model, {"stop": ["x"]})) is refused


@pytest.mark.requirement("chat:effort-none")
def test_an_effort_is_not_sent_if_the_model_cannot_turn_reasoning_off_or_on():
    assert set(find_reasoning_refusals("o3", {"reasoning_effort": "none"})) == {"reasoning_effort"}
    assert find_reasoning_refusals("gpt-5.1", {"reasoning_effort": "none"}) == {}
    assert set(find_reasoning_refusals("gpt-5-chat-latest", {"reasoning_effort": "low"})) == {
        "reasoning_effort"
    }


@pytest.mark.requirement("chat:effort-minimal")
def test_minimal_effort_is_not_sent_to_the_model_that_refuses_it():
    assert "reasoning_effort" in find_reasoning_refusals("gpt-5.6", {"reasoning_effort": "minimal"})
    assert find_reasoning_refusals("gpt-5", {"reasoning_effort": "minimal"}) == {}
