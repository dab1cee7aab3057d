"""The place of a turn: whether the turn continues, retries or forks a conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jumpseat.chat import Message, ToolUseBlock
from jumpseat.conversations.placing import Last, Placing, PlacingFacts, place_turn
from tests.unit.conversations.support import alternate, assistant, call, result, thought, user

FIRST = alternate("Hi", "Hello")
TOOLS = (user("List it"), assistant(thought("Hm."), "I will.", call(path=".")), user(result()))
WHOLE = assistant(thought("So."), "It is ", "a.py.\n")


def make_facts(messages: Sequence[Message], last: Last = "finished") -> PlacingFacts:
    """Return the facts of a conversation. If the assistant sent the last message, it is the answer."""
    *inputs, end = messages
    return (
        PlacingFacts(inputs, end, last)
        if end.role == "assistant"
        else PlacingFacts([*inputs, end], None, last)
    )


@pytest.mark.requirement("10:continue", "10:retry", "10:fork", "10:partial")
@pytest.mark.parametrize(
    ("kept", "last", "sent", "expected"),
    [
        # These turns continue the conversation.
        (FIRST, "finished", alternate("Hi", "Hello", "More"), ("continue", 2, 2)),
        (FIRST, "finished", alternate("Hi", "Hello", "More", "Yes", "So"), ("continue", 2, 2)),
        (FIRST, "finished", FIRST, ("continue", 2, 2)),
        (FIRST, "none", alternate("Hi", "Hello", "More"), ("continue", 2, 2)),
        (alternate("Hi"), "none", alternate("Hi"), ("continue", 1, 1)),
        ((*TOOLS, WHOLE), "finished", (*TOOLS, WHOLE, user("And?")), ("continue", 4, 4)),
        # These turns are retries.
        (FIRST, "finished", alternate("Hi"), ("retry", 1, 1)),
        (FIRST, "open", alternate("Hi"), ("retry", 1, 1)),
        (alternate("Hi"), "open", alternate("Hi"), ("retry", 1, 1)),
        (alternate("Hi"), "unfinished", alternate("Hi"), ("retry", 1, 1)),
        ((*FIRST, user("More"), assistant()), "finished", alternate("Hi", "Hello", "More"), ("retry", 3, 3)),
        ((user("Hi"), assistant()), "finished", (user("Hi"), assistant()), ("retry", 1, 2)),
        # These turns follow a failure or a cancellation, with and without the partial answer.
        (FIRST, "unfinished", alternate("Hi", "Hello", "More"), ("continue", 2, 2)),
        (FIRST, "unfinished", (user("Hi"), user("More")), ("continue", 1, 1)),
        (alternate("Hi"), "unfinished", (user("Hi"), user("More")), ("continue", 1, 1)),
        (FIRST, "unfinished", alternate("Hi", "Hel", "More"), ("fork", 1, 1)),
        # The client may leave out an empty answer.
        ((user("Hi"), assistant()), "finished", (user("Hi"), user("More")), ("continue", 2, 1)),
        ((user("Hi"), assistant()), "finished", (user("Hi"), assistant(), user("More")), ("continue", 2, 2)),
        # These turns are forks.
        (FIRST, "finished", alternate("Bye"), ("fork", 0, 0)),
        (FIRST, "finished", alternate("Hi", "Other", "More"), ("fork", 1, 1)),
        (FIRST, "finished", (user("Hi"), user("More")), ("fork", 1, 1)),
        (alternate("Hi", "Hello", "More", "Yes"), "finished", alternate("Hi"), ("fork", 1, 1)),
        (
            alternate("Hi", "Hello", "More", "Yes"),
            "finished",
            alternate("Hi", "Hello", "Less"),
            ("fork", 2, 2),
        ),
        (alternate("Hi", "Hello", "More", "Yes"), "finished", alternate("Hi", "Hello"), ("fork", 2, 2)),
        (FIRST, "open", alternate("Hi", "Hello", "More"), ("fork", 2, 2)),
        (alternate("Hi"), "open", (user("Hi"), user("More")), ("fork", 1, 1)),
        # These turns divide the messages differently.
        ((user("Hi "), user("there")), "none", (user("Hi there"), user("More")), ("continue", 2, 1)),
        (alternate("Hi there", "Yes"), "finished", (user("Hi "), user("there")), ("retry", 1, 2)),
        (
            (user("Hi"), assistant("One.\n", "Two.")),
            "finished",
            (user("Hi"), assistant("One."), assistant("Two."), user("More")),
            ("continue", 2, 3),
        ),
        # This client has only texts and calls, which it trims, joins and splits.
        (
            (*TOOLS, WHOLE),
            "finished",
            (
                user("List ", "it"),
                assistant("I will.\n", ToolUseBlock("1", "ls", {"path": "."}, '{ "path": "." }')),
                user(result()),
                assistant("It is a.py."),
                user("And?"),
            ),
            ("continue", 4, 4),
        ),
    ],
)
def test_a_turn_continues_retries_or_forks_according_to_its_messages(
    kept: Sequence[Message], last: Last, sent: Sequence[Message], expected: tuple[str, int, int]
) -> None:
    found = place_turn(make_facts(kept, last), sent)
    assert (found.kind, found.base, found.new) == expected


@pytest.mark.requirement("10:replace")
@pytest.mark.parametrize(
    ("kept", "last", "sent", "expected"),
    [
        (alternate("Hi"), "unfinished", alternate("Hey"), ("continue", 0, 0)),
        (alternate("Hi"), "lost", alternate("Hey"), ("continue", 0, 0)),
        (
            alternate("Hi", "Hello", "More"),
            "unfinished",
            alternate("Hi", "Hello", "Less"),
            ("continue", 2, 2),
        ),
        (alternate("Hi", "Hello", "More"), "open", alternate("Hi", "Hello", "Less"), ("fork", 2, 2)),
        (alternate("Hi", "Hello", "More"), "finished", alternate("Hi", "Hello", "Less"), ("fork", 2, 2)),
        (alternate("Hi", "Hello", "More"), "unfinished", alternate("Hey"), ("fork", 0, 0)),
        (alternate("Hi", "Hello", "More"), "unfinished", alternate("Hi"), ("fork", 1, 1)),
        (alternate("Hi", "Hello", "More"), "unfinished", alternate("Hi", "Hello"), ("fork", 2, 2)),
        (
            alternate("Hi", "Hello", "More", "Par"),
            "unfinished",
            alternate("Hi", "Hello", "Less"),
            ("fork", 2, 2),
        ),
    ],
)
def test_only_a_turn_that_ended_without_output_is_replaced(
    kept: Sequence[Message], last: Last, sent: Sequence[Message], expected: tuple[str, int, int]
) -> None:
    # The last turn has one question, and in the longest conversation also an answer.
    before_last = len(kept) - 1 if len(kept) < 4 else 2
    found = place_turn(replace(make_facts(kept, last), before_last=before_last), sent)
    assert (found.kind, found.base, found.new) == expected


@pytest.mark.requirement("10:continue")
def test_a_fork_ranks_lowest_and_more_common_messages_rank_higher() -> None:
    ranked = [
        Placing("fork", 9, 9),
        Placing("fork", 1, 1),
        Placing("continue", 2, 2),
        Placing("retry", 3, 3),
    ]
    assert [each.base for each in sorted(ranked, key=lambda each: each.rank)] == [1, 9, 2, 3]


@pytest.mark.requirement("10:continue")
@pytest.mark.parametrize("swapped", [False, True])
def test_the_time_for_many_messages_of_one_role_is_linear(swapped: bool) -> None:
    """Quadratic time would be minutes, during which other daemons wait for the lock."""
    sides: tuple[Sequence[Message], Sequence[Message]] = (
        (user("x" * 50_000 + "y"), user("More")),
        [user("x")] * 20_000,
    )
    kept, sent = sides[::-1] if swapped else sides
    start = time.process_time()
    assert place_turn(PlacingFacts(kept, None, "none"), sent).kind == "fork"
    assert time.process_time() - start < 5
