"""The partial answer of a running turn, which a killed process leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jumpseat.chat import ChatError, ContentBlock, TextBlock
from jumpseat.conversations import BegunTurn, Change, ConversationStore, running
from jumpseat.conversations.index import ConversationIndex
from jumpseat.system.secrets import KnownSecrets, Secret
from tests.unit.conversations.support import (
    FAILED,
    HERE,
    alternate,
    call,
    keep,
    make_answer,
    texts,
    thought,
    turn,
)

pytestmark = pytest.mark.requirement("10:killed-daemon")


def abandon(begun: BegunTurn) -> None:
    """Leave the turn as a killed process would."""
    running.running_here.discard(begun.key)


def so_far(*texts: str) -> list[ContentBlock]:
    """Return text blocks, as in a provider's answer."""
    return [TextBlock(text, origin=HERE) for text in texts]


def lines_of(directory: Path) -> list[dict[str, object]]:
    """Return the lines of the conversation."""
    return [json.loads(line) for line in (directory / "a.jsonl").read_text("utf-8").splitlines()]


def test_a_killed_turn_has_its_answer_so_far(store: ConversationStore, directory: Path) -> None:
    begun = store.begin(turn(alternate("Hi")))
    for length in range(1, 6):
        store.save_partial(begun, so_far("Hello"[:length]))
    store.save_partial(begun, so_far("Hello"))
    assert texts(store) == ["Hi", "Hello"]
    abandon(begun)
    after = ConversationStore(directory)
    assert texts(after) == ["Hi", "Hello"]
    assert keep(after, alternate("Hi", "Hello", "More"), "Yes").id == "a"
    assert texts(after) == ["Hi", "Hello", "More", "Yes"]


def test_a_client_may_continue_a_killed_turn_without_its_answer(store: ConversationStore) -> None:
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hel"))
    abandon(begun)
    keep(store, [*alternate("Hi"), *alternate("More")], "Yes")
    assert texts(store) == ["Hi", "More", "Yes"]


@pytest.mark.parametrize("seen", ["He", "Hello wor"])
def test_a_client_may_have_seen_more_or_less_of_a_killed_turn(store: ConversationStore, seen: str) -> None:
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hello"))
    abandon(begun)
    assert keep(store, alternate("Hi", seen, "More"), "Yes").id == "a"
    assert texts(store) == ["Hi", seen, "More", "Yes"]


def test_an_answer_that_differs_from_a_killed_turn_is_a_fork(store: ConversationStore) -> None:
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hello"))
    abandon(begun)
    assert keep(store, alternate("Hi", "Good day", "More"), "Yes").id != "a"
    assert texts(store) == ["Hi", "Hello"]


def test_each_partial_line_contains_only_the_new_text(store: ConversationStore, directory: Path) -> None:
    begun = store.begin(turn(alternate("Hi")))
    blocks: list[ContentBlock] = [thought("Hm."), *so_far("One. ")]
    for content in (
        blocks,
        [thought("Hm."), *so_far("One. Two.")],
        [thought("Hm."), *so_far("One. Two. Three."), call()],
        [thought("Hm."), *so_far("One. Two. Three."), call(), *so_far("Four.")],
        so_far("Again."),
    ):
        store.save_partial(begun, content)
        assert ConversationStore(directory).get("a").messages[1].content == tuple(content)
    partial = [line for line in lines_of(directory) if line.get("type") == "partial"]
    assert [(line["blocks"], line.get("text")) for line in partial] == [
        (0, None), (2, "Two."), (2, " Three."), (3, None), (0, None)
    ]  # fmt: skip
    assert [len(line["content"]) for line in partial] == [2, 0, 1, 1, 1]


@pytest.mark.parametrize("error", [None, FAILED])
def test_the_end_of_a_turn_replaces_the_answer_so_far(
    store: ConversationStore, directory: Path, error: ChatError | None
) -> None:
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hello wor"))
    store.finish(begun, make_answer("Hello world"), error)
    store.save_partial(begun, so_far("Hello wor"))  # This text comes after the end of the turn.
    for each in (store, ConversationStore(directory)):
        assert texts(each) == ["Hi", "Hello world"]


def test_a_retry_shows_the_old_answer_until_it_has_an_answer_of_its_own(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Old")
    begun = store.begin(turn(alternate("Hi")))
    assert texts(store) == ["Hi", "Old"]
    store.save_partial(begun, so_far("Ne"))
    abandon(begun)
    assert texts(store) == ["Hi", "Ne"]
    third = store.begin(turn(alternate("Hi")))
    assert texts(store) == ["Hi", "Ne"]
    store.finish(third, make_answer("Newest"))
    assert texts(store) == ["Hi", "Newest"]


@pytest.mark.requirement("10:secrets")
def test_a_secret_is_not_divided_between_two_lines(store: ConversationStore, directory: Path) -> None:
    known = KnownSecrets()
    secret = known.add(Secret("tk-0123456789-secret")).reveal()
    begun = store.begin(turn(alternate("Hi"), secrets=known))
    answer = f"The key is {secret}, I think."
    for length in range(1, len(answer) + 1):
        store.save_partial(begun, so_far(answer[:length]))
    abandon(begun)
    assert texts(ConversationStore(directory)) == ["Hi", "The key is ***, I think."]
    added = "".join(str(line.get("text", "")) for line in lines_of(directory))
    assert "0123" not in added


def test_a_deleted_conversation_stays_deleted_while_its_turn_runs(store: ConversationStore) -> None:
    begun = store.begin(turn(alternate("Hi")))
    store.delete("a")
    store.save_partial(begun, so_far("Hello"))
    assert store.row("a") is None


@pytest.mark.requirement("10:list")
@pytest.mark.parametrize("ends", [True, False])
def test_a_search_finds_the_words_of_an_answer_that_was_saved_in_parts(
    store: ConversationStore, directory: Path, ends: bool
) -> None:
    index = ConversationIndex(store)
    store.listeners.append(index.add)
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hello wor"))
    store.save_partial(begun, so_far("Hello worldwide"))
    if ends:
        store.finish(begun, make_answer("Hello worldwide"))
    else:
        abandon(begun)
    index.close()
    fresh = ConversationIndex(ConversationStore(directory))
    assert [row.id for row in fresh.page(query="worldwide").conversations] == ["a"]
    fresh.close()


def test_the_end_of_a_turn_is_indexed_without_reading_the_file_again(store: ConversationStore) -> None:
    changes: list[Change] = []
    store.listeners.append(changes.append)
    begun = store.begin(turn(alternate("Hi")))
    store.save_partial(begun, so_far("Hel"))
    store.save_partial(begun, so_far("Hello"))
    store.finish(begun, make_answer("Hello"))
    first, last = changes
    assert first.stamp is not None
    assert last.size_before == first.stamp[2]
    assert last.texts == ("Hello",)
