"""Repairs to a conversation for every provider: calls answered, nothing empty, the user first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    InvalidRequestError,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    WarningEvent,
)
from jumpseat.engine.conversation import CLOSING, OPENING, Conversation
from tests.unit.engine.blocks import TEXT, assistant, call, make_missing_result, result, user

START = user(TEXT)
OTHER = OtherBlock("search", "found", opaque='{"type":"x"}')


def arrange(*messages: Message) -> tuple[list[Message], list[str]]:
    """Return the messages that are sent, and the codes of the warnings."""
    warnings: list[WarningEvent] = []
    arranged = Conversation(messages).arrange(warnings)
    return arranged, [warning.code for warning in warnings]


def list_refused_paths(*messages: Message) -> list[str]:
    """Return the paths for which the conversation is refused."""
    with pytest.raises(InvalidRequestError) as caught:
        arrange(*messages)
    return [problem.path for problem in caught.value.problems]


@pytest.mark.requirement("2:orphans")
@pytest.mark.parametrize(
    "messages",
    [
        [START],
        [START, assistant(TEXT), START],
        [START, assistant(call("1"), call("2")), user(result("1"), result("2"))],
        [START, assistant(ThinkingBlock("hm", "s"), TEXT, call("1")), user(result("1"), TEXT)],
        [START, assistant(OTHER), START],
        [START, START, assistant(TEXT)],
        [user(ImageBlock("https://example/x.png"), ContextBlock(""))],
    ],
)
def test_a_valid_conversation_is_unchanged(messages: list[Message]) -> None:
    assert arrange(*messages) == (messages, [])


@pytest.mark.requirement("2:tool-use-without-result")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [assistant(TEXT, call("1"))],
            [assistant(TEXT, call("1")), user(make_missing_result("1"))],
            id="at the end",
        ),
        pytest.param(
            [assistant(call("1")), user(TEXT)],
            [assistant(call("1")), user(make_missing_result("1"), TEXT)],
            id="before the user's next words",
        ),
        pytest.param(
            [assistant(call("1")), assistant(TEXT)],
            [assistant(call("1")), user(make_missing_result("1")), assistant(TEXT)],
            id="between two assistant messages",
        ),
        pytest.param(
            [assistant(call("1"), call("2")), user(result("2"))],
            [assistant(call("1"), call("2")), user(make_missing_result("1"), result("2"))],
            id="one of two",
        ),
        pytest.param(
            [assistant(call("1")), user(result("1")), assistant(call("2"))],
            [assistant(call("1")), user(result("1")), assistant(call("2")), user(make_missing_result("2"))],
            id="only the last",
        ),
        pytest.param(
            [assistant(call("1")), user(TEXT), assistant(call("1")), user(result("1"))],
            [
                assistant(call("1")),
                user(make_missing_result("1"), TEXT),
                assistant(call("1_2")),
                user(result("1_2")),
            ],
            id="the first of two with one id",
        ),
    ],
)
def test_a_call_without_a_result_gets_an_error_result(
    messages: list[Message], expected: list[Message]
) -> None:
    assert arrange(START, *messages) == ([START, *expected], ["tool_result_missing"])


@pytest.mark.requirement("2:result-without-tool-use", "2:no-delta-when-invalid")
@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([user(result("1"))], "messages.0.content.0.toolUseId"),
        ([START, assistant(call("1")), user(TEXT, result("2"))], "messages.2.content.1.toolUseId"),
        ([user(result("1")), assistant(call("1"))], "messages.0.content.0.toolUseId"),
        ([START, assistant(TEXT), user(result(""))], "messages.2.content.0.toolUseId"),
    ],
)
def test_a_result_without_its_call_is_refused_with_its_path(messages: list[Message], path: str) -> None:
    assert list_refused_paths(*messages) == [path]


@pytest.mark.requirement("2:wrong-role")
@pytest.mark.parametrize("block", [call("1"), ThinkingBlock("hm"), RedactedThinkingBlock("x"), OTHER])
def test_an_assistants_block_in_a_users_message_is_refused(block: ContentBlock) -> None:
    assert list_refused_paths(START, user(TEXT, block), user(block)) == [
        "messages.1.content.1",
        "messages.2.content.0",
    ]


@pytest.mark.requirement("2:wrong-role")
def test_a_users_block_in_an_assistants_message_is_refused() -> None:
    assert list_refused_paths(START, assistant(call("1"), ContextBlock("x"))) == ["messages.1.content.1"]


@pytest.mark.requirement("12:rounds-split")
def test_an_answer_with_results_is_sent_as_the_messages_of_its_rounds() -> None:
    thought = ThinkingBlock("hm", "s")
    answer = assistant(
        thought, call("1"), call("2"), result("1"), result("2"), TEXT, call("3"), result("3"), TEXT
    )

    assert arrange(START, answer, START) == (
        [
            START,
            assistant(thought, call("1"), call("2")),
            user(result("1"), result("2")),
            assistant(TEXT, call("3")),
            user(result("3")),
            assistant(TEXT),
            START,
        ],
        [],
    )


@pytest.mark.requirement("12:rounds-split")
def test_daemon_and_client_may_each_answer_some_calls_of_a_round() -> None:
    answer = assistant(call("1"), call("2"), result("1"))

    assert arrange(START, answer, user(result("2"), TEXT)) == (
        [START, assistant(call("1"), call("2")), user(result("1"), result("2")), user(TEXT)],
        [],
    )


@pytest.mark.requirement("12:continuation")
def test_an_answer_that_ends_with_a_result_is_continued() -> None:
    assert arrange(START, assistant(call("1"), result("1"))) == (
        [START, assistant(call("1")), user(result("1"))],
        [],
    )


def test_an_answer_directly_after_a_result_needs_no_user_message() -> None:
    messages = [START, assistant(call("1"), result("1")), assistant(TEXT), START]

    assert arrange(*messages) == (
        [START, assistant(call("1")), user(result("1")), assistant(TEXT), START],
        [],
    )


def test_a_result_in_an_answer_without_its_call_is_refused_with_its_path() -> None:
    answer = assistant(TEXT, call("1"), result("1"), result("2"))

    assert list_refused_paths(START, answer) == ["messages.1.content.3.toolUseId"]


@pytest.mark.requirement("2:orphans")
def test_results_come_before_the_users_words_in_the_order_of_their_calls() -> None:
    messages = [START, assistant(call("1"), call("2")), user(TEXT, result("2")), user(result("1"), TEXT)]

    assert arrange(*messages) == (
        [START, assistant(call("1"), call("2")), user(result("1"), result("2"), TEXT), user(TEXT)],
        [],
    )


@pytest.mark.requirement("2:orphans")
def test_calls_of_two_messages_may_get_their_results_after_both() -> None:
    messages = [START, assistant(call("1")), assistant(call("2")), user(result("1"), result("2"))]

    assert arrange(*messages) == (
        [START, assistant(call("1")), user(result("1")), assistant(call("2")), user(result("2"))],
        [],
    )


@pytest.mark.requirement("2:orphans")
@pytest.mark.parametrize("words", [(), (TextBlock("more"),)])
def test_a_late_result_moves_to_its_call(words: Sequence[ContentBlock]) -> None:
    messages = [START, assistant(call("1")), user(TEXT), assistant(TEXT), user(result("1"), *words)]
    tail = user(*words) if words else Message.user(CLOSING)

    assert arrange(*messages) == (
        [START, assistant(call("1")), user(result("1"), TEXT), assistant(TEXT), tail],
        ["tool_result_moved"],
    )


@pytest.mark.requirement("2:orphans")
@pytest.mark.parametrize(
    ("results", "joined"),
    [
        ([result("1", "a"), result("1", "a")], result("1", "a")),
        ([result("1", "a", is_error=True), result("1", "b")], result("1", "a\n\nb")),
        ([result("1", "a"), result("1", "b", is_error=True)], result("1", "a\n\nb", is_error=True)),
    ],
)
def test_two_results_of_one_call_become_one(results: list[ContentBlock], joined: ContentBlock) -> None:
    expected = [START, assistant(call("1")), user(joined)]

    assert arrange(START, assistant(call("1")), user(*results)) == (expected, ["tool_results_joined"])
    assert arrange(START, assistant(call("1")), *map(user, results)) == (expected, ["tool_results_joined"])


@pytest.mark.requirement("2:orphans")
def test_repeated_ids_become_unique() -> None:
    first, second = result("1", "first"), result("1", "second")
    messages = [
        START,
        *(assistant(call("1")), user(first)),
        *(assistant(call("1"), call("1_2")), user(second, result("1_2", "third"))),
        *(assistant(call("1")), user(result("1", "fourth"))),
    ]

    assert arrange(*messages) == (
        [
            START,
            *(assistant(call("1")), user(first)),
            *(assistant(call("1_3"), call("1_2")), user(result("1_3", "second"), result("1_2", "third"))),
            *(assistant(call("1_4")), user(result("1_4", "fourth"))),
        ],
        [],
    )


@pytest.mark.requirement("2:orphans")
def test_two_calls_of_one_message_with_one_id_are_answered_in_order() -> None:
    messages = [START, assistant(call("1"), call("1")), user(result("1", "a"), result("1", "b"))]

    assert arrange(*messages) == (
        [START, assistant(call("1"), call("1_2")), user(result("1", "a"), result("1_2", "b"))],
        [],
    )


@pytest.mark.requirement("2:empty-messages")
@pytest.mark.parametrize("content", [(), (TextBlock(""),), (TextBlock(" \n"), TextBlock(""))])
def test_an_empty_user_message_is_left_out_with_a_warning(content: Sequence[ContentBlock]) -> None:
    assert arrange(user(*content), START) == ([START], ["empty_message_dropped"])
    assert arrange(START, assistant(TEXT), user(*content)) == (
        [START, assistant(TEXT), Message.user(CLOSING)],
        ["empty_message_dropped"],
    )


@pytest.mark.requirement("2:empty-messages")
@pytest.mark.parametrize(
    "content",
    [
        (),
        (TextBlock(" "),),
        (OtherBlock("search", "found"),),
    ],
)
def test_an_empty_answer_is_left_out_without_a_warning(content: Sequence[ContentBlock]) -> None:
    assert arrange(START, assistant(*content), START) == ([START, START], [])


@pytest.mark.requirement("2:empty-messages")
@pytest.mark.parametrize("block", [ThinkingBlock("hm", "s"), RedactedThinkingBlock("x")])
def test_reasoning_alone_is_left_out_with_a_warning(block: ContentBlock) -> None:
    assert arrange(START, assistant(block), START) == ([START, START], ["unfinished_dropped"])


@pytest.mark.requirement("2:empty-messages")
def test_an_empty_answer_does_not_separate_a_call_from_its_result() -> None:
    messages = [START, assistant(call("1")), assistant(), user(result("1"))]

    assert arrange(*messages) == ([START, assistant(call("1")), user(result("1"))], [])


@pytest.mark.requirement("2:empty-messages")
@pytest.mark.parametrize("messages", [[user()], [user(TextBlock(" "))], [assistant(), user(), assistant()]])
def test_a_conversation_without_content_is_refused(messages: list[Message]) -> None:
    assert list_refused_paths(*messages) == ["messages"]


@pytest.mark.requirement("2:opening")
def test_a_conversation_that_the_assistant_begins_gets_a_first_user_message() -> None:
    messages = [user(), assistant(TEXT), START]

    assert arrange(*messages) == (
        [Message.user(OPENING), assistant(TEXT), START],
        ["empty_message_dropped", "opening_added"],
    )


@pytest.mark.requirement("2:opening")
def test_a_user_message_is_not_added_if_the_assistant_may_begin() -> None:
    warnings: list[WarningEvent] = []

    arranged = Conversation([assistant(TEXT), START]).arrange(warnings, user_begins=False)

    assert arranged == [assistant(TEXT), START]
    assert warnings == []


@pytest.mark.requirement("2:order")
def test_a_last_message_of_the_assistant_is_sent_unchanged() -> None:
    assert arrange(START, assistant(TEXT)) == ([START, assistant(TEXT)], [])
