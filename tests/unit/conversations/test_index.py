"""The index: lists, searches, changes, and rebuilding from the files whenever necessary."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.chat import InvalidRequestError
from jumpseat.conversations import ConversationStore, index_tables
from jumpseat.conversations.index import FILE_NAME, ConversationIndex
from tests.unit.conversations.kept import keep

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(tmp_path / "conversations")


@pytest.fixture
def index(store: ConversationStore) -> Iterator[ConversationIndex]:
    opened = make_index(store)
    yield opened
    opened.close()


def make_index(store: ConversationStore) -> ConversationIndex:
    index = ConversationIndex(store)
    store.listeners.append(index.add)
    return index


def ids(index: ConversationIndex, **filters: str) -> list[str]:
    return [row.id for row in index.page(**filters).conversations]


def reopen(store: ConversationStore) -> list[str]:
    """Open the index again, and return the ids that it lists."""
    index = make_index(ConversationStore(store.directory))
    try:
        return ids(index)
    finally:
        index.close()


def test_a_list_without_conversations_is_empty_and_creates_no_files(
    store: ConversationStore, index: ConversationIndex
) -> None:
    assert ids(index) == []
    assert not store.directory.exists()

    keep(store, "first", "Hello")

    assert ids(index) == ["first"]
    assert stat.S_IMODE((store.directory / FILE_NAME).stat().st_mode) == 0o600


def test_pages_list_each_conversation_once_in_order_of_the_latest_change(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(7):
        keep(store, f"c{number}", f"Question {number}")
    keep(store, "c2", "Question 2", "An answer.", "More")

    pages = [index.page(limit=3)]
    while (cursor := pages[-1].next_cursor) is not None:
        pages.append(index.page(limit=3, cursor=cursor))

    assert [[row.id for row in page.conversations] for page in pages] == [
        ["c2", "c6", "c5"],
        ["c4", "c3", "c1"],
        ["c0"],
    ]
    assert pages[0].conversations[0].turns == 2


def test_changes_during_paging_are_on_the_next_page(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(6):
        keep(store, f"c{number}", f"Question {number}")
    first = index.page(limit=2)

    store.rename("c0", "moved to the front, not seen yet")
    store.rename("c5", "seen before")
    store.delete("c3")
    second = index.page(limit=2, cursor=first.next_cursor)
    third = index.page(limit=2, cursor=second.next_cursor)

    assert [row.id for row in first.conversations] == ["c5", "c4"]
    assert {(row.id, row.title) for row in second.conversations} == {
        ("c0", "moved to the front, not seen yet"),
        ("c5", "seen before"),
    }
    assert [row.id for row in third.conversations] == ["c2", "c1"]
    assert third.next_cursor is None


def test_changes_that_do_not_fit_on_a_page_are_on_the_following_pages(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(6):
        keep(store, f"c{number}", "Question")
    page = index.page(limit=2)
    for number in (0, 1, 2):
        store.rename(f"c{number}", "changed")

    seen = []
    while page.next_cursor is not None:
        page = index.page(limit=2, cursor=page.next_cursor)
        seen += [row.id for row in page.conversations]

    assert sorted(seen) == ["c0", "c1", "c2", "c3"]


def test_a_cursor_stays_valid_when_the_index_is_built_again(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(4):
        keep(store, f"c{number}", "Question")
    cursor = index.page(limit=2).next_cursor
    (store.directory / FILE_NAME).unlink()

    assert [row.id for row in index.page(limit=2, cursor=cursor).conversations] == ["c1", "c0"]


@pytest.mark.parametrize("cursor", ["", "x", "e30=", "WzFd", "W251bGwsbnVsbCxudWxsLG51bGxd", "ä", "[]"])
def test_an_invalid_cursor_is_reported_under_its_key(index: ConversationIndex, cursor: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        index.page(cursor=cursor)

    assert caught.value.problems[0].path == "cursor"


def test_a_directory_filter_matches_the_directory_and_its_subdirectories(
    store: ConversationStore, index: ConversationIndex, tmp_path: Path
) -> None:
    for name in ("work", "work/deep", "workshop"):
        (tmp_path / name).mkdir()
        keep(store, name.replace("/", "-"), "Question", cwd=str(tmp_path / name))
    keep(store, "nowhere", "Question")
    (tmp_path / "link").symlink_to(tmp_path / "work")

    assert ids(index, directory=str(tmp_path / "work")) == ["work-deep", "work"]
    assert ids(index, directory=f"{tmp_path}/link/../work/") == ["work-deep", "work"]
    assert ids(index, directory=str(tmp_path / "link")) == ["work-deep", "work"]
    assert ids(index, directory=str(tmp_path / "work" / "deep" / "deeper")) == []
    assert ids(index, directory="/") == ["workshop", "work-deep", "work"]


@pytest.fixture(params=["trigrams", "scan"])
def searched(
    request: pytest.FixtureRequest, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ConversationIndex]:
    if request.param == "scan":
        monkeypatch.setattr(index_tables, "has_trigrams", lambda: False)
    index = make_index(store)
    yield index
    index.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("asyncio", ["python"]),
        ("ASYNC python", ["python"]),
        ("event dance", ["python"]),
        ("asyncio Straße", []),
        ("STRASSE", ["german"]),
        ("münchen", ["german"]),
        ("MU\u0308NCHEN", ["german"]),
        ("ü", ["german"]),
        ("is", ["german", "python"]),
        ('say "hi', ["german"]),
        ("100%", ["german"]),
        ("日本", ["german"]),
        ("日本語の文", ["german"]),
        ("a\0b", []),
        ("\ud800", []),
        ("  ", ["german", "python"]),
    ],
)
def test_a_search_finds_all_words_in_titles_questions_and_answers(
    store: ConversationStore, searched: ConversationIndex, query: str, found: list[str]
) -> None:
    keep(store, "python", "How is asyncio used?", answer="With an event loop.")
    store.rename("python", "A dance with Python")
    keep(store, "german", 'Wo is die Straße in München? Say "hi"', answer="日本語の文章 100%")

    assert ids(searched, query=query) == found


def test_a_search_may_be_a_long_text(store: ConversationStore, searched: ConversationIndex) -> None:
    words = [f"word{number}" for number in range(3000)]
    keep(store, "long", " ".join(words), answer="x" * 100_000)
    keep(store, "other", " ".join(words[1:]))

    assert ids(searched, query=" ".join(words)) == ["long"]
    assert ids(searched, query="x" * 100_000) == ["long"]
    assert ids(searched, query="x" * 100_001) == []


def test_a_search_follows_changes_of_texts_and_titles(
    store: ConversationStore, index: ConversationIndex
) -> None:
    keep(store, "one", "Question")
    store.rename("one", "elephant")
    assert ids(index, query="elephant") == ["one"]

    store.rename("one", "giraffe")
    keep(store, "one", "Question", "An answer.", "And zebras?")

    assert ids(index, query="elephant") == []
    assert ids(index, query="giraffe zebras question") == ["one"]

    store.delete("one")

    assert ids(index, query="giraffe") == []


@pytest.mark.skipif(not index_tables.has_trigrams(), reason="this SQLite has no trigrams")
def test_the_trigrams_of_many_conversations_are_written_together(store: ConversationStore) -> None:
    for number in range(8):
        keep(store, f"c{number}", f"Question {number}")

    assert len(reopen(store)) == 8
    with contextlib.closing(sqlite3.connect(store.directory / FILE_NAME)) as connection:
        segments = connection.execute("SELECT DISTINCT segid FROM trigrams_idx").fetchall()
    assert len(segments) == 1


@pytest.mark.requirement("10:index")
@pytest.mark.parametrize("damage", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_index_is_built_again(store: ConversationStore, damage: bytes) -> None:
    keep(store, "one", "Question")
    reopen(store)
    (store.directory / FILE_NAME).write_bytes(damage)

    assert reopen(store) == ["one"]
    assert damage not in [path.read_bytes() for path in store.directory.iterdir()]


def test_a_list_survives_damage_that_appears_while_the_index_is_used(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(50):
        keep(store, f"c{number}", "Question " * 200)
    assert len(ids(index)) == 50
    size = (store.directory / FILE_NAME).stat().st_size
    with (store.directory / FILE_NAME).open("r+b") as file:
        file.seek(4096)  # Leave the first page, so that SQLite still opens the file.
        file.write(os.urandom(size - 4096))

    assert len(ids(index)) == 50
    keep(store, "later", "Question")
    assert ids(index)[0] == "later"


@pytest.mark.requirement("10:index")
@pytest.mark.parametrize("version", [1, 1000])
def test_an_index_of_another_version_is_built_again(store: ConversationStore, version: int) -> None:
    keep(store, "one", "Question")
    reopen(store)
    with sqlite3.connect(store.directory / FILE_NAME) as connection:
        connection.executescript(f"PRAGMA user_version = {version}; UPDATE conversations SET id = 'wrong'")
    connection.close()

    assert reopen(store) == ["one"]


def test_without_a_file_that_can_be_written_the_index_is_in_memory(store: ConversationStore) -> None:
    keep(store, "one", "Question")
    (store.directory / FILE_NAME).mkdir()
    other = make_index(store)

    assert ids(other) == ["one"]
    keep(ConversationStore(store.directory), "two", "Question")
    assert ids(other) == ["two", "one"]

    other.close()


def test_files_that_changed_while_the_index_was_closed_are_noticed(store: ConversationStore) -> None:
    keep(store, "one", "Question")
    keep(store, "two", "Question")
    assert reopen(store) == ["two", "one"]

    keep(store, "one", "Question", "An answer.", "More")
    keep(store, "three", "Question")
    (store.directory / "two.jsonl").unlink()

    assert reopen(store) == ["three", "one"]


def test_a_change_that_another_process_could_not_index_is_not_missed(
    store: ConversationStore, index: ConversationIndex
) -> None:
    keep(store, "one", "Question")
    ids(index)
    killed = ConversationStore(store.directory)  # This store does not update an index.
    keep(killed, "one", "Question", "An answer.", "About camels")

    keep(store, "one", "Question", "An answer.", "About camels", "An answer.", "More")

    assert ids(index, query="camels") == ["one"]


def test_changes_of_another_process_are_named_in_their_order(
    store: ConversationStore, index: ConversationIndex
) -> None:
    keep(store, "before", "Question")
    assert ids(index) == ["before"]
    names, known = index.changes_since(time.time_ns() // 1000)
    assert names == []
    other_store = ConversationStore(store.directory)
    other = make_index(other_store)
    keep(other_store, "new", "Question")
    other_store.delete("before")
    ids(other)

    names, known = index.changes_since(known)
    assert names == ["new", "before"]
    assert index.changes_since(known) == ([], known)

    other.close()


def test_very_many_changes_are_not_named_one_by_one(
    store: ConversationStore, index: ConversationIndex
) -> None:
    for number in range(101):
        keep(store, f"c{number}", "Question")

    assert index.changes_since(0)[0] is None


WRITER = """\
import sys
from pathlib import Path
from jumpseat.conversations import ConversationStore
from jumpseat.conversations.index import ConversationIndex
from tests.unit.conversations.kept import keep
store = ConversationStore(Path(sys.argv[1]))
index = ConversationIndex(store)
store.listeners.append(index.add)
for number in range(20):
    keep(store, f"{sys.argv[2]}-{number}", "Question")
    index.page(limit=1)
index.close()
"""


def test_several_processes_use_the_index_simultaneously(
    store: ConversationStore, index: ConversationIndex
) -> None:
    command = [sys.executable, "-c", WRITER, str(store.directory)]
    running = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [process.wait(60) for process in running] == [0, 0, 0]

    assert len(index.page(limit=200).conversations) == 60
