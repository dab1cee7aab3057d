"""Whether a message is an answer of the memory: joined or split it is the same, edited it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import (
    ContentBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from jumpseat.engine.same_answer import completed

HERE = Origin("fake", "m")
SIGNED = ThinkingBlock("Hm.", "sig", origin=HERE, opaque="t")
FIRST = TextBlock("Let me see.\n", origin=HERE, opaque="phase")
SECOND = TextBlock("  if x:\n    y()", origin=HERE)
RAW = '{"n": 1.0, "big": 12345678901234567890, "none": null, "empty": {}, "list": [true, "é"]}'
ARGUMENTS = {"n": 1.0, "big": 12345678901234567890, "none": None, "empty": {}, "list": [True, "é"]}
CALL = ToolUseBlock("1", "ls", ARGUMENTS, RAW, origin=HERE, opaque="thought")
WHOLE = (SIGNED, FIRST, SIGNED, SECOND, CALL)
THIN_CALL = ToolUseBlock("1", "ls", ARGUMENTS, RAW)


def thin(*texts: str, **arguments: Any) -> list[ContentBlock]:
    """The answer at a client that keeps texts and calls; `arguments` override those of the model."""
    changed = {**ARGUMENTS, **arguments}
    return [*map(TextBlock, texts), ToolUseBlock("1", "ls", changed, '{"n":1}' if arguments else RAW)]


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    "texts",
    [
        (FIRST.text, SECOND.text),
        (FIRST.text + SECOND.text,),
        (f"{FIRST.text}\n\n{SECOND.text}",),
        ("Let me see.if x:\n    y()",),
        ("Let ", "me", " see.", "\n  if x:\n    y()\n"),
        ("", FIRST.text, " ", SECOND.text),
    ],
)
def test_texts_may_be_joined_split_and_trimmed(texts: tuple[str, ...]) -> None:
    assert completed(thin(*texts), WHOLE, HERE) == WHOLE


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    "texts",
    [
        (FIRST.text,),
        (SECOND.text, FIRST.text),
        (FIRST.text, "  if x:\n  y()"),
        (FIRST.text, SECOND.text, "More."),
        ("let me see.", SECOND.text),
        (),
    ],
)
def test_an_edited_text_is_another_answer(texts: tuple[str, ...]) -> None:
    assert completed(thin(*texts), WHOLE, HERE) is None


def call_with(arguments: dict[str, Any] | None, raw: str) -> ToolUseBlock:
    return ToolUseBlock("1", "ls", arguments, raw)


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    "arguments",
    [
        ARGUMENTS,
        {"list": [True, "é"], "empty": {}, "none": None, "big": 12345678901234567890, "n": 1},
        {"n": 1, "big": 12345678901234567000, "empty": [], "list": [True, "é"]},
    ],
)
def test_reformatted_arguments_are_the_same(arguments: dict[str, Any]) -> None:
    for raw in (RAW, json.dumps(arguments)):
        assert completed([call_with(arguments, raw)], [CALL], HERE) == (CALL,)


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(
    "given",
    [
        [replace(CALL, id="2")],
        [replace(CALL, name="rm")],
        [replace(CALL, arguments={**ARGUMENTS, "n": 2})],
        [replace(CALL, arguments={**ARGUMENTS, "n": True})],
        [replace(CALL, arguments={**ARGUMENTS, "new": 1})],
        [replace(CALL, arguments={**ARGUMENTS, "list": [True]})],
        [replace(CALL, arguments={**ARGUMENTS, "list": [1, "é"]})],
        [replace(CALL, arguments={**ARGUMENTS, "empty": {"a": 1}})],
        [replace(CALL, arguments={})],
        [replace(CALL, raw='{"n": 2}')],
        [replace(CALL, raw="{")],
        [CALL, CALL],
        [],
        [ImageBlock("https://example/x.png"), CALL],
    ],
)
def test_an_edited_call_is_another_answer(given: list[ContentBlock]) -> None:
    assert completed(given, [SIGNED, CALL], HERE) is None


def test_calls_in_another_order_are_another_answer() -> None:
    second = replace(CALL, id="2")

    assert completed([CALL, second], [SIGNED, CALL, second], HERE) is not None
    assert completed([second, CALL], [SIGNED, CALL, second], HERE) is None


def test_a_text_after_a_call_does_not_belong_before_it() -> None:
    assert completed([TextBlock("a"), THIN_CALL], [SIGNED, CALL, TextBlock("a")], HERE) is None


@pytest.mark.requirement("2:block-memory-edited")
@pytest.mark.parametrize(("arguments", "raw"), [(None, '{"a": '), ({}, "{}"), (None, "{}")])
def test_unreadable_arguments_go_back_as_the_model_wrote_them(
    arguments: dict[str, Any] | None, raw: str
) -> None:
    broken = ToolUseBlock("1", "ls", None, '{"a": ', "It is not JSON.", origin=HERE)

    assert completed([call_with(arguments, raw)], [broken], HERE) == (broken,)
    assert completed([call_with({"a": 1}, '{"a": 1}')], [broken], HERE) is None


@pytest.mark.requirement("2:block-memory-edited")
def test_blocks_that_the_client_kept_with_their_data_are_unchanged() -> None:
    own = (
        ThinkingBlock("Hm.", "mine", origin=HERE),
        replace(FIRST, opaque="mine"),
        SECOND,
        replace(CALL, opaque="mine"),
    )

    assert completed(own, WHOLE, HERE) == own
    assert completed(WHOLE, WHOLE, HERE) == WHOLE
    assert completed([TextBlock(FIRST.text + SECOND.text, opaque="mine"), CALL], WHOLE, HERE) == (
        TextBlock(FIRST.text + SECOND.text, opaque="mine"),
        CALL,
    )
    for sealed in (RedactedThinkingBlock("x"), OtherBlock("x")):
        assert completed([sealed, FIRST, SECOND, CALL], WHOLE, HERE) == (sealed, FIRST, SECOND, CALL)


@pytest.mark.requirement("2:block-memory-edited")
def test_a_client_that_drops_the_blocks_it_does_not_know_gets_them_back() -> None:
    kept = [replace(FIRST, opaque="mine"), SECOND, replace(CALL, opaque=None)]

    assert completed(kept, WHOLE, HERE) == (SIGNED, replace(FIRST, opaque="mine"), SIGNED, SECOND, CALL)


@pytest.mark.requirement("2:block-memory-edited")
def test_thinking_that_the_client_shows_gets_its_signature_unless_it_was_edited() -> None:
    shown = ThinkingBlock("Hm.")

    assert completed([shown, FIRST, shown, SECOND, THIN_CALL], WHOLE, HERE) == WHOLE
    assert completed([ThinkingBlock("Hm.\nHm."), FIRST, SECOND, THIN_CALL], WHOLE, HERE) == WHOLE
    assert completed([ThinkingBlock("Hm!"), FIRST, SECOND, THIN_CALL], WHOLE, HERE) is None
    assert completed([shown, THIN_CALL], [CALL], HERE) is None


def test_an_answer_with_another_models_origin_is_not_the_same() -> None:
    given = [replace(TextBlock(FIRST.text + SECOND.text), origin=Origin("other", "m")), THIN_CALL]

    assert completed(given, WHOLE, HERE) is None


def test_a_number_beyond_the_range_of_a_double_is_compared() -> None:
    huge = 10**400
    ours = ToolUseBlock("1", "ls", {"n": huge}, f'{{"n": {huge}}}', origin=HERE)

    assert completed([call_with({"n": huge}, ours.raw)], [ours], HERE) == (ours,)
    assert completed([call_with({"n": -huge}, ours.raw)], [ours], HERE) is None
