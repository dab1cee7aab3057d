"""The places where requests in the chat-completions dialect are marked for the prompt cache."""

import pytest

from jumpseat.chat import ChatRequest, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.dialects.chat_completions import EndpointFacts, encode

MARK = {"type": "ephemeral"}
CALLS = Message("assistant", (ToolUseBlock("a", "f", {}, "{}"), ToolUseBlock("b", "f", {}, "{}")))
RESULTS = Message("user", (ToolResultBlock("a", "one"), ToolResultBlock("b", "two")))
LOOK = Message("user", (TextBlock("Look"), ImageBlock("AAAA", "image/png")))

pytestmark = pytest.mark.requirement("chat:cache-marks")


def messages(*given, **facts):
    """Return the messages of the request body, which begin with the system prompt."""
    request = ChatRequest(messages=given, model="m", system="Be brief.")
    return encode(request, EndpointFacts(provider="acme", **facts))["messages"]


def test_requests_to_copilot_have_marks_on_messages_including_tool_messages():
    sent = messages(Message.user("Hi"), CALLS, RESULTS, cache_marks="messages")
    roles_of_marked = [message["role"] for message in sent if message.get("copilot_cache_control") == MARK]
    assert roles_of_marked == ["system", "user", "tool"]
    assert sent[-1]["tool_call_id"] == "b"
    assert sent[0]["content"] == "Be brief."


def test_only_the_last_two_turns_of_the_user_are_marked():
    turns = [Message.user("One"), Message.assistant("1"), Message.user("Two"), CALLS, RESULTS]
    sent = messages(*turns, Message.assistant("2"), Message.user("Three"), cache_marks="messages")
    at = [index for index, message in enumerate(sent) if "copilot_cache_control" in message]
    assert at == [0, 6, 8]


def test_gateways_get_a_mark_on_the_last_part_of_the_content():
    sent = messages(Message.user("Hi"), Message.assistant("Yes"), LOOK, cache_marks="parts")
    first, last = sent[1]["content"], sent[3]["content"]
    assert sent[0]["content"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert first == [{"type": "text", "text": "Hi", "cache_control": MARK}]
    assert [part.get("cache_control") for part in last] == [None, MARK]
    assert sent[2]["content"] == "Yes"


def test_a_renamed_role_is_marked_too():
    sent = messages(Message.user("Hi"), cache_marks="parts", roles={"system": "developer", "user": "human"})
    assert ["cache_control" in message["content"][-1] for message in sent] == [True, True]


def test_other_endpoints_get_no_marks():
    assert "cache_control" not in str(messages(Message.user("Hi"), CALLS, RESULTS))
