"""Forks of kept conversations: their contents, and how they are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore
from jumpseat.conversations.forks import find_root
from tests.unit.conversations.support import (
    alternate,
    assistant,
    call,
    keep,
    make_answer,
    result,
    texts,
    thought,
    turn,
    user,
)
from tests.unit.conversations.test_store import lines


@pytest.mark.requirement("10:fork")
def test_a_fork_has_the_kept_messages_and_outlives_its_parent(store: ConversationStore) -> None:
    rich = assistant(thought("Hm."), "Hello")
    keep(store, alternate("Hi"), *rich.content)
    keep(store, alternate("Hi", "Hello", "More"), "Yes")
    fork = keep(store, alternate("Hi", "Hello", "Less"), "No")
    assert fork.forked_from == "a"
    assert texts(store) == ["Hi", "Hello", "More", "Yes"]
    assert store.delete("a")
    assert store.get(fork.id).messages == (user("Hi"), rich, user("Less"), assistant("No"))
    row = store.row(fork.id)
    assert row is not None
    assert (row.fork_of, row.turns, row.title) == ("a", 2, "Hi")


@pytest.mark.requirement("10:fork", "10:continue")
def test_a_client_may_go_on_naming_the_first_conversation(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    fork = keep(store, alternate("Bye"), "Bye")
    fork_of_fork = keep(store, alternate("Bye", "Other"), "Yes")
    assert fork_of_fork.id not in ("a", fork.id)
    for name in ("a", fork.id):
        assert keep(store, alternate("Bye", "Bye", "So?"), "So.", name=name).id == fork.id
    assert keep(store, alternate("Hi", "Hello", "So?"), "So.").id == "a"
    # A turn that names the fork is compared only with the fork, not with its parent.
    again = keep(store, alternate("Hi", "Hello", "So?", "So.", "And?"), "And.", name=fork.id)
    assert again.forked_from == fork.id


@pytest.mark.requirement("10:fork")
def test_a_turn_during_a_running_turn_is_a_fork(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    running = store.begin(turn(alternate("Hi", "Hello", "One")))
    beside = store.begin(turn(alternate("Hi", "Hello", "Two")))
    assert (running.id, beside.forked_from) == ("a", "a")
    assert store.is_in_use("a")
    store.finish(beside, make_answer("2"))
    store.finish(running, make_answer("1"))
    assert not store.is_in_use("a")
    assert (texts(store)[-1], texts(store, beside.id)[-1]) == ("1", "2")


@pytest.mark.requirement("10:fork")
def test_a_changed_system_prompt_or_setting_does_not_fork(store: ConversationStore, directory: Path) -> None:
    store.finish(
        store.begin(turn(alternate("Hi"), system="Be brief.", settings={"temperature": 1})), make_answer("A")
    )
    same = turn(alternate("Hi", "A", "B"), system="Be brief.", settings={"temperature": 1})
    store.finish(store.begin(same), make_answer("C"))
    assert store.get("a").settings == {"temperature": 1}
    assert sum("system" in line for line in lines(directory)) == 1
    begun = store.begin(turn(alternate("Hi", "A", "B", "C", "D"), system=None))
    store.finish(begun, make_answer("E"))
    assert (begun.id, store.get("a").system, store.get("a").settings) == ("a", None, {})
    assert ConversationStore(directory).get("a") == store.get("a")


@pytest.mark.requirement("10:deleted-root")
@pytest.mark.parametrize("reopened", [True, False])
def test_the_forks_of_a_deleted_conversation_are_found_under_its_name(
    store: ConversationStore, directory: Path, reopened: bool
) -> None:
    keep(store, alternate("Hi"), "Hello")
    fork = keep(store, alternate("Bye"), "See you").id
    continued = keep(store, alternate("Bye", "See you", "Now"), "Go").id
    second = keep(store, alternate("Bye", "Other", "Now"), "Stay").id
    assert continued == fork
    assert store.delete("a")
    store = ConversationStore(directory) if reopened else store
    assert keep(store, alternate("Bye", "See you", "Now", "Go", "When?"), "Soon").id == fork
    assert keep(store, alternate("Bye", "Other", "Now", "Stay", "Why?"), "So").id == second
    assert store.get(fork).row.fork_of == "a"
    begun = store.begin(turn(alternate("What?")))
    assert (begun.forked_from, store.row("a")) == ("a", None)


@pytest.mark.requirement("10:deleted-root")
def test_the_id_of_a_deleted_fork_remains_only_in_its_own_fork(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    fork = keep(store, alternate("Bye"), "See you").id
    inner = keep(store, alternate("Bye", "Other", "Now"), "Stay").id
    assert store.delete(fork)
    assert inner != fork
    left = {str(path.relative_to(directory)): path for path in directory.rglob("*")}
    assert not any(fork in name for name in left)
    found = [name for name, path in left.items() if path.is_file() and fork.encode() in path.read_bytes()]
    assert found in ([], [f"{inner}.jsonl"])
    assert store.delete(inner)
    assert store.delete("a")
    assert sorted(path.name for path in directory.rglob("*")) == ["store.lock"]
    assert keep(store, alternate("Again"), "Yes").id == "a"


@pytest.mark.requirement("10:cwd", "10:title")
def test_a_fork_that_a_turn_begins_has_the_directory_and_the_client_of_the_turn(
    store: ConversationStore, tmp_path: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    store.rename("a", "Greetings")
    more = {"directory": tmp_path, "client": "nvim"}
    unrelated = store.get(store.begin(turn(alternate("Bye"), **more)).id).row
    assert (unrelated.title, unrelated.cwd, unrelated.client) == ("Bye", os.path.realpath(tmp_path), "nvim")
    related = store.get(store.begin(turn(alternate("Hi", "Other", "More"), **more)).id).row
    assert (related.title, related.client) == ("Greetings", "nvim")


def test_the_root_of_a_fork_is_found_even_if_it_was_deleted(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    fork = keep(store, alternate("Bye"), "Bye")
    fork_of_fork = keep(store, alternate("Bye", "Other"), "Yes")
    assert [find_root(store.row, each) for each in ("a", fork.id, fork_of_fork.id, "new")] == ["a"] * 3 + [
        "new"
    ]
    store.delete("a")
    assert find_root(store.row, fork_of_fork.id) == "a"


@pytest.mark.requirement("12:continuation", "10:continue")
def test_an_answer_that_was_continued_may_come_back_as_one_message(store: ConversationStore) -> None:
    answer = assistant(call("1"), result("1"))
    keep(store, alternate("Hi"), *answer.content)
    keep(store, [user("Hi"), answer], "Done.")
    both = assistant(*answer.content, "Done.")
    for messages in ([user("Hi"), both], [user("Hi"), answer, assistant("Done.")]):
        begun = store.begin(turn([*messages, user("More")]))
        assert (begun.id, begun.forked_from) == ("a", None)
        store.finish(begun, make_answer(""))
