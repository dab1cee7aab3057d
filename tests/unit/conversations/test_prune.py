"""Pruning by age, then by size: oldest first, nothing in use, and no more than necessary."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore, Limits
from jumpseat.conversations.prune import Pruner
from tests.unit.conversations.kept import keep, new_turn

DAY = 86_400
BYTES_EACH = 100_000


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    """Return four conversations of a tenth of a megabyte, changed 40, 30, 20 and 10 days ago."""
    made = ConversationStore(tmp_path / "conversations")
    for days in (10, 20, 30, 40):
        keep(made, f"days-{days}", "x" * BYTES_EACH)
        make_older(made, f"days-{days}", days)
    return made


def prune(
    store: ConversationStore, *, max_days: float, max_megabytes: float, spared: Collection[str] = ()
) -> list[str]:
    return Pruner(store).prune(Limits(max_days, max_megabytes), spared=spared)


def make_older(store: ConversationStore, id_: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(store.directory / f"{id_}.jsonl", (then, then))


def ids(store: ConversationStore) -> list[str]:
    return sorted(id_ for id_, _ in store.files())


def test_without_limits_everything_stays(store: ConversationStore) -> None:
    assert prune(store, max_days=0, max_megabytes=0) == []
    assert len(ids(store)) == 4


def test_conversations_that_have_not_changed_for_too_long_are_deleted(store: ConversationStore) -> None:
    assert prune(store, max_days=25, max_megabytes=0) == ["days-40", "days-30"]
    assert ids(store) == ["days-10", "days-20"]


def test_the_oldest_conversations_are_deleted_until_the_rest_fits(store: ConversationStore) -> None:
    assert prune(store, max_days=0, max_megabytes=0.25) == ["days-40", "days-30"]
    assert ids(store) == ["days-10", "days-20"]


def test_a_conversation_that_a_session_used_last_stays_and_others_are_deleted(
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


def test_copies_of_damaged_files_count_and_are_deleted_too(store: ConversationStore) -> None:
    copy = store.directory / "gone.jsonl.damaged-20200101T000000-abcdef"
    copy.write_bytes(b"x" * BYTES_EACH)
    then = time.time() - 50 * DAY
    os.utime(copy, (then, then))

    assert prune(store, max_days=0, max_megabytes=0.45) == ["gone"]
    assert not copy.exists()
    assert len(ids(store)) == 4


def test_an_unfinished_copy_by_a_killed_process_is_deleted_with_its_conversation(
    store: ConversationStore,
) -> None:
    unfinished = store.directory / ".days-40.jsonl.0123456789ab"
    unfinished.write_bytes(b"x" * BYTES_EACH)
    then = time.time() - 40 * DAY
    os.utime(unfinished, (then, then))

    assert prune(store, max_days=0, max_megabytes=0.45) == ["days-40"]
    assert not unfinished.exists()


def test_a_conversation_named_like_a_device_is_deleted_too(store: ConversationStore) -> None:
    keep(store, "con", "x" * BYTES_EACH)
    then = time.time() - 50 * DAY
    os.utime(store.directory / "~con.jsonl", (then, then))

    assert prune(store, max_days=0, max_megabytes=0.45) == ["con"]
    assert len(ids(store)) == 4


def test_other_files_are_left_alone(store: ConversationStore) -> None:
    other = store.directory / "notes.txt"
    other.write_bytes(b"x")
    os.utime(other, (0, 0))

    assert len(prune(store, max_days=1, max_megabytes=0)) == 4
    assert other.exists()


def test_pruning_without_conversations_does_nothing(tmp_path: Path) -> None:
    assert prune(ConversationStore(tmp_path / "none"), max_days=1, max_megabytes=1) == []
    assert not (tmp_path / "none").exists()


def sizes(directory: Path) -> dict[str, int]:
    return {each.name: each.stat().st_size for each in directory.glob("*.jsonl")}


PROCESS = """
import sys
from pathlib import Path
from jumpseat.conversations import ConversationStore, Limits
from jumpseat.conversations.prune import Pruner

pruner = Pruner(ConversationStore(Path(sys.argv[1])))
print("ready", flush=True)
sys.stdin.readline()
pruner.prune(Limits(0, float(sys.argv[2])))
"""
PROCESSES = 8


@pytest.mark.requirement("10:prune-together")
def test_simultaneous_pruning_deletes_as_much_as_one_process_would(tmp_path: Path) -> None:
    directory, megabytes = tmp_path / "conversations", 0.5
    keep(ConversationStore(directory), "sample", "Why?")
    sample = (directory / "sample.jsonl").read_bytes()
    generator = random.Random(1)
    for number in range(400):
        body = sample.replace(b"sample", b"c%d" % number) + b"\n" * generator.randrange(1, 5000)
        (directory / f"c{number}.jsonl").write_bytes(body)
    (directory / "sample.jsonl").unlink()
    largest = max(sizes(directory).values())
    command = [sys.executable, "-c", PROCESS, str(directory), str(megabytes)]
    with contextlib.ExitStack() as stack:
        running = []
        for _ in range(PROCESSES):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            running.append(stack.enter_context(process))
            stack.callback(process.kill)
        for each in running:
            assert each.stdout is not None
            assert each.stdout.readline() == b"ready\n"
        for each in running:
            assert each.stdin is not None
            each.stdin.close()
        assert [each.wait(timeout=60) for each in running] == [0] * PROCESSES

    left = sum(sizes(directory).values())
    assert megabytes * 1e6 - largest <= left <= megabytes * 1e6


@pytest.mark.requirement("10:prune-cost")
def test_files_are_not_scanned_before_a_limit_may_be_exceeded(store: ConversationStore) -> None:
    pruner, limits = Pruner(store), Limits(50, 0.55)
    assert pruner.seconds_until_due(limits) is not None
    pruner.prune(limits)

    keep(store, "small", "x")
    assert pruner.seconds_until_due(limits) is None
    assert pruner.seconds_until_due(Limits(0, 0)) is None

    keep(store, "large", "x" * 2 * BYTES_EACH)
    assert pruner.seconds_until_due(limits) is not None
    assert pruner.prune(limits) == ["days-40"]
    assert pruner.seconds_until_due(limits) is None
    assert pruner.seconds_until_due(Limits(0, 0.5)) is not None
