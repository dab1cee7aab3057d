"""Any blocks of a client make a valid request, and no text of the user is lost."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    InvalidRequestError,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.engine.conversation import CLOSING, OPENING, Conversation
from jumpseat.engine.memory import BlockMemory

HERE = Origin("fake", "m")
TEXTS = st.sampled_from(["", " ", "a", "b", "Done.", "\n c"])
# Use few ids, so that they repeat, and some that look like generated ones.
IDS = st.sampled_from(["1", "2", "1_2"])
OPAQUE = st.sampled_from([None, "x"])
CALL = st.builds(lambda name: ToolUseBlock(name, "f", {}, "{}"), IDS)
SPOKEN = st.one_of(
    st.builds(TextBlock, TEXTS, opaque=OPAQUE),
    CALL,
    st.builds(ThinkingBlock, TEXTS, st.sampled_from([None, "s"])),
    st.builds(RedactedThinkingBlock, TEXTS),
    st.builds(OtherBlock, TEXTS, opaque=OPAQUE),
)
TYPED = st.one_of(
    st.builds(TextBlock, TEXTS), st.builds(ContextBlock, TEXTS), st.builds(ToolResultBlock, IDS, TEXTS)
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(Message, st.just("user"), st.lists(TYPED, max_size=3)),
        st.builds(Message, st.just("assistant"), st.lists(SPOKEN, max_size=4)),
    ),
    min_size=1,
    max_size=8,
)


def arrange(messages: list[Message]) -> list[Message] | None:
    """Return the conversation that is sent; None if it is refused."""
    try:
        return Conversation(messages).arrange([])
    except InvalidRequestError:
        return None


def blocks_of(messages: Iterable[Message], role: str) -> list[ContentBlock]:
    return [block for message in messages if message.role == role for block in message.content]


def is_blank(block: ContentBlock) -> bool:
    return isinstance(block, TextBlock) and not block.text.strip()


def list_user_blocks(messages: Iterable[Message]) -> list[ContentBlock]:
    """Return the user's blocks in order, without results and blank texts."""
    return [
        block
        for block in blocks_of(messages, "user")
        if not isinstance(block, ToolResultBlock) and not is_blank(block)
    ]


@pytest.mark.requirement("2:orphans", "2:order")
@given(MESSAGES)
def test_any_conversation_becomes_valid(messages: list[Message]) -> None:
    sent = arrange(messages)
    if sent is None:
        return

    assert sent[0].role == "user"
    ids = [block.id for block in blocks_of(sent, "assistant") if isinstance(block, ToolUseBlock)]
    assert len(ids) == len(set(ids))
    for message, following in zip(sent, [*sent[1:], None], strict=True):
        assert message.content
        calls = [block.id for block in message.content if isinstance(block, ToolUseBlock)]
        answered = following.content[: len(calls)] if following else ()
        assert [each.tool_use_id for each in answered if isinstance(each, ToolResultBlock)] == calls
    results = [block for block in blocks_of(sent, "user") if isinstance(block, ToolResultBlock)]
    assert [each.tool_use_id for each in results] == ids

    opening = [TextBlock(OPENING)] if sent[0] == Message.user(OPENING) else []
    closing = [TextBlock(CLOSING)] if sent[-1] == Message.user(CLOSING) else []
    assert list_user_blocks(sent) == [*opening, *list_user_blocks(messages), *closing]
    assert (sent[-1].role == "user") or messages[-1].role == "assistant"
    contents = {each.content for each in blocks_of(messages, "user") if isinstance(each, ToolResultBlock)}
    assert all(any(text in each.content for each in results) for text in contents)


@pytest.mark.requirement("2:orphans", "2:order")
@given(MESSAGES)
def test_a_valid_conversation_is_not_changed_again(messages: list[Message]) -> None:
    sent = arrange(messages)
    if sent is not None:
        assert arrange(sent) == sent


def thin(message: Message) -> Message:
    """Return the part of a message that a client with only text and calls preserves."""
    kept = [
        TextBlock(block.text) if isinstance(block, TextBlock) else block
        for block in message.content
        if isinstance(block, TextBlock | ToolUseBlock | ToolResultBlock | ContextBlock)
    ]
    return Message(message.role, kept)


@pytest.mark.requirement("2:block-memory")
@given(MESSAGES)
def test_a_conversation_that_was_remembered_is_restored_whole(messages: list[Message]) -> None:
    """Remember each answer after the client's messages, then send it back with only text and calls."""
    memory = BlockMemory()
    held = [thin(message) for message in messages]
    for index, message in enumerate(messages):
        if message.role == "assistant":
            answer = Response(provider=HERE.provider, model=HERE.model, content=message.content)
            memory.remember(answer, held[:index])

    restored = memory.restore(held, HERE)

    for message, whole, kept in zip(messages, restored, held, strict=True):
        has_words = not all(map(is_blank, kept.content))
        if message.role == "user" or not has_words:
            assert list(whole.content) == list(kept.content)
        else:
            assert list(whole.content) == list(message.content)
