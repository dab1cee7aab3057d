"""The trail of a conversation: its text and calls without white space, and how often messages are read."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from jumpseat.chat import Message, TextBlock
from jumpseat.engine import BlockMemory, run_turn
from jumpseat.engine.trail import LONG_TEXT, Trail, words_of
from tests.unit.engine.blocks import trail_of
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, ask, registry_of, said

SPACES = "".join(character for character in map(chr, range(0x11000)) if character.isspace())
OTHERS = "".join(character for character in map(chr, range(0x11000)) if not character.isspace())


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{ord(space):x}")
def test_white_space_of_every_kind_is_left_out(space: str) -> None:
    spaced = words_of([TextBlock(f"{space}ä{space}{space}b {space}")])

    assert spaced == words_of([TextBlock("äb")])
    assert spaced.length == 2


def test_no_other_character_is_left_out() -> None:
    assert words_of([TextBlock(OTHERS)]).length == len(OTHERS)
    digests = {words_of([TextBlock(f"a{other}")]).digest for other in OTHERS}
    assert len(digests) == len(OTHERS)


def test_white_space_alone_is_an_empty_text() -> None:
    assert words_of([TextBlock(SPACES)]).digest == b""


def test_a_long_text_is_measured_in_characters_and_not_in_bytes() -> None:
    short, long = (words_of([TextBlock("é \u3000" * count)]) for count in (LONG_TEXT - 1, LONG_TEXT))

    assert [is_good for _, is_good in Trail().signs(short)][-1] is False
    assert [is_good for _, is_good in Trail().signs(long)][-1] is True


def test_a_copy_is_independent() -> None:
    trail = trail_of([Message.user("Hi"), Message.assistant("Hello")])
    other = trail.copy()
    words = words_of([TextBlock("More")])
    assert list(other.signs(words)) == list(trail.signs(words))

    for role in ("user", "assistant"):
        before = list(trail.signs(words))
        other.step(role, words)
        assert list(trail.signs(words)) == before
    assert other.place != trail.place


async def test_a_turn_reads_each_message_once() -> None:
    history = [
        Message.user(f"{turn}") if turn % 2 == 0 else Message.assistant(f"Answer {turn}")
        for turn in range(101)
    ]
    calls: Counter[Any] = Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    adapter = ScriptedAdapter([*said("Done."), DONE])
    sys.setprofile(count)
    try:
        await run_turn(registry_of(adapter), ask(*history), RecordingSink(), BlockMemory())
    finally:
        sys.setprofile(None)

    assert calls[words_of.__code__] == len(history) + 1  # and the answer
