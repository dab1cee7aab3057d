"""A client's blocks match the daemon's message if they were trimmed, but not if they were edited."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import ContextBlock, ImageBlock, Message, Origin, TextBlock, ThinkingBlock, ToolResultBlock
from jumpseat.conversations.same_content import extract_words, is_same_answer, is_same_content
from tests.unit.conversations.support import HERE, assistant, blocks, call, result, thought, user

HUGE = 10**400
"""An integer that is too large for a double. JavaScript reads it as infinity."""

SPACES = "".join(character for character in map(chr, range(0x11000)) if character.isspace())
IMAGE = ImageBlock("aGk=", "image/png")
FILE = ContextBlock("x = 1", "file:///a.py")
FIRST, SECOND = TextBlock("Let me see.\n", origin=HERE, opaque="phase"), TextBlock("  if x:\n    y()")
CALL = call(n=1.0, none=None, list=[True, "é"])
ANSWER = assistant(thought("Hm."), FIRST, thought("So."), SECOND, CALL, "Done.")


def same(*parts: Any) -> bool:
    """Return whether a client's blocks count as the blocks of the answer."""
    return is_same_answer(blocks(parts), ANSWER.content, HERE)


@pytest.mark.requirement("2:block-memory-edited", "10:compared")
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
def test_texts_of_an_answer_may_be_joined_split_and_trimmed(texts: tuple[str, ...]) -> None:
    assert same(*texts, CALL, "Done.\n")
    assert extract_words(blocks([*texts, CALL, " Done."])) == extract_words(ANSWER.content)


@pytest.mark.requirement("2:block-memory-edited", "10:compared")
@pytest.mark.parametrize(
    "parts",
    [
        (FIRST.text, CALL, "Done."),
        (SECOND.text, FIRST.text, CALL, "Done."),
        (FIRST, "  if x:\n  y()", CALL, "Done."),
        ("Letmesee.", SECOND, CALL, "Done."),
        (FIRST, SECOND, CALL),
        (FIRST, SECOND, "Done."),
        (CALL, FIRST, SECOND, "Done."),
        (FIRST, SECOND, CALL, CALL, "Done."),
        (FIRST, SECOND, replace(CALL, id="2"), "Done."),
        (FIRST, SECOND, replace(CALL, name="rm"), "Done."),
        (FIRST, SECOND, replace(CALL, raw="{"), "Done."),
        (FIRST, SECOND, CALL, "Done.", ImageBlock("https://a/b.png")),
        (),
    ],
)
def test_an_answer_with_a_changed_word_call_or_order_is_another_answer(parts: tuple[Any, ...]) -> None:
    assert not is_same_content("assistant", blocks(parts), ANSWER.content)
    assert not same(*parts)


@pytest.mark.requirement("2:block-memory-edited")
def test_a_client_may_drop_any_provider_data_but_not_change_it() -> None:
    rest = (SECOND, CALL, "Done.")
    assert same(*ANSWER.content)
    assert same(FIRST, *rest)
    assert same(replace(FIRST, origin=None, opaque=None), *rest)
    assert not same(replace(FIRST, opaque="other"), *rest)
    assert not same(replace(FIRST, origin=Origin("other", "m")), *rest)

    assert same(ThinkingBlock("Hm."), FIRST, ThinkingBlock("So."), *rest)
    assert same(ThinkingBlock("Hm.\nSo."), FIRST, *rest)
    assert not same(ThinkingBlock("Hm!"), FIRST, *rest)


@pytest.mark.requirement("2:block-memory-edited")
def test_unreadable_arguments_may_become_empty_ones() -> None:
    broken = replace(CALL, arguments=None, raw='{"a": ', error="It is not JSON.")

    for theirs in (replace(CALL, arguments={}, raw="{}"), replace(CALL, arguments=None, raw="{}")):
        assert is_same_answer([theirs], [broken], HERE)
    assert not is_same_answer([replace(CALL, arguments={"a": 1}, raw='{"a": 1}')], [broken], HERE)


@pytest.mark.requirement("2:block-memory-edited", "10:continue")
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (True, True, True),
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (False, 0.0, False),
        (False, None, False),
        (1, 1.0, True),
        (1, 2, False),
        (2**53 + 1, 2.0**53, True),
        (HUGE, HUGE + 1, True),
        (-HUGE, -HUGE - 1, True),
        (HUGE, -HUGE, False),
        (HUGE, 1e308, False),
        (HUGE, "1", False),
        ([], {}, True),
        ([0], {}, False),
        ([True], [1], False),
        ({"deep": [{"a": True}]}, {"deep": [{"a": 1}]}, False),
        ({"a": None}, {}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_arguments_are_compared_as_a_client_writes_them_again(one: Any, other: Any, is_same: bool) -> None:
    for theirs, ours in ((one, other), (other, one)):
        assert is_same_content("assistant", [call(value=theirs)], [call(value=ours)]) is is_same
        spaced = replace(call(value=theirs), raw=json.dumps({"value": theirs}, indent=2))
        assert is_same_content("assistant", [spaced], [call(value=ours)]) is is_same


@pytest.mark.requirement("10:compared")
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (user("a", "b"), user("ab"), True),
        (user("ab"), user("ab\n"), False),
        (user("a b"), user("ab"), False),
        (user("a", IMAGE), user("a", IMAGE), True),
        (user("a", IMAGE), user("a", ImageBlock("aGo=", "image/png")), False),
        (user("a", IMAGE), user("a"), False),
        (user(FILE, "a"), user(FILE, "a"), True),
        (user(FILE, "a"), user(ContextBlock("x = 2", "file:///a.py"), "a"), False),
        (user(FILE, "a"), user("a", FILE), False),
        (user(result()), user(result()), True),
        (user(result()), user(result("2")), False),
        (user(result()), user(result("1", "b.py")), False),
    ],
)
def test_a_question_is_compared_exactly(one: Message, other: Message, is_same: bool) -> None:
    assert is_same_content("user", one.content, other.content) is is_same
    assert is_same_content("user", other.content, one.content) is is_same


@pytest.mark.requirement("10:continue")
@pytest.mark.parametrize(
    ("one", "other", "is_same"), [(None, False, True), (None, True, False), (True, True, True)]
)
def test_a_result_without_is_error_counts_as_successful(
    one: bool | None, other: bool | None, is_same: bool
) -> None:
    results = [ToolResultBlock("1", "a.py", is_error) for is_error in (one, other)]
    assert is_same_content("user", [results[0]], [results[1]]) is is_same


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{ord(space):x}")
def test_white_space_of_every_kind_is_left_out_of_the_words(space: str) -> None:
    for text in ("ab", "äb"):
        spaced = f"{space}{text[0]}{space}{space}{text[1]} {space}"
        assert extract_words([TextBlock(spaced)]) == extract_words([TextBlock(text)])
    assert extract_words([TextBlock(space)]).digest == 0
