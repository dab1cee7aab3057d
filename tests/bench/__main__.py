"""`make bench`: the overhead of the daemon, as medians and ratios of one run.

A figure and its baseline, if it has one, are measured alternately in the same run, because the speed of a
shared machine drifts. No figure fails a build.
"""

from __future__ import annotations

import statistics
import subprocess
import time

from tests.bench.acp import measure_acp
from tests.bench.attached import measure_attached
from tests.bench.chats import measure_chats
from tests.bench.conversations import measure_conversations
from tests.bench.file_tools import measure_file_tools
from tests.bench.loaded import measure_loaded
from tests.bench.many_conversations import measure_many_conversations
from tests.bench.measure import BlockingDaemon, blocking_daemon, python, upstream_process
from tests.bench.report import milliseconds, row
from tests.bench.tools import measure_tools
from tests.daemon import provider

STARTS = 15
DELTAS = 30_000
STREAMS = 5


def measure_first_reply() -> None:
    """Measure the time from the daemon's start to its first response after the one to `initialize`."""
    bare = [python(), "-c", "pass"]
    pygls = [python(), "-c", "import pygls.server"]
    floors: list[float] = []
    imports: list[float] = []
    replies: list[float] = []
    for _ in range(STARTS):
        floors.append(milliseconds(lambda: subprocess.run(bare, check=True)))
        imports.append(milliseconds(lambda: subprocess.run(pygls, check=True)))
        begun = time.perf_counter()
        with blocking_daemon() as daemon:
            daemon.initialize()
            daemon.send(1, "providers/list")
            daemon.response(1)
            replies.append((time.perf_counter() - begun) * 1000)
    row("python -c pass", floors, "ms")
    row("python -c 'import pygls.server'", imports, "ms")
    ratio = statistics.median(replies) / statistics.median(imports)
    row("spawn to first real reply", replies, "ms", f"target 250; {ratio:.2f} of importing pygls alone")


def measure_throughput(base_url: str, per_write: int) -> None:
    """Measure one stream at full speed: the deltas per second, and the daemon's CPU time for each."""
    asked = [{"role": "user", "content": f"firehose {DELTAS} {per_write}"}]
    rates: list[float] = []
    costs: list[float] = []
    notifications: list[float] = []
    with blocking_daemon() as daemon:
        daemon.initialize(provider(base_url))
        for number in range(STREAMS + 1):
            cpu, begun = daemon.cpu_seconds, time.perf_counter()
            daemon.send(number + 1, "chat/start", {"messages": asked})
            count = _read_stream(daemon)
            took, spent = time.perf_counter() - begun, daemon.cpu_seconds - cpu
            if number > 0:  # The first stream also builds the answer and opens the connection.
                rates.append(DELTAS / took / 1000)
                costs.append(spent / DELTAS * 1e6)
                notifications.append(count / DELTAS)
    name = f"unpaced, {per_write} events a write"
    row(f"{name}: deltas a second", rates, "k/s", "target 60")
    row(f"{name}: daemon CPU a delta", costs, "us", "target 20")
    row(f"{name}: notifications a delta", notifications, "")


def _read_stream(daemon: BlockingDaemon) -> int:
    count = 0
    while b'"result"' not in (body := daemon.read_body())[:60]:
        assert b'"error"' not in body[:60], body
        count += 1
    return count


def main() -> None:
    """Print the whole report."""
    measure_first_reply()
    measure_attached()
    measure_acp()
    measure_loaded()
    measure_conversations()
    measure_file_tools()
    measure_tools()
    with upstream_process() as base_url:
        measure_many_conversations(base_url)
        measure_chats(base_url)
        for per_write in (1, 20):
            measure_throughput(base_url, per_write)


if __name__ == "__main__":
    main()
