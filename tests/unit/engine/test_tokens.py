"""Estimates of a prompt's length, and the memory of providers' counts."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from jumpseat.engine.tokens import PromptSize, TokenMemory, estimate_tokens

pytestmark = pytest.mark.requirement("5:estimate-tokens")

HELLO = Message.user("Hello, who are you?")
ANSWER = Message.assistant("A model.")
TOOL = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"path": {"type": "string"}}})


def request(*messages: Message, **more: Any) -> ChatRequest:
    return ChatRequest(**{"messages": messages or (HELLO,), "model": "m", **more})


def cost(*blocks: Any) -> int:
    """Return the tokens that these blocks add to a message."""
    return estimate_tokens(request(Message("user", blocks))) - estimate_tokens(request(Message("user", ())))


def test_text_is_counted_in_bytes_for_a_fair_estimate_in_every_script() -> None:
    assert cost(TextBlock("a" * 4000)) == 1000
    assert cost(TextBlock("語" * 4000)) == 3000
    assert cost(TextBlock("\ud800" * 4)) == 3
    assert cost(TextBlock("")) == 0


def test_everything_a_model_reads_is_counted_and_encrypted_data_is_not() -> None:
    assert cost(ToolUseBlock("1", "f" * 40, None, "x" * 400)) == 110
    assert cost(ToolResultBlock("1", "x" * 400)) == 100
    assert cost(ThinkingBlock("x" * 400, signature="s" * 4000)) == 100
    assert cost(TextBlock("x" * 400, opaque="s" * 4000)) == 100
    assert cost(ContextBlock("x" * 400, label="a.py")) > 100
    assert cost(ImageBlock("https://example.org/a.png")) == 1000
    assert estimate_tokens(request(system="x" * 400)) == estimate_tokens(request()) + 100


def test_tools_cost_their_schemas_and_for_claude_a_preamble() -> None:
    plain = estimate_tokens(request())
    assert 15 < estimate_tokens(request(tools=[TOOL])) - plain < 50
    assert estimate_tokens(request(tools=[TOOL], tool_choice="none")) == plain
    of_claude = estimate_tokens(request(tools=[TOOL], model="claude-x")) - estimate_tokens(
        request(model="claude-x")
    )
    assert 500 < of_claude < 600


def test_the_next_prompt_is_measured_by_the_last_count_plus_an_estimate() -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage(5000, 70))
    added = Message.user("x" * 400)  # An estimate of 100 tokens, and 4 for the framing of the message.

    assert memory.measure("p", request(HELLO, ANSWER, added)) == PromptSize(5000 + 70 + 104)
    assert memory.measure("p", request(HELLO, ANSWER, added, added)) == PromptSize(5000 + 70 + 208)


def test_reasoning_is_counted_only_if_it_is_sent_back() -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage(100, 70, reasoning_tokens=60))
    thought = Message("assistant", (ThinkingBlock("Hm.", "sig"), TextBlock("A model.")))

    assert memory.measure("p", request(HELLO, ANSWER)).tokens == 110
    assert memory.measure("p", request(HELLO, thought)).tokens == 170


@pytest.mark.parametrize(
    ("provider", "other"),
    [
        ("q", {}),
        ("p", {"model": "n"}),
        ("p", {"system": "Be brief."}),
        ("p", {"tools": [TOOL]}),
        ("p", {"messages": (Message.user("Hello?"), ANSWER, HELLO)}),
        ("p", {"messages": (HELLO, HELLO)}),
    ],
)
def test_a_count_does_not_apply_to_another_conversation(provider: str, other: dict[str, Any]) -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage(5000, 70))
    asked = request(**{"messages": (HELLO, ANSWER, HELLO), **other})

    assert memory.measure(provider, asked) == PromptSize(estimate_tokens(asked))


def test_a_prompt_is_measured_from_its_latest_known_turn() -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage(100, 10))
    memory.remember_turn("p", request(HELLO, ANSWER, HELLO), Usage(900, 10))

    assert memory.measure("p", request(HELLO, ANSWER, HELLO, ANSWER)).tokens == 910


def test_only_a_requested_count_is_exact() -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage(5000, 70))
    assert memory.measure("p", request()) == PromptSize(5000)

    memory.remember_count("p", request(), 4000)
    assert memory.measure("p", request()) == PromptSize(4000, exact=True)
    assert not memory.measure("p", request(thinking="high")).exact


def test_a_turn_without_usage_is_not_remembered() -> None:
    memory = TokenMemory()
    memory.remember_turn("p", request(), Usage())

    assert memory.measure("p", request()) == PromptSize(estimate_tokens(request()))


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    memory = TokenMemory(capacity=2)
    asked = [request(Message.user(str(number))) for number in range(3)]
    for each in asked:
        memory.remember_count("p", each, 1)

    assert [memory.measure("p", each).exact for each in asked] == [False, True, True]


def test_messages_that_are_equal_only_when_joined_have_different_keys() -> None:
    memory = TokenMemory()
    memory.remember_count("p", request(Message("user", (TextBlock("ab"), TextBlock("c")))), 1)

    assert not memory.measure("p", request(Message("user", (TextBlock("a"), TextBlock("bc"))))).exact
    memory.remember_count("p", request(Message.user("atextb")), 1)
    assert not memory.measure("p", request(Message("user", (TextBlock("a"), TextBlock("b"))))).exact
    image = "A" * 4000
    memory.remember_count("p", request(Message("user", (ImageBlock(image),))), 1)
    assert memory.measure("p", request(Message("user", (ImageBlock(image),)))).exact
    assert not memory.measure("p", request(Message("user", (ImageBlock(image[:-1] + "B"),)))).exact
