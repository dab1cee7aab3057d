"""One answer that is split into several choices, as Copilot sends Claude's answers without streaming."""

import json

import pytest

from tests.unit.dialects.chat_completions.answers import answer

CALL = {
    "id": "tooluse_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
}
SAID = {"role": "assistant", "content": "I will look."}
CALLED = {"role": "assistant", "tool_calls": [CALL]}


def body_of(*choices):
    return json.dumps({"id": "r-1", "model": "m-1", "choices": choices}).encode()


@pytest.mark.parametrize("messages", [(SAID, CALLED), (CALLED, SAID), ({**SAID, **CALLED},)])
def test_choices_without_an_index_are_one_answer(messages):
    choices = ({"finish_reason": "tool_calls", "message": message} for message in messages)
    response = answer(body_of(*choices), "application/json")
    assert response.text == "I will look."
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("tooluse_1", {"city": "Rome"})]
    assert response.stop_reason == "tool_use"


def test_choices_with_an_index_are_separate_answers():
    choices = [
        {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": f"{index}"}}
        for index in range(2)
    ]
    assert answer(body_of(*choices), "application/json").text == "0"


def test_a_choice_without_a_message_is_skipped():
    choices = ({"finish_reason": "stop", "message": SAID}, {"finish_reason": "stop", "message": None}, {})
    assert answer(body_of(*choices), "application/json").text == "I will look."
