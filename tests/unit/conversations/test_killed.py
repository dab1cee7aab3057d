"""A process that is killed while the real store writes a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore
from tests.unit.conversations.support import alternate, keep, texts

pytestmark = pytest.mark.slow

KILLED = """
import os, signal, sys
from pathlib import Path
from jumpseat.conversations import ConversationStore
from tests.unit.conversations.support import FAILED, alternate, keep, make_answer, turn

root, step, real_write = Path(sys.argv[1]), int(sys.argv[2]), os.write

def run(number):
    left = number * step  # the number of bytes to write before the kill

    def write(descriptor, data):
        nonlocal left
        count = real_write(descriptor, data[:left])
        left -= count
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    store = ConversationStore(root / str(number))
    keep(store, alternate("Hi é"), "Hello")
    before = (store.directory / "a.jsonl").stat().st_size
    os.write = write
    if sys.argv[3] == "fork":
        begun = store.begin(turn(alternate("Hi é", "Other", "More")))
    else:
        begun = store.begin(turn(alternate("Hi é", "Hello", "More")))
    store.finish(begun, make_answer("Yes"))

for number in range(1, 1000):
    child = os.fork()
    if not child:
        run(number)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(number)
        break
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.requirement("10:torn")
@pytest.mark.parametrize("kind", ["continue", "fork"])
def test_a_process_killed_at_any_tenth_byte_loses_at_most_its_turn(tmp_path: Path, kind: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), "10", kind],
        capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    last = int(run.stdout)
    assert last > 20
    seen = set()
    for number in range(1, last + 1):
        store = ConversationStore(tmp_path / str(number))
        # The earlier turn is complete. It is a separate conversation if the killed turn forked.
        kept = {each: texts(store, each) for each, _ in store.files() if store.row(each) is not None}
        assert kept["a"][:2] == ["Hi é", "Hello"], number
        seen.update(map(tuple, kept.values()))
        question = alternate("Hi é", "Hello" if kind == "continue" else "Other", "More")
        again = keep(store, question, "Sure")
        assert (again.id == "a") is (kind == "continue"), number
        end = keep(store, (*question, *alternate("", "Sure", "End")[1:]), "Bye")
        assert end.id == again.id
        assert texts(ConversationStore(store.directory), end.id)[2:] == ["More", "Sure", "End", "Bye"]
        assert not list(store.directory.glob("*.damaged-*")), number
    second = "Hello" if kind == "continue" else "Other"
    assert {("Hi é", second, "More"), ("Hi é", second, "More", "Yes")} <= seen
