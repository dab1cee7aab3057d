"""Tool call ids in the form that Mistral accepts."""

import re

import pytest

from jumpseat.chat import ChatRequest, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.dialects.chat_completions import EndpointFacts, encode
from jumpseat.dialects.chat_completions.tool_ids import nine_character_ids

OURS = ["call_1_r1", "call_abcdefghijklmnop", "toolu_01", "", "ž" * 9, "\ud83d", "a" * 200]


def test_every_id_becomes_nine_unique_letters_and_digits():
    mapped = nine_character_ids(OURS)
    assert list(mapped) == OURS
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in mapped.values())
    assert len(set(mapped.values())) == len(OURS)


def test_a_valid_id_is_kept_even_if_another_would_map_to_it():
    taken = nine_character_ids(["call_1"])["call_1"]
    mapped = nine_character_ids(["call_1", taken, "abcDEF123"])
    assert (mapped[taken], mapped["abcDEF123"]) == (taken, "abcDEF123")
    assert mapped["call_1"] not in (taken, "call_1")


def test_ids_do_not_change_as_a_conversation_grows():
    assert nine_character_ids(OURS).items() <= nine_character_ids([*OURS, "another"]).items()


@pytest.mark.requirement("chat:nine-character-ids")
def test_ids_of_calls_and_results_are_mapped_alike_and_only_in_the_request():
    calls = (ToolUseBlock("call_1", "f", {}, "{}"), ToolUseBlock("abcDEF123", "g", {}, "{}"))
    results = (ToolResultBlock("call_1", "one"), ToolResultBlock("abcDEF123", "two"), TextBlock("Go on"))
    conversation = (Message.user("Go"), Message("assistant", calls), Message("user", results))
    request = ChatRequest(messages=conversation, model="m")
    facts = EndpointFacts(provider="acme", tool_ids="nine_characters")
    _, assistant, first, second, _ = encode(request, facts)["messages"]
    sent = [call["id"] for call in assistant["tool_calls"]]
    assert sent == [first["tool_call_id"], second["tool_call_id"]]
    assert sent == [nine_character_ids(["call_1"])["call_1"], "abcDEF123"]
    assert request.messages[1].content[0].id == "call_1"
    unmapped = encode(request, EndpointFacts(provider="acme"))["messages"]
    assert unmapped[1]["tool_calls"][0]["id"] == unmapped[2]["tool_call_id"] == "call_1"
