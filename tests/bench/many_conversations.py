"""Compares turns, lists and pruning between many and few kept conversations."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from jumpseat.conversations import conversations_directory
from tests.bench.conversations import keep_many
from tests.bench.measure import BlockingDaemon
from tests.bench.report import row
from tests.daemon import provider, user

FEW, MANY = 10, 20_000
TURNS = 50
LIMIT_MEGABYTES = 10


def measure_many_conversations(base_url: str) -> None:
    """Measure and print the rows about turns, first lists and pruning."""
    costs = []
    for count in (FEW, MANY):
        with tempfile.TemporaryDirectory() as home:
            keep_many(Path(home), count)
            _measure_first_list(home, count)
            costs.append(_measure_turns(home, count, base_url))
            if count == MANY:
                _measure_pruning(home)
    print(f"a kept turn beside {MANY:,} costs {costs[1] / costs[0]:.2f} times as much as beside {FEW}")


def _measure_first_list(home: str, count: int) -> None:
    daemon = BlockingDaemon(home)
    try:
        daemon.initialize()
        begun = time.perf_counter()
        page = _list(daemon, {"limit": 200})
        row(f"first list of {count:,}", [time.perf_counter() - begun], "s")
        while "nextCursor" in page:
            page = _list(daemon, {"limit": 200, "cursor": page["nextCursor"]})
        row(f"all pages of {count:,}, the index included", [time.perf_counter() - begun], "s")
    finally:
        daemon.close()


def _measure_turns(home: str, count: int, base_url: str) -> float:
    daemon = BlockingDaemon(home)
    costs = []
    try:
        daemon.initialize(provider(base_url))
        _list(daemon, {})
        time.sleep(2)  # Wait until the daemon has examined all files, as it does after its start.
        for number in range(TURNS):
            cpu = daemon.cpu_seconds
            daemon.send(2, "chat/start", {"messages": [user(f"question {number}")], "keep": True})
            daemon.response(2)
            time.sleep(0.1)  # The work after the response is part of the cost.
            costs.append((daemon.cpu_seconds - cpu) * 1000)
    finally:
        daemon.close()
    row(f"CPU of a kept turn beside {count:,}", costs, "ms")
    return statistics.median(costs)


def _measure_pruning(home: str) -> None:
    Path(home, "config.toml").write_text(
        f"[conversations]\nmax_megabytes = {LIMIT_MEGABYTES}\n", encoding="utf-8"
    )
    daemon = BlockingDaemon(home)
    lists = []
    try:
        daemon.initialize()
        begun = time.perf_counter()
        while _megabytes(home) > LIMIT_MEGABYTES:
            asked = time.perf_counter()
            _list(daemon, {})
            lists.append(time.perf_counter() - asked)
            time.sleep(0.2)
        row("lists during pruning", lists, "s")
        row(f"pruning to {LIMIT_MEGABYTES} MB", [time.perf_counter() - begun], "s")
        asked = time.perf_counter()
        _list(daemon, {})
        row("the list after it", [time.perf_counter() - asked], "s")
    finally:
        daemon.close()


def _megabytes(home: str) -> float:
    size = 0
    for path in conversations_directory(Path(home)).glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError):  # The daemon has just deleted the file.
            size += path.stat().st_size
    return size / 1e6


def _list(daemon: BlockingDaemon, params: dict[str, Any]) -> Any:
    daemon.send(1, "conversations/list", params)
    return daemon.response(1)
