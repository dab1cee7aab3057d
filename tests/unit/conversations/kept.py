"""Create kept conversations from texts, for tests of lists and of pruning."""

from __future__ import annotations

import os
import random
import string
from pathlib import Path

from jumpseat.conversations import ConversationStore, NewTurn
from tests.unit.conversations.support import alternate, make_answer, turn


def new_turn(id_: str, *texts: str, cwd: str | None = None) -> NewTurn:
    """Return a turn with these messages, alternately by the user and the assistant."""
    return turn(alternate(*texts), id_, directory=None if cwd is None else Path(cwd))


def keep(
    store: ConversationStore, id_: str, *texts: str, answer: str = "An answer.", cwd: str | None = None
) -> None:
    """Save a whole turn."""
    store.finish(store.begin(new_turn(id_, *texts, cwd=cwd)), make_answer(answer))


def copy_many(store: ConversationStore, count: int, words: int = 20) -> list[str]:
    """Write the files of many conversations that are not in the index; return their ids, newest first."""
    unindexed = ConversationStore(store.directory)
    keep(unindexed, "sample", "QUESTION", answer="ANSWER")
    sample = (store.directory / "sample.jsonl").read_text("utf-8")
    unindexed.delete("sample")
    generator = random.Random(1)
    names = []
    for number in range(count):
        text = " ".join("".join(generator.choices(string.ascii_lowercase, k=7)) for _ in range(words))
        path = store.directory / f"c{number:03}.jsonl"
        body = sample.replace("sample", f"c{number:03}").replace("QUESTION", f"needle{number:03}")
        path.write_text(body.replace("ANSWER", text), "utf-8")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
        names.append(f"c{number:03}")
    return names[::-1]
