"""Compares chats through the daemon with chats through httpx2 alone: first deltas, CPU time, connections.

`python -m tests.bench.chats PYTHON` compares the CPU time of two versions of the daemon: this one, and the
version that is installed for the interpreter PYTHON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2

from tests.bench.direct import direct
from tests.bench.measure import BlockingDaemon, blocking_daemon, upstream_process
from tests.bench.report import print_comparison, row
from tests.daemon import SERVE, provider

IN_TURN = 100
AT_ONCE = 64
LONG_CHATS = 6
ROUNDS = 5
PAIRS = 100

Messages = Sequence[Mapping[str, Any]]

HI: Messages = [{"role": "user", "content": "hi"}]


def measure_chats(base_url: str) -> None:
    """Measure and print the rows about chats."""
    with blocking_daemon() as daemon, direct(base_url) as alone:
        daemon.initialize(provider(base_url))
        sides: tuple[Side, Side] = alone, ThroughDaemon(daemon)
        # The first chats also fill caches and open the connections.
        for side, name in zip(sides, ("httpx2 alone", "daemon"), strict=True):
            before = _count_connections(base_url)
            for _ in range(IN_TURN):
                side.run(1, HI)
            # Subtract the connection of the second count itself.
            opened = _count_connections(base_url) - before - 1
            row(f"connections for {IN_TURN} chats in turn, {name}", [opened], "")

        floor, ours = _measure_sides(sides, IN_TURN, 1, HI)
        print_comparison("first delta", floor.firsts, ours.firsts, "ms")
        added = statistics.median(ours.firsts) - statistics.median(floor.firsts)
        row("first delta, added by the daemon", [added], "ms", "target 3")
        print_comparison("CPU a chat, in turn", floor.costs, ours.costs, "ms")

        _measure_sides(sides, 1, AT_ONCE, HI)
        floor, ours = _measure_sides(sides, 1, AT_ONCE, HI)
        print_comparison(f"first delta, {AT_ONCE} chats at once", floor.firsts, ours.firsts, "ms")
        print_comparison(f"CPU a chat, {AT_ONCE} at once", floor.costs, ours.costs, "ms")

        for name, messages in _histories().items():
            _measure_sides(sides, 1, 1, messages)
            floor, ours = _measure_sides(sides, LONG_CHATS, 1, messages)
            print_comparison(f"CPU a chat, 1 MB in {name}", floor.costs, ours.costs, "ms")


def compare_versions(other_python: str) -> None:
    """Measure the CPU time of a chat in another version and in this one, in alternating rounds."""
    other = (other_python, *SERVE[1:])
    with upstream_process() as base_url, blocking_daemon(other) as before, blocking_daemon() as now:
        for daemon in (before, now):
            daemon.initialize(provider(base_url))
        sides: tuple[Side, Side] = ThroughDaemon(before), ThroughDaemon(now)
        for name, times, at_once in (("in turn", IN_TURN // 4, 1), (f"{AT_ONCE} at once", 1, AT_ONCE)):
            _measure_sides(sides, times, at_once, HI)
            old, new = _measure_sides(sides, times, at_once, HI, rounds=PAIRS)
            row(f"CPU a chat, {name}, the other version", old.costs, "ms")
            row(f"CPU a chat, {name}, this version", new.costs, "ms")
            changes = [ours / theirs * 100 - 100 for theirs, ours in zip(old.costs, new.costs, strict=True)]
            row(f"CPU a chat, {name}, change in pairs", changes, "%")


class Side(Protocol):
    """One side of a comparison."""

    @property
    def cpu_seconds(self) -> float:
        """User and system time of its process so far."""

    def run(self, count: int, messages: Messages) -> list[float]:
        """Run this many concurrent chats; return the milliseconds to the first text of each."""


class ThroughDaemon:
    """Chats through one daemon."""

    def __init__(self, daemon: BlockingDaemon) -> None:
        self._daemon = daemon
        self._last_id = 0

    def run(self, count: int, messages: Messages) -> list[float]:
        """Run this many concurrent chats; return the milliseconds to the first text of each."""
        firsts: dict[int, float] = {}
        begun = time.perf_counter()
        for _ in range(count):
            self._last_id += 1
            self._daemon.send(self._last_id, "chat/start", {"messages": messages, "model": "fake:m"})
        ended = 0
        while ended < count:
            body = self._daemon.read_body()
            if b'"text_delta"' in body:
                firsts.setdefault(json.loads(body)["params"]["requestId"], time.perf_counter())
            elif b'"method"' not in body[:60]:
                assert "result" in json.loads(body), body
                ended += 1
        assert len(firsts) == count
        return [(first - begun) * 1000 for first in firsts.values()]

    @property
    def cpu_seconds(self) -> float:
        """User and system time of the daemon so far."""
        return self._daemon.cpu_seconds


@dataclass(slots=True)
class Measured:
    """The results of one side."""

    firsts: list[float] = field(default_factory=list)
    """The milliseconds to the first delta of each chat."""

    costs: list[float] = field(default_factory=list)
    """The milliseconds of CPU time for one chat in each round."""


def _measure_sides(
    sides: tuple[Side, Side], times: int, at_once: int, messages: Messages, *, rounds: int = ROUNDS
) -> list[Measured]:
    """Run the same chats with both sides, round by round."""
    results = [Measured() for _ in sides]
    for _ in range(rounds):
        for side, measured in zip(sides, results, strict=True):
            begun = side.cpu_seconds
            for _ in range(times):
                measured.firsts += side.run(at_once, messages)
            measured.costs.append((side.cpu_seconds - begun) / (times * at_once) * 1000)
    return results


def _count_connections(base_url: str) -> int:
    """Return how many connections the provider has accepted, including the one of this request."""
    return int(httpx2.get(f"{base_url}/accepted", trust_env=False).json())


def _histories() -> Mapping[str, Messages]:
    """Return conversations of 1 MB by name."""
    return {
        "200 turns of ASCII": _history(200),
        "200 turns with other letters": _history(200, " Größe 😀"),
        "2,000 turns": _history(2000),
        "4 turns": _history(4),
    }


def _history(turns: int, more: str = "") -> Messages:
    line = f"A line of code, or of prose, as a conversation has them by the thousand.{more}\n"
    text = line * ((1 << 20) // turns // len(line.encode()))
    roles = ("user", "assistant")
    return [*({"role": roles[turn % 2], "content": f"{turn}: {text}"} for turn in range(turns)), *HI]


if __name__ == "__main__":
    compare_versions(sys.argv[1])
