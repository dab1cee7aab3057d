"""Measures lists and searches of many kept conversations, and the start of a daemon that has them."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpseat.chat import Message, Response, TextBlock
from jumpseat.conversations import ConversationStore, NewTurn, conversations_directory
from tests.bench.measure import BlockingDaemon
from tests.bench.report import row

CONVERSATIONS = 10_000
WORDS_EACH = 600
ROUNDS = 15

SEARCHES: Mapping[str, str] = {
    "a common word": "provider",
    "a word of one conversation": "needle7777",
    "a word of no conversation": "haystack",
    "two letters of no conversation": "qx",
    "two common words": "daemon provider",
    "a common word and one of no conversation": "provider haystack",
}


def measure_conversations() -> None:
    """Measure and print the rows about kept conversations."""
    with tempfile.TemporaryDirectory() as home:
        keep_many(Path(home), CONVERSATIONS)
        first, opened, starts = [], [], []
        for number in range(4):
            begun = time.perf_counter()
            daemon = BlockingDaemon(home)
            try:
                daemon.initialize()
                starts.append(_milliseconds_since(begun))
                took = _time_list(daemon, {})
                (opened if number else first).append(took)
                if number == 3:
                    _measure_lists_and_searches(daemon)
            finally:
                daemon.close()
        row(f"start with {CONVERSATIONS:,} conversations", starts, "ms", "target: as without them")
        row("first list, which builds the index", first, "ms")
        row("first list of a new daemon", opened, "ms")


def _measure_lists_and_searches(daemon: BlockingDaemon) -> None:
    lists = [_time_list(daemon, {"limit": 200}) for _ in range(ROUNDS)]
    row(f"list of 200 of {CONVERSATIONS:,}", lists, "ms", "target 50")
    for name, query in SEARCHES.items():
        row(
            f"search: {name}",
            [_time_list(daemon, {"query": query}) for _ in range(ROUNDS)],
            "ms",
            "target 300",
        )


def _time_list(daemon: BlockingDaemon, params: Mapping[str, Any]) -> float:
    begun = time.perf_counter()
    daemon.send(1, "conversations/list", params)
    daemon.response(1)
    return _milliseconds_since(begun)


def _milliseconds_since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000


def keep_many(home: Path, count: int) -> None:
    """Copy one kept conversation many times, because it would take longer to keep each through the store."""
    store = ConversationStore(conversations_directory(home))
    message = Message("user", (TextBlock("A question: QUESTION"),))
    turn = NewTurn(
        conversation_id="sample", turn_id="t", messages=[message], settings={}, provider="fake", model="m"
    )
    answer = Response(provider="fake", model="m", content=(TextBlock("ANSWER"),), stop_reason="end_turn")
    store.finish(store.begin(turn), answer)
    sample = store.directory / "sample.jsonl"
    text = sample.read_text("utf-8")
    sample.unlink()
    vocabulary = [
        word
        for word in Path(__file__).parents[2].joinpath("docs/plugins.md").read_text("utf-8").split()
        if word.isalpha()
    ]
    chosen = random.Random(1)
    for number in range(count):
        answered = text.replace('"sample"', f'"c{number}"').replace("QUESTION", f"needle{number}")
        words = " ".join(chosen.choices(vocabulary, k=WORDS_EACH))
        (store.directory / f"c{number}.jsonl").write_text(answered.replace("ANSWER", words), "utf-8")
