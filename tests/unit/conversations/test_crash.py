"""Crashes during a write, damage, and a full disk."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.conversations import BegunTurn, ConversationStore, running
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import alternate, keep, make_answer, texts, turn

pytestmark = pytest.mark.slow

FIRST = alternate("Hi é", "Hello")
SECOND = (*FIRST, *alternate("More"))


def abandon(begun: BegunTurn) -> None:
    """Leave the turn as a killed process would."""
    running.running_here.discard(begun.key)


def write_two_turns(directory: Path) -> tuple[int, bytes]:
    """Write a file with two turns. Return its length before the second turn, and its contents."""
    store = ConversationStore(directory)
    keep(store, FIRST[:1], "Hello")
    path = directory / "a.jsonl"
    size = path.stat().st_size
    keep(store, SECOND, "Yes")
    return size, path.read_bytes()


@pytest.mark.requirement("10:torn")
def test_a_crash_at_any_place_of_a_turn_loses_at_most_that_turn(tmp_path: Path) -> None:
    size, data = write_two_turns(tmp_path / "whole")
    kept = {"Hi é", "Hello"}
    for number, end in enumerate([*range(size, len(data), 10), len(data)]):
        directory = tmp_path / str(number)
        directory.mkdir()
        path = directory / "a.jsonl"
        path.write_bytes(data[:end])
        read = texts(ConversationStore(directory))
        assert read[:2] == ["Hi é", "Hello"], end
        assert read[2:] in ([], ["More"], ["More", "Yes"]), end
        # The client sends its turn again and continues.
        store = ConversationStore(directory)
        assert keep(store, SECOND, "Sure").id == "a", end
        assert texts(store) == ["Hi é", "Hello", "More", "Sure"], end
        assert keep(store, (*SECOND, *alternate("", "Sure", "End")[1:]), "Bye").id == "a", end
        for reader in (store, ConversationStore(directory)):
            assert texts(reader) == ["Hi é", "Hello", "More", "Sure", "End", "Bye"], end
        assert path.read_bytes().startswith(data[:end]), end
        assert sorted(each.name for each in directory.iterdir()) == ["a.jsonl", "store.lock"], end
        kept.update(read)
    assert kept == {"Hi é", "Hello", "More", "Yes"}


@pytest.mark.requirement("10:torn", "10:damage")
def test_after_a_crash_in_the_first_turn_the_next_turn_is_stored(tmp_path: Path) -> None:
    size, data = write_two_turns(tmp_path / "whole")
    for number, end in enumerate(range(0, size, 10)):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / "a.jsonl").write_bytes(data[:end])
        store = ConversationStore(directory)
        assert store.row("a") is None or texts(store)[0] == "Hi é"
        assert keep(store, FIRST[:1], "Hello").id == "a", end
        for reader in (store, ConversationStore(directory)):
            assert texts(reader) == ["Hi é", "Hello"], end
        # The written data is still there, in this file or beside it.
        assert any(each.read_bytes().startswith(data[:end]) for each in directory.glob("a.jsonl*")), end


@pytest.mark.requirement("10:torn")
def test_another_process_appends_after_a_torn_line(directory: Path) -> None:
    first, second = ConversationStore(directory), ConversationStore(directory)
    keep(first, FIRST[:1], "Hello")
    assert texts(second) == ["Hi é", "Hello"]
    with (directory / "a.jsonl").open("ab") as file:
        file.write(b'{"type":"begin","turn"')
    for store in (second, first):
        assert texts(store) == ["Hi é", "Hello"]
    keep(second, SECOND, "Yes")
    assert texts(first) == ["Hi é", "Hello", "More", "Yes"]


def test_a_file_that_was_deleted_and_created_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    reader = ConversationStore(tmp_path / "a")
    keep(reader, FIRST[:1], "Hello")
    other = ConversationStore(tmp_path / "b")
    keep(other, alternate("Bye"), "Bye")
    keep(other, alternate("Bye", "Bye", "Now"), "Go")
    # A new file may have the inode of a deleted one; writing in place always has that effect.
    (tmp_path / "a" / "a.jsonl").write_bytes((tmp_path / "b" / "a.jsonl").read_bytes())
    assert texts(reader) == ["Bye", "Bye", "Now", "Go"]


@pytest.mark.requirement("10:torn", "10:partial")
def test_the_turn_of_a_killed_process_is_continued(store: ConversationStore) -> None:
    keep(store, FIRST[:1], "Hello")
    abandon(store.begin(turn(SECOND)))
    assert not store.is_in_use("a")
    assert keep(store, (*SECOND, *alternate("Again")), "Yes").id == "a"
    assert texts(store) == ["Hi é", "Hello", "More", "Again", "Yes"]


@pytest.mark.requirement("10:damage")
@pytest.mark.parametrize("cached", [True, False])
def test_a_damaged_file_is_read_as_far_as_it_goes_and_set_aside(
    tmp_path: Path, cached: bool, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "a"
    size, data = write_two_turns(directory)
    path = directory / "a.jsonl"
    reader = ConversationStore(directory)
    if cached:
        assert len(texts(reader)) == 4
    damaged = data[: size + 40] + b"\0\n\0" + data[size + 43 :]
    path.write_bytes(damaged)
    os.utime(path, ns=(1, 1))
    with caplog.at_level(logging.WARNING):
        assert texts(reader) == ["Hi é", "Hello"]
    assert "is damaged" in caplog.text
    (aside,) = directory.glob("a.jsonl.damaged-*")
    assert aside.read_bytes() == damaged
    assert path.read_bytes() == data[:size]
    assert [each for each, _ in reader.files()] == ["a"]
    assert keep(reader, SECOND, "Sure").id == "a"
    assert texts(ConversationStore(directory)) == ["Hi é", "Hello", "More", "Sure"]
    assert reader.delete("a")
    assert [each.name for each in directory.iterdir()] == ["store.lock"]


@pytest.mark.requirement("10:damage")
def test_a_foreign_file_with_the_name_of_a_conversation_is_set_aside(
    store: ConversationStore, directory: Path
) -> None:
    directory.mkdir()
    for name, content in {
        "a": b"Dear diary\n",
        "b": b'{"version": 1}\n',
        "c": b"[1]\n{}\n",
        "d": b"",
    }.items():
        path = directory / f"{name}.jsonl"
        path.write_bytes(content)
        assert store.row(name) is None
        keep(store, alternate("Hi"), "Hello", name=name)
        (aside,) = directory.glob(f"{name}.jsonl.damaged-*")
        assert aside.read_bytes() == content
        assert texts(store, name) == ["Hi", "Hello"]


@pytest.mark.requirement("10:damage")
def test_an_answer_survives_damage_to_the_line_that_begins_its_turn(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, FIRST[:1], "Hello")
    path = directory / "a.jsonl"
    size = path.stat().st_size
    begun = store.begin(turn(SECOND))
    data = path.read_bytes()
    path.write_bytes(data[:size] + b"#" + data[size + 1 :])
    os.utime(path, ns=(1, 1))
    store.finish(begun, make_answer("Yes"))
    assert texts(store) == ["Hi é", "Hello", "More", "Yes"]
    assert len(list(directory.glob("a.jsonl.damaged-*"))) == 1


FULL = """
import resource, signal, sys
from pathlib import Path
from jumpseat.conversations import ConversationStore
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import alternate, make_answer, turn

