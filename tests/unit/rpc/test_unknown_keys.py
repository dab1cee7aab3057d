"""Mistyped keys in the params of a turn."""

from __future__ import annotations

import time

import pytest

from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.params import ChatStartParams, EditStartParams
from jumpseat.rpc.unknown_keys import warn_about_unknown_keys

PARAMETERS = [field.alias or name for name, field in ChatStartParams.model_fields.items()]


@pytest.mark.requirement("1:unknown-keys")
@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("max_tokens", "maxTokens"),
        ("MaxTokens", "maxTokens"),
        ("maxToken", "maxTokens"),
        ("max_completion_tokens", "maxTokens"),
        ("maxOutputTokens", "maxTokens"),
        ("stop", "stopSequences"),
        ("stop_sequences", "stopSequences"),
        ("conversation_id", "conversationId"),
        ("conversationID", "conversationId"),
        ("tool_choice", "toolChoice"),
        ("toolChoise", "toolChoice"),
        ("response_format", "outputMode"),
        ("reasoning_effort", "thinking"),
        ("model_id", "model"),
        ("modle", "model"),
        ("temperature", "settings.temperature"),
        ("top_p", "settings.top_p"),
        ("topP", "settings.top_p"),
        ("frequency_penalty", "settings.frequency_penalty"),
    ],
)
def test_a_mistyped_key_is_a_warning_with_the_right_name(key: str, right: str) -> None:
    [warning] = warn_about_unknown_keys([key], PARAMETERS)

    assert warning.code == "unknown_parameter"
    assert f"{key!r} is not a parameter" in warning.message
    assert warning.message.endswith(f"The parameter is named {right!r}.")


@pytest.mark.requirement("1:unknown-keys")
@pytest.mark.parametrize("key", ["", "user", "metadata", "later", "x", "partialResultToken", "n", "m" * 70])
def test_any_other_key_is_ignored(key: str) -> None:
    assert warn_about_unknown_keys([key], PARAMETERS) == []


def test_parameters_and_null_are_not_unknown_keys_of_a_turn() -> None:
    message = {"role": "user", "content": "hi"}
    chat = {"messages": [message], "max_tokens": 5, "temperature": None}
    edit = {"target": {"type": "context", "text": ""}, "instruction": "x", "instructions": "y"}

    [warning] = turn_from_wire(ChatStartParams.model_validate(chat)).warnings
    assert "'max_tokens'" in warning.message
    assert EditStartParams.model_validate(edit).model_extra == {"instructions": "y"}


def test_any_number_of_keys_takes_little_time() -> None:
    keys = [f"max_tokens{number}" for number in range(100_000)]
    begun = time.process_time()
    assert len(warn_about_unknown_keys(keys, PARAMETERS)) <= 20
    assert time.process_time() - begun < 1
