"""Several threads and processes that write to one directory simultaneously."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore
from tests.unit.conversations.support import TURNS, alternate, keep, texts, write

WRITERS = 4


def all_texts(directory: Path) -> list[str]:
    """Return all texts that a new store reads, sorted and without duplicates."""
    store = ConversationStore(directory)
    return sorted({text for name, _ in store.files() for text in texts(store, name)})


EXPECTED = sorted(
    f"{kind} {writer} {number}"
    for kind in ("question", "answer")
    for writer in range(WRITERS)
    for number in range(TURNS)
)


@pytest.mark.requirement("10:several-writers")
@pytest.mark.parametrize("stores", [1, WRITERS])
@pytest.mark.parametrize("same_name", [True, False])
def test_turns_written_by_several_threads_are_all_kept(directory: Path, stores: int, same_name: bool) -> None:
    pool = [ConversationStore(directory) for _ in range(stores)]
    with ThreadPoolExecutor(WRITERS) as threads:
        running = [
            threads.submit(write, pool[number % stores], str(number), "a" if same_name else f"c{number}")
            for number in range(WRITERS)
        ]
        for each in running:
            each.result(timeout=60)
    assert all_texts(directory) == EXPECTED
    assert len(list(ConversationStore(directory).files())) == WRITERS


PROCESS = """
import sys
from pathlib import Path
from jumpseat.conversations import ConversationStore
from tests.unit.conversations.support import write

store = ConversationStore(Path(sys.argv[1]))
sys.stdin.readline()
write(store, sys.argv[2], "a")
"""


@pytest.mark.requirement("10:several-writers")
def test_turns_written_by_several_processes_are_all_kept(directory: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(directory), str(number)],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        for number in range(WRITERS)
    ]
    try:
        for each in processes:
            assert each.stdin is not None
            each.stdin.write(b"\n")
            each.stdin.close()
        assert [each.wait(timeout=60) for each in processes] == [0] * WRITERS
    finally:
        for each in processes:
            each.kill()
            each.wait()
    assert all_texts(directory) == EXPECTED
    assert not list(directory.glob("*.damaged-*"))


BEGIN = """
import sys
from pathlib import Path
from jumpseat.conversations import ConversationStore
from tests.unit.conversations.support import alternate, turn

begun = ConversationStore(Path(sys.argv[1])).begin(turn(alternate("Hi")))
print(begun.id, flush=True)
sys.stdin.readline()
"""


@pytest.mark.requirement("10:several-writers", "10:fork")
def test_the_running_turn_of_another_process_is_left_alone_until_the_process_ends(directory: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(directory)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"a\n"
        store = ConversationStore(directory)
        assert store.is_in_use("a")
        assert keep(store, alternate("Hi", "", "More"), "Yes").forked_from == "a"
    finally:
        process.communicate(b"\n", timeout=30)
    assert not store.is_in_use("a")
    # The same question is now a retry of the abandoned turn, so its answer is in the first conversation.
    assert keep(store, alternate("Hi"), "Hello").id == "a"
