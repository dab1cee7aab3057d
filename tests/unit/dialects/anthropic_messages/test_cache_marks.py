"""The places where requests in the Messages dialect are marked for the prompt cache."""

from dataclasses import replace

import pytest

from jumpseat.chat import (
    ChatRequest,
    ImageBlock,
    Message,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.anthropic_messages import MessagesFacts, encode

MARK = {"type": "ephemeral"}
FACTS = MessagesFacts(provider="acme", marks_cache=True)
CALL = Message("assistant", (ToolUseBlock("c", "f", {}, "{}"),))
IMAGE = ImageBlock("AAAA", "image/png")

pytestmark = pytest.mark.requirement("messages:cache-breakpoints")


def body(*messages, facts=FACTS, **more):
    return encode(ChatRequest(messages=messages, model="claude-sonnet-4-5", **more), facts)


def find_marks(body):
    """Return the places of the marks."""
    rows = {f"tools.{index}": row for index, row in enumerate(body.get("tools", ()))}
    rows |= {f"system.{index}": row for index, row in enumerate(body.get("system", ()))}
    for number, message in enumerate(body["messages"]):
        rows |= {f"messages.{number}.{index}": part for index, part in enumerate(message["content"])}
    assert all(row["cache_control"] == MARK for row in rows.values() if "cache_control" in row)
    return [place for place, row in rows.items() if "cache_control" in row]


def test_tools_system_prompt_and_last_two_user_messages_are_marked():
    result = Message("user", (ToolResultBlock("c", "done"), TextBlock("Now?"), IMAGE))
    sent = body(
        Message.user("One"),
        Message.assistant("Yes"),
        Message.user("Two"),
        CALL,
        result,
        system="Be brief.",
        tools=(ToolDefinition("f"), ToolDefinition("g")),
    )
    assert find_marks(sent) == ["tools.1", "system.0", "messages.2.0", "messages.4.2"]


def test_a_short_request_has_fewer_marks():
    assert find_marks(body(Message.user("Hi"))) == ["messages.0.0"]


def test_configured_marks_replace_generated_ones():
    tools = (ToolDefinition("f"),)
    automatic = replace(FACTS, parameters={"cache_control": MARK})
    assert find_marks(body(Message.user("Hi"), facts=automatic, tools=tools)) == []
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    assert body(Message.user("Hi"), facts=replace(FACTS, parameters={"system": system}))["system"] == system


def test_nothing_is_marked_if_the_facts_turn_marks_off():
    plain = body(Message.user("Hi"), facts=replace(FACTS, marks_cache=False), system="Be brief.")
    assert "cache_control" not in str(plain)
    assert plain["system"] == "Be brief."
