"""Pruning: by age, then by size, the oldest first, and nothing that is in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore
from jumpseat.conversations.prune import prune
from tests.unit.conversations.kept import keep, new_turn

DAY = 86_400
BYTES_EACH = 100_000


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    """Four conversations of a tenth of a megabyte, changed 40, 30, 20 and 10 days ago."""
    made = ConversationStore(tmp_path / "conversations")
    for days in (10, 20, 30, 40):
        keep(made, f"days-{days}", "x" * BYTES_EACH)
        make_older(made, f"days-{days}", days)
    return made


def make_older(store: ConversationStore, id_: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(store.directory / f"{id_}.jsonl", (then, then))


def ids(store: ConversationStore) -> list[str]:
    return sorted(id_ for id_, _ in store.files())


def test_without_limits_everything_stays(store: ConversationStore) -> None:
    assert prune(store, max_days=0, max_megabytes=0) == []
    assert len(ids(store)) == 4


def test_what_has_not_changed_for_too_long_is_deleted(store: ConversationStore) -> None:
    assert prune(store, max_days=25, max_megabytes=0) == ["days-40", "days-30"]
    assert ids(store) == ["days-10", "days-20"]


def test_what_is_too_much_is_deleted_the_oldest_first(store: ConversationStore) -> None:
    assert prune(store, max_days=0, max_megabytes=0.25) == ["days-40", "days-30"]
    assert ids(store) == ["days-10", "days-20"]


def test_a_conversation_that_a_session_used_last_stays_and_the_next_one_goes(
    store: ConversationStore,
) -> None:
    deleted = prune(store, max_days=15, max_megabytes=0.15, spared={"days-40"})

    assert deleted == ["days-30", "days-20", "days-10"]
    assert ids(store) == ["days-40"]


def test_a_conversation_with_a_running_turn_stays(store: ConversationStore) -> None:
    begun = store.begin(new_turn("days-40", "x" * BYTES_EACH, "An answer.", "More"))
    make_older(store, begun.id, 40)

    assert prune(store, max_days=5, max_megabytes=0.01) == ["days-30", "days-20", "days-10"]
    assert ids(store) == [begun.id]


def test_a_conversation_that_changes_after_it_was_chosen_stays(store: ConversationStore) -> None:
    stamps = dict(store.files())
    store.rename("days-40", "used again")

    assert not store.delete_unused("days-40", stamps["days-40"])
    assert store.row("days-40") is not None


def test_copies_of_damaged_files_count_and_go_too(store: ConversationStore) -> None:
    copy = store.directory / "gone.jsonl.damaged-20200101T000000-abcdef"
    copy.write_bytes(b"x" * BYTES_EACH)
    then = time.time() - 50 * DAY
    os.utime(copy, (then, then))

    assert prune(store, max_days=0, max_megabytes=0.45) == ["gone"]
    assert not copy.exists()
    assert len(ids(store)) == 4


def test_other_files_are_left_alone(store: ConversationStore) -> None:
    other = store.directory / "notes.txt"
    other.write_bytes(b"x")
    os.utime(other, (0, 0))

    assert len(prune(store, max_days=1, max_megabytes=0)) == 4
    assert other.exists()


def test_no_conversations_are_nothing_to_prune(tmp_path: Path) -> None:
    assert prune(ConversationStore(tmp_path / "none"), max_days=1, max_megabytes=1) == []
    assert not (tmp_path / "none").exists()
