"""The background work of the index: indexing many files and cleaning up, without blocking anyone."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore, Limits, index_cleaning, index_tables
from jumpseat.conversations import index as index_module
from jumpseat.conversations.index import FILE_NAME, ConversationIndex
from jumpseat.conversations.index_tables import connect
from jumpseat.conversations.prune import Pruner
from tests.unit.conversations.kept import copy_many, keep

pytestmark = pytest.mark.slow

RARE = "ЖЩЪ§¶ŒÆ"
"""A text whose trigrams are not in any other text."""

WAIT_SECONDS = 30.0


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(tmp_path / "conversations")


@pytest.fixture
def index(store: ConversationStore) -> Iterator[ConversationIndex]:
    opened = ConversationIndex(store)
    store.listeners.append(opened.add)
    yield opened
    opened.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ids(index: ConversationIndex, **filters: str) -> list[str]:
    """Return the ids of all pages."""
    pages = [index.page(limit=200, **filters)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(index.page(limit=200, cursor=cursor, **filters))
    return [row.id for page in pages for row in page.conversations]


def traces(directory: Path, *texts: str) -> int:
    """Count the occurrences of the texts in all files."""
    content = b""
    for path in directory.iterdir():
        with contextlib.suppress(FileNotFoundError):  # A journal is deleted with its transaction.
            content += path.read_bytes()
    return sum(content.count(text.casefold().encode()) for text in texts)


@pytest.mark.requirement("10:deleted-index")
@pytest.mark.parametrize("way", ["in the background", "at the end"])
def test_a_deleted_conversation_is_removed_from_the_index_completely(
    store: ConversationStore, index: ConversationIndex, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "in the background":
        monkeypatch.setattr(index_tables, "CLEAN_SECONDS", 0.0)
        monkeypatch.setattr(index_cleaning, "NAMED_SECONDS", 0.0)
    copy_many(store, 30)
    keep(store, "rare-conversation", f"What is {RARE}?", answer=f"I do not know {RARE}.")
    store.rename("rare-conversation", f"About {RARE}")
    assert len(ids(index)) == 31
    assert traces(store.directory, RARE[:2], RARE[2:4]) > 8

    store.delete("rare-conversation")

    assert "rare-conversation" not in ids(index)
    if way == "at the end":
        index.close()
    wait_until(lambda: traces(store.directory, RARE[:2], RARE[2:4], RARE[4:], "rare-conversation") == 0)
    assert len(ids(index, query="needle")) == 30


@pytest.mark.requirement("10:deleted-index")
def test_the_index_shrinks_with_deletions(store: ConversationStore, index: ConversationIndex) -> None:
    names = copy_many(store, 100, words=500)
    assert ids(index) == names
    before = (store.directory / FILE_NAME).stat().st_size

    for name in names[5:]:
        store.delete(name)
    index.close()

    assert (store.directory / FILE_NAME).stat().st_size < before / 4
    assert ids(index) == names[:5]


def test_after_a_cleaning_the_changes_that_a_client_missed_are_unknown(
    store: ConversationStore, index: ConversationIndex
) -> None:
    keep(store, "one", "Question")
    keep(store, "two", "Question")
    known = index.changes_since(0)[1]
    store.delete("one")
    assert index.changes_since(known)[0] == ["one"]

    index.close()

    later = ConversationIndex(store)
    assert later.changes_since(known)[0] is None
    later.close()


@pytest.mark.requirement("10:deleted-index")
@pytest.mark.parametrize(
    ("by", "count", "seconds"), [("the user", 1, 60), ("a limit", 1, 3600), ("a limit", 100, 60)]
)
def test_the_cleaning_after_a_deletion_is_planned(
    store: ConversationStore, index: ConversationIndex, by: str, count: int, seconds: float
) -> None:
    names = copy_many(store, count)
    assert ids(index) == names

    if by == "the user":
        store.delete(names[0])
    else:
        Pruner(store).prune(Limits(0, 0.00001))

    assert ids(index) == []
    with contextlib.closing(connect(str(store.directory / FILE_NAME)).connection) as connection:
        (clean_at,) = connection.execute("SELECT clean_at FROM state").fetchone()
    # The delay is 10 seconds or 10 minutes. Allow 5 seconds for the test itself.
    assert seconds / 10 < clean_at - time.time() + 5 < seconds


@pytest.mark.requirement("10:first-list")
def test_a_first_list_answers_with_the_newest_and_its_pages_have_all(
    store: ConversationStore, index: ConversationIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "LIST_SECONDS", 0.01)
    monkeypatch.setattr(index_module, "STEP_SECONDS", 0.01)
    names = copy_many(store, 300)

    first = [row.id for row in index.page(limit=200).conversations]
    assert 0 < len(first) < 200
    assert first == names[: len(first)]
    assert ids(index) == names


@pytest.mark.requirement("10:first-list")
def test_the_pages_of_a_search_in_a_new_index_include_the_oldest(
    store: ConversationStore, index: ConversationIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "LIST_SECONDS", 0.01)
    copy_many(store, 300)

    assert ids(index, query="needle000") == ["c000"]


@pytest.mark.requirement("10:first-list")
def test_the_remaining_files_are_indexed_without_another_list(
    store: ConversationStore, index: ConversationIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "LIST_SECONDS", 0.001)
    copy_many(store, 100)
    known = index.changes_since(0)[1]
    assert index.page().next_cursor is not None

    def count() -> int:
        with contextlib.closing(sqlite3.connect(store.directory / FILE_NAME)) as connection:
            (found,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
        return int(found)

    wait_until(lambda: count() == 100)
    assert index.changes_since(known)[0] != []


@pytest.mark.requirement("10:locked-index")
def test_a_list_does_not_wait_for_a_locked_index(store: ConversationStore, index: ConversationIndex) -> None:
    names = copy_many(store, 3)
    assert ids(index) == names
    with contextlib.closing(sqlite3.connect(store.directory / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert ids(index) == names
        keep(store, "later", "Question")
        assert ids(index)[0] == "later"
        assert time.monotonic() - began < 8
        other.execute("ROLLBACK")
    assert ids(index)[0] == "later"
    assert index._memory is None


@pytest.mark.requirement("10:index")
@pytest.mark.parametrize("table", ["texts", "conversations", "state", "removed", "trigrams_data"])
def test_an_index_without_one_of_its_tables_is_built_again_in_its_file(
    store: ConversationStore, index: ConversationIndex, table: str
) -> None:
    names = copy_many(store, 3)
    assert ids(index) == names
    with contextlib.closing(sqlite3.connect(store.directory / FILE_NAME)) as other:
        other.execute(f"DROP TABLE {table}")

    store.delete(names[0])
    assert ids(index, query="needle") == names[1:]
    index.close()

    with contextlib.closing(sqlite3.connect(store.directory / FILE_NAME)) as other:
        assert other.execute("SELECT count(*) FROM conversations").fetchone() == (2,)
    assert index._memory is None
