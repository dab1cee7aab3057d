"""`make bench`: the overhead of the daemon, as medians and ratios of one run.

Each figure is compared with a baseline that is measured alternately in the same run, because the speed of a
shared machine drifts. No figure fails a build.
"""

from __future__ import annotations

import statistics
import subprocess
import time

from tests.bench.acp import acp
from tests.bench.attached import measure_attached
from tests.bench.chats import chats
from tests.bench.conversations import conversations
from tests.bench.file_tools import file_tools
from tests.bench.loaded import measure_loaded
from tests.bench.many_conversations import many_conversations
from tests.bench.measure import BlockingDaemon, blocking_daemon, python, upstream_process
from tests.bench.report import milliseconds, row
from tests.bench.tools import tools
from tests.daemon import provider

STARTS = 15
DELTAS = 30_000
STREAMS = 5


def first_real_reply() -> None:
    """Measure the time from the daemon's start to its first response after that to `initialize`."""
    bare = [python(), "-c", "pass"]
    dispatcher = [python(), "-c", "import pygls.server"]
    floors: list[float] = []
    imports: list[float] = []
    replies: list[float] = []
    for _ in range(STARTS):
        floors.append(milliseconds(lambda: subprocess.run(bare, check=True)))
        imports.append(milliseconds(lambda: subprocess.run(dispatcher, check=True)))
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


def throughput(base_url: str, per_write: int) -> None:
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
    first_real_reply()
    measure_attached()
    acp()
    measure_loaded()
    conversations()
    file_tools()
    tools()
    with upstream_process() as base_url:
        many_conversations(base_url)
        chats(base_url)
        for per_write in (1, 20):
            throughput(base_url, per_write)


if __name__ == "__main__":
    main()
