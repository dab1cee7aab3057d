"""The memory of recent answers restores blocks that clients dropped, but only in the answer that had them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from jumpseat.chat import (
    ContentBlock,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from jumpseat.engine import memory as memory_module
from jumpseat.engine.memory import LONG_TEXT, MAX_ANSWERS, MAX_BYTES, BlockMemory
from tests.unit.engine.blocks import assistant, result, user

HERE = Origin("fake", "m")
ELSEWHERE = Origin("fake", "other")
HI = Message.user("Hi")
MORE = Message.user("More")
RANDOM_ID = "toolu_01A09q90qw90lq917835lq9"
LONG = "So it is. " * (LONG_TEXT // 7 + 1)
"""A long text. Each repetition has 7 bytes that are not white space."""


def answer(*blocks: ContentBlock, origin: Origin = HERE) -> Response:
    return Response(provider=origin.provider, model=origin.model, content=blocks)


def thought(signature: str, origin: Origin = HERE) -> ThinkingBlock:
    return ThinkingBlock("Hm.", signature, origin=origin, opaque="o")


def make_text(text: str, origin: Origin = HERE) -> TextBlock:
    return TextBlock(text, origin=origin)


def make_call(call_id: str, origin: Origin = HERE) -> ToolUseBlock:
    return ToolUseBlock(call_id, "ls", {"b": 1, "a": 2}, '{"b": 1,  "a": 2}', origin=origin, opaque="signed")


def thin_call(call_id: str) -> ToolUseBlock:
    return ToolUseBlock(call_id, "ls", {"a": 2, "b": 1}, '{"a":2,"b":1}')


def content(
    memory: BlockMemory, *messages: Message, origin: Origin | None = HERE
) -> list[list[ContentBlock]]:
    """Return the content of the assistant messages after the restore."""
    restored = list(memory.restore(messages, origin))
    assert [message.role for message in restored] == [message.role for message in messages]
    return [list(message.content) for message in restored if message.role == "assistant"]


def make_memory(*turns: tuple[Sequence[Message], Response]) -> BlockMemory:
    memory = BlockMemory()
    for after, response in turns:
        memory.remember(response, after)
    return memory


@pytest.mark.requirement("2:block-memory")
def test_every_dropped_block_is_restored_in_its_place() -> None:
    whole = (
        thought("first"),
        RedactedThinkingBlock("cipher+/=", origin=HERE),
        make_text("Let me see."),
        OtherBlock("server_tool_use", opaque='{"type":"x"}', origin=HERE),
        make_call("1"),
        thought("second"),
        make_call("2"),
    )
    memory = make_memory(([HI], answer(*whole)))
    thin = assistant(TextBlock("Let me see."), thin_call("1"), thin_call("2"))

    assert content(memory, HI, thin, user(result("1"), result("2"))) == [list(whole)]


@pytest.mark.requirement("2:block-memory")
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_an_answer_in_several_consecutive_messages_is_restored_whole_in_the_first(parts: int) -> None:
    whole = (thought("first"), make_text("Let me see."), make_call("1"), make_call("2"))
    thin = (TextBlock("Let me see."), thin_call("1"), thin_call("2"))
    memory = make_memory(([HI], answer(*whole)))
    pieces = [assistant(*thin[: 4 - parts]), *(assistant(block) for block in thin[4 - parts :])]
    shortened = [assistant(thin[0]), assistant(thin[2])]

    assert len(pieces) == parts
    assert content(memory, HI, *pieces, user(result("1"))) == [list(whole), *[[]] * (parts - 1)]
    assert content(memory, HI, *shortened) == [[thin[0]], [thin[2]]]


@pytest.mark.requirement("2:block-memory-place")
def test_two_consecutive_answers_each_get_their_own_data() -> None:
    memory = make_memory(
        ([HI], answer(thought("first"), make_text("One."))),
        ([HI, Message.assistant("One.")], answer(thought("second"), make_text("Two."))),
    )

    assert content(memory, HI, Message.assistant("One."), Message.assistant("Two.")) == [
        [thought("first"), make_text("One.")],
        [thought("second"), make_text("Two.")],
    ]


@pytest.mark.requirement("2:block-memory-owner")
def test_another_models_answer_is_unchanged_unless_any_origin_is_accepted() -> None:
    memory = make_memory(
        ([HI], answer(thought("s", ELSEWHERE), make_text("Hello", ELSEWHERE), origin=ELSEWHERE))
    )

    assert content(memory, HI, Message.assistant("Hello")) == [[TextBlock("Hello")]]
    assert content(memory, HI, Message.assistant("Hello"), origin=None) == [
        [thought("s", ELSEWHERE), make_text("Hello", ELSEWHERE)]
    ]


@pytest.mark.requirement("2:block-memory-owner")
def test_of_two_equal_answers_the_requested_models_is_used_or_else_the_newest() -> None:
    memory = make_memory(
        ([HI], answer(thought("mine"), make_text("Hello"))),
        ([HI], answer(thought("theirs", ELSEWHERE), make_text("Hello", ELSEWHERE), origin=ELSEWHERE)),
    )
    hello = Message.assistant("Hello")

    assert content(memory, HI, hello) == [[thought("mine"), make_text("Hello")]]
    assert content(memory, HI, hello, origin=ELSEWHERE) == [
        [thought("theirs", ELSEWHERE), make_text("Hello", ELSEWHERE)]
    ]
    assert content(memory, HI, hello, origin=None) == [
        [thought("theirs", ELSEWHERE), make_text("Hello", ELSEWHERE)]
    ]


@pytest.mark.requirement("2:block-memory-place")
def test_the_same_words_in_several_places_get_the_data_of_each_place() -> None:
    memory, conversation = BlockMemory(), [HI]
    for number in range(5):
        memory.remember(answer(thought(f"s{number}"), make_text("Done.")), conversation)
        conversation += [Message.assistant("Done."), MORE]

    assert content(memory, *conversation) == [[thought(f"s{n}"), make_text("Done.")] for n in range(5)]


@pytest.mark.requirement("2:block-memory-place")
@pytest.mark.parametrize(
    "conversation",
    [
        pytest.param([Message.user("Bye"), Message.assistant("Done.")], id="after another text"),
        pytest.param([Message.assistant("Done.")], id="at the start"),
        pytest.param([HI, HI, Message.assistant("Done.")], id="after a longer history"),
        pytest.param(
            [HI, Message.assistant("Undone."), MORE, Message.assistant("Done.")], id="an edited answer"
        ),
        pytest.param([HI, Message.assistant("Done.\n\n Done.")], id="a longer answer"),
    ],
)
def test_a_short_text_in_another_place_is_another_answer(conversation: list[Message]) -> None:
    memory = make_memory(([HI], answer(thought("s"), make_text("Done."))))

    assert content(memory, *conversation) == [
        list(message.content) for message in conversation if message.role == "assistant"
    ]


@pytest.mark.requirement("2:block-memory-place")
def test_an_ambiguous_numbered_id_in_a_shortened_history_is_not_recognised() -> None:
    memory, conversation = BlockMemory(), [HI]
    for number in range(3):
        memory.remember(answer(thought(f"s{number}"), make_call("call_1")), conversation)
        conversation += [assistant(thin_call("call_1")), user(result("call_1"))]

    assert content(memory, *conversation)[1] == [thought("s1"), make_call("call_1")]
    assert content(memory, *conversation[2:]) == [[thin_call("call_1")], [thin_call("call_1")]]


@pytest.mark.requirement("2:block-memory-place")
@pytest.mark.parametrize(
    ("blocks", "thin"),
    [
        pytest.param([make_text(LONG)], TextBlock(LONG), id="a long text"),
        pytest.param([make_call(RANDOM_ID)], thin_call(RANDOM_ID), id="a random id"),
        pytest.param([make_call("D681PevKs")], thin_call("D681PevKs"), id="a short random id"),
    ],
)
def test_a_unique_answer_is_recognised_anywhere(blocks: list[ContentBlock], thin: ContentBlock) -> None:
    memory = make_memory(([HI], answer(thought("s"), *blocks)))

    assert content(memory, MORE, assistant(thin)) == [[thought("s"), *blocks]]
    memory.remember(answer(thought("other"), *blocks), [MORE, MORE])
    assert content(memory, Message.user("?"), assistant(thin)) == [[thin]]


@pytest.mark.requirement("2:block-memory-place")
@pytest.mark.parametrize("name", ["call_1", "functions.ls:0", "functions.sha256sum:0", "12345678"])
def test_a_numbered_id_is_not_recognised_elsewhere(name: str) -> None:
    tool = "sha256sum" if "sha256sum" in name else "ls"
    call, thin = replace(make_call(name), name=tool), replace(thin_call(name), name=tool)
    memory = make_memory(([HI], answer(thought("s"), call)))

    assert content(memory, MORE, assistant(thin)) == [[thin]]


@pytest.mark.requirement("2:block-memory-place")
def test_a_short_text_after_the_same_last_exchange_of_another_chat_is_another_answer() -> None:
    exchange = [Message.assistant("Shall I?"), Message.user("Yes")]
    memory = make_memory(([HI, *exchange], answer(thought("s"), make_text("Done."))))

    assert content(memory, MORE, *exchange, Message.assistant("Done."))[1] == [TextBlock("Done.")]


@pytest.mark.requirement("2:block-memory-place")
def test_an_answer_after_an_edited_one_is_still_recognised() -> None:
    memory = make_memory(
        ([HI], answer(thought("first"), make_text("Hello"))),
        ([HI, Message.assistant("Hello"), MORE], answer(thought("second"), make_text("World"))),
    )
    edited = [HI, Message.assistant("Hello!!"), MORE, Message.assistant("World")]

    assert content(memory, *edited) == [[TextBlock("Hello!!")], [thought("second"), make_text("World")]]


@pytest.mark.requirement("2:block-memory-place")
def test_a_long_answer_after_an_edited_question_is_recognised() -> None:
    turns = [
        ([HI], answer(thought("first"), make_text(LONG))),
        ([HI, Message.assistant(LONG), MORE], answer(thought("second"), make_text("World"))),
    ]
    edited = [HI, Message.assistant(LONG), Message.user("Less"), Message.assistant("World")]

    assert content(make_memory(*turns), *edited)[1] == [thought("second"), make_text("World")]
    assert content(make_memory(*turns), *edited[2:]) == [[TextBlock("World")]]


@pytest.mark.requirement("2:block-memory-place")
def test_a_numbered_id_is_recognised_after_the_same_text_in_a_shortened_history() -> None:
    history = [HI, Message.assistant("Hello"), MORE]
    memory = make_memory((history, answer(thought("s"), make_call("call_1"))))

    assert content(memory, *history[1:], assistant(thin_call("call_1")))[1] == [
        thought("s"),
        make_call("call_1"),
    ]


@pytest.mark.requirement("2:block-memory-place")
@pytest.mark.parametrize(
    "response",
    [answer(), answer(thought("s")), answer(thought("s"), make_text("  ")), answer(make_text("Hello"))],
)
def test_an_answer_without_words_or_without_provider_data_is_not_remembered(response: Response) -> None:
    memory = make_memory(([HI], response))

    assert (len(memory), memory.size) == (0, 0)
    assert content(memory, HI, assistant()) == [[]]


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    "kept",
    [
        ThinkingBlock("Hm.", "mine", origin=HERE),
        ThinkingBlock("Hm.", opaque="mine", origin=HERE),
        RedactedThinkingBlock("x"),
        OtherBlock("x"),
    ],
)
def test_a_client_that_keeps_provider_data_removes_blocks_on_purpose(kept: ContentBlock) -> None:
    memory = make_memory(
        ([HI], answer(thought("first"), make_text("Hello"), thought("second"), make_call("1")))
    )
    edited = (kept, TextBlock("Hello"), thin_call("1"))

    assert content(memory, HI, assistant(*edited)) == [list(edited)]


@pytest.mark.requirement("2:block-memory")
@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([make_text(LONG)], id="text"),
        pytest.param([thought("s"), make_text(LONG)], id="thinking"),
        pytest.param([thought("s"), make_text(LONG), make_call(RANDOM_ID)], id="a call"),
    ],
)
def test_messages_are_not_read_for_a_client_that_sends_answers_back_whole(
    blocks: list[ContentBlock], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = [HI, assistant(*blocks)] * 50
    memory = make_memory((history, answer(*blocks)))
    read: list[object] = []
    monkeypatch.setattr(memory_module, "extract_words", read.append)

    assert list(memory.restore([*history, HI], HERE)) == [*history, HI]
    assert not read


def test_one_answer_is_remembered_once() -> None:
    memory = make_memory(*[([HI], answer(thought("s"), make_text("Hello")))] * 3)

    assert len(memory) == 1


@pytest.mark.requirement("2:block-memory-bounds")
def test_the_least_recently_used_answer_is_forgotten_first() -> None:
    memory = BlockMemory(max_answers=2)
    asked = [Message.user(f"Question {number}") for number in range(3)]
    for number in range(2):
        memory.remember(answer(thought(f"s{number}"), make_text("Done.")), [asked[number]])
    content(memory, asked[0], Message.assistant("Done."))
    memory.remember(answer(thought("s2"), make_text("Done.")), [asked[2]])

    kept = [content(memory, question, Message.assistant("Done.")) for question in asked]
    assert kept == [
        [[thought("s0"), make_text("Done.")]],
        [[TextBlock("Done.")]],
        [[thought("s2"), make_text("Done.")]],
    ]


@pytest.mark.requirement("2:block-memory-bounds")
def test_the_memory_is_bounded_in_bytes_too_and_frees_what_it_forgets() -> None:
    memory = BlockMemory(max_bytes=20_000)
    for number in range(50):
        sealed = ThinkingBlock("", "x" * 5_000, origin=HERE)
        memory.remember(answer(sealed, make_text(f"Answer {number}")), [HI])
        assert memory.size <= 20_000
    assert 1 <= len(memory) <= 3

    memory.remember(answer(ThinkingBlock("", "x" * 30_000), make_text("Too much")), [HI])
    assert 1 <= len(memory) <= 3
    assert content(memory, HI, Message.assistant("Answer 49"))[0][0].type == "thinking"
    assert (MAX_ANSWERS, MAX_BYTES) == (1000, 32 << 20)


def test_half_of_a_surrogate_pair_is_remembered_like_any_text() -> None:
    memory = make_memory(([Message.user("\ud83d")], answer(thought("s"), make_text("\ude00"))))

    assert content(memory, Message.user("\ud83d"), Message.assistant("\ude00")) == [
        [thought("s"), make_text("\ude00")]
    ]


def test_an_equal_call_elsewhere_does_not_hide_the_thinking_of_an_answer() -> None:
    # Some servers restart counting the ids of calls in every answer.
    memory = BlockMemory()
    call = ToolUseBlock("call_1", "list_files", {}, "{}")
    answered = user(result("call_1"))
    plain, sealed = [call], [RedactedThinkingBlock("sealed"), call]
    history = [HI, Message("assistant", plain), answered]
    for messages, content in ((history[:1], plain), (history, sealed)):
        memory.remember(Response(provider=HERE.provider, model=HERE.model, content=content), messages)

    restored = memory.restore([*history, Message("assistant", [call]), answered], HERE)

    assert [list(each.content) for each in restored if each.role == "assistant"] == [plain, sealed]