store = ConversationStore(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
done = []
for number in range(3):
    try:
        begun = store.begin(turn(alternate(*["x" * 100] * (2 * number + 1))))
        done.append("begun")
        store.finish(begun, make_answer("x" * 100))
        done.append("finished")
    except StateError as error:
        assert "cannot be written" in error.message, error
        done.append("refused")
print(" ".join(done))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs RLIMIT_FSIZE")
@pytest.mark.requirement("10:not-written")
def test_on_a_full_disk_a_turn_is_refused_and_kept_turns_stay(directory: Path) -> None:
    """Simulate a full disk with a limit on the size of a file, which ends a write in the middle."""
    outcomes = set()
    for limit in (1, 300, 700, 1200, 1600, 100_000):
        run = subprocess.run(
            [sys.executable, "-c", FULL, str(directory / str(limit)), str(limit)],
            capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[3],
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        outcomes.add(run.stdout.strip())
        # With free space again, the client's next turn is complete.
        store = ConversationStore(directory / str(limit))
        if store.row("a"):
            assert "\0" not in "".join(texts(store))
        for path in (directory / str(limit)).glob("*.jsonl"):
            assert path.read_bytes().endswith(b"\n")
        keep(store, alternate(*["x" * 100] * 7), "End")
        assert texts(store)[-1] == "End"
        assert len(texts(store)) == 8
        assert not list((directory / str(limit)).glob("*.damaged-*"))
    assert "begun finished begun finished begun finished" in outcomes
    assert "refused refused refused" in outcomes
    assert any("begun refused" in each for each in outcomes)


@pytest.mark.requirement("10:not-written")
def test_a_store_that_cannot_be_written_refuses_and_can_be_written_later(directory: Path) -> None:
    directory.parent.mkdir(exist_ok=True)
    directory.write_text("A file stands in the way.", "utf-8")
    store = ConversationStore(directory)
    with pytest.raises(StateError):
        store.begin(turn(alternate("Hi")))
    with pytest.raises(StateError, match="cannot be read"):
        store.get("a")
    assert list(store.files()) == []
    directory.unlink()
    keep(store, alternate("Hi"), "Hello")
    assert texts(store) == ["Hi", "Hello"]
