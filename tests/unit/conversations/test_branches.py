"""Sessions of clients. A session continues the kept conversation that it used last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import Cost, Message, Usage
from jumpseat.conversations import (
    BegunTurn,
    ConversationStore,
    KeptSession,
    UnknownConversationError,
)
from jumpseat.conversations.index import ConversationIndex
from tests.unit.conversations.support import alternate, keep, make_answer, turn
from tests.unit.conversations.test_store import lines

pytestmark = pytest.mark.requirement("11:branches")


@pytest.fixture
def index(store: ConversationStore) -> Iterator[ConversationIndex]:
    opened = ConversationIndex(store)
    store.listeners.append(opened.add)
    yield opened
    opened.close()


def keep_in_session(
    store: ConversationStore,
    messages: Sequence[Message],
    answer: str,
    *,
    name: str = "a",
    session: str = "a",
    choices: Mapping[str, Any] | None = None,
    usage: Usage | None = None,
) -> BegunTurn:
    """Save a whole turn of a session in the conversation `name` or in a fork of it."""
    begun = store.begin(turn(messages, name, session=session, choices=choices or {}))
    store.finish(begun, make_answer(answer, usage=usage))
    return begun


def list_texts(session: KeptSession) -> list[str]:
    """Return the text of each message of the branch."""
    return [
        "".join(getattr(block, "text", "") for block in each.content)
        for each in session.conversation.messages
    ]


def test_a_session_goes_on_with_the_branch_that_it_used_last(
    store: ConversationStore, directory: Path
) -> None:
    keep_in_session(store, alternate("Hi"), "Hello")
    branch = keep_in_session(store, alternate("Second"), "Yes")
    keep(store, alternate("Hi", "Other", "Else"), "A fork of another client")
    keep(store, alternate("Hi", "Hello", "More"), "A turn of another client")

    for opened in (store, ConversationStore(directory)):
        session = opened.get_session("a")
        assert session.conversation.row.id == branch.id
        assert list_texts(session) == ["Second", "Yes"]

    keep_in_session(store, alternate("Hi", "Hello", "More", "A turn of another client", "Back"), "Again")
    assert store.get_session("a").conversation.row.id == "a"


def test_a_conversation_that_no_session_used_is_a_session_with_its_id(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    keep(store, alternate("Bye"), "A later fork")

    session = store.get_session("a")

    assert list_texts(session) == ["Hi", "Hello"]
    assert session.choices is None


def test_a_branch_that_is_also_a_session_of_its_own_stays_a_branch(store: ConversationStore) -> None:
    keep_in_session(store, alternate("Hi"), "Hello")
    branch = keep_in_session(store, alternate("Second"), "Yes").id
    keep_in_session(store, alternate("Second", "Yes", "On"), "Then", name=branch, session=branch)

    assert store.get_session("a").conversation.row.id == branch
    assert store.get_session(branch).conversation.row.id == branch


def test_an_unknown_session_is_reported(store: ConversationStore) -> None:
    with pytest.raises(UnknownConversationError):
        store.get_session("nobody")


def test_the_choices_of_the_last_turn_are_kept_and_written_only_if_they_changed(
    store: ConversationStore, directory: Path
) -> None:
    chosen = {"model": "fake:m", "thinking": "high", "settings": {"fake": {"tone": "dry"}}}
    keep_in_session(store, alternate("Hi"), "Hello", choices=chosen)
    keep_in_session(store, alternate("Hi", "Hello", "On"), "Yes", choices=chosen)
    assert ConversationStore(directory).get_session("a").choices == chosen
    assert sum("choices" in line for line in lines(directory)) == 1

    keep(store, alternate("Hi", "Hello", "On", "Yes", "And?"), "A turn of another client")
    assert ConversationStore(directory).get_session("a").choices == chosen

    keep_in_session(
        store,
        alternate("Hi", "Hello", "On", "Yes", "And?", "A turn of another client", "Off"),
        "No",
        choices={},
    )
    assert ConversationStore(directory).get_session("a").choices == {}


def test_a_new_branch_has_the_choices_too(store: ConversationStore, directory: Path) -> None:
    keep_in_session(store, alternate("Hi"), "Hello", choices={"model": "fake:m"})
    keep_in_session(store, alternate("Second"), "Yes", choices={"model": "fake:m"})
    assert ConversationStore(directory).get_session("a").choices == {"model": "fake:m"}


def test_the_cost_includes_all_branches_and_the_usage_only_the_last_turn(
    store: ConversationStore, directory: Path
) -> None:
    dollar = Usage(10, 5, cost=Cost(1.0, "USD"))
    keep_in_session(store, alternate("Hi"), "Hello", usage=dollar)
    keep_in_session(store, alternate("Hi"), "A retry", usage=dollar)
    keep_in_session(store, alternate("Second"), "Yes", usage=Usage(7, 3, cost=Cost(0.5, "USD")))

    session = ConversationStore(directory).get_session("a")

    assert session.cost == Cost(2.5, "USD")
    assert session.usage == Usage(7, 3, cost=Cost(0.5, "USD"))


def test_a_deleted_session_leaves_no_text_but_the_forks_of_others_remain(
    store: ConversationStore, directory: Path, index: ConversationIndex
) -> None:
    keep_in_session(store, alternate("Secret one"), "Answer one")
    first = keep_in_session(store, alternate("Secret two"), "Answer two").id
    keep_in_session(store, alternate("Secret two", "Other", "Secret three"), "Answer three", name=first)
    theirs = keep(store, alternate("Theirs"), "Kept").id
    shared = keep_in_session(store, alternate("Shared"), "Kept too").id
    keep_in_session(store, alternate("Shared", "Kept too", "On"), "Yes", name=shared, session=shared)

    store.delete_session("a")
    index.close()

    assert sorted(id_ for id_, _ in store.files()) == sorted([theirs, shared])
    left = b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file()).lower()
    assert b"secret" not in left
    assert b"answer" not in left


def test_deleting_an_unknown_session_changes_nothing(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    store.delete_session("nobody")
    assert [id_ for id_, _ in store.files()] == ["a"]


def test_a_list_by_session_has_each_session_once_as_its_last_branch(
    store: ConversationStore, index: ConversationIndex
) -> None:
    keep_in_session(store, alternate("Hi"), "Hello")
    keep_in_session(store, alternate("Second"), "Yes")
    keep(store, alternate("Other"), "Another client's", name="b")
    fork = keep(store, alternate("Theirs"), "A fork of another client", name="b").id
    keep_in_session(store, alternate("Mine"), "And now a session's", name="b", session="b")
    keep(store, alternate("Hi", "Hello", "On"), "A turn of another client")

    pages = [index.page(by_session=True, limit=2)]
    pages.append(index.page(by_session=True, limit=2, cursor=pages[0].next_cursor))
    rows = [row for page in pages for row in page.conversations]

    assert [(row.id, row.title) for row in rows] == [("b", "Mine"), (fork, "Theirs"), ("a", "Second")]
    assert len(index.page().conversations) == 5


def test_a_new_index_lists_the_same_sessions(store: ConversationStore, index: ConversationIndex) -> None:
    keep_in_session(store, alternate("Hi"), "Hello")
    keep_in_session(store, alternate("Second"), "Yes")
    rows = index.page(by_session=True).conversations
    index.close()
    (store.directory / "index.sqlite3").unlink()

    again = ConversationIndex(ConversationStore(store.directory))
    assert again.page(by_session=True).conversations == rows
    again.close()
