"""Measures MCP servers: the cost of a call, delays while a server misbehaves, and memory.

A call over stdio is compared with a call by the SDK's own client to the same server. To measure delays, the
client sends small requests while it waits for a response.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jumpseat.config import load_config
from jumpseat.system.environment import environment_of_process
from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat.tools.host import ToolHost
from jumpseat.tools.server import CallContext, ToolCall
from jumpseat.tools.workspace import Workspace
from tests.bench.measure import BlockingDaemon
from tests.bench.report import row
from tests.daemon import SERVE, environment_of, provider, user
from tests.fakes import mcp_server

CALLS = 300
STARTS = 15
ROUNDS = 5

SMALL: dict[str, Any] = {"content": [], "structuredContent": {"never": 1}}
"""A result that agrees with the schema of the tool, which the SDK checks."""


def measure_tools() -> None:
    """Measure and print the rows about MCP servers."""
    asyncio.run(_measure_calls())
    _measure_delays()
    _measure_memory()


async def _measure_calls() -> None:
    """Call a tool alternately through the SDK's own client and through ours."""
    from mcp import Client, StdioServerParameters

    program, *arguments = mcp_server.command()
    server = StdioServerParameters(command=program, args=arguments)
    times: dict[str, list[float]] = {"sdk": [], "ours": []}
    with _home(mcp_server.table("fake")) as home:
        os.environ.update(environment_of(home))
        environment = environment_of_process()
        host = ToolHost(load_config(None, None, environment=environment), [])
        context = CallContext(environment, Workspace(), "c")
        ours = host.servers["fake"].begin_turn(context)
        await ours.list_tools()
        async with Client(server) as client:
            await client.list_tools()
            for _ in range(CALLS):
                begun = time.perf_counter()
                await client.session.call_tool("result", SMALL)
                times["sdk"].append((time.perf_counter() - begun) * 1000)
                begun = time.perf_counter()
                await ours.call(ToolCall("result", SMALL, context))
                times["ours"].append((time.perf_counter() - begun) * 1000)
        await ours.end_turn()
        await host.aclose()
    row("call of a stdio tool, the SDK's own client", times["sdk"], "ms")
    added = sorted(times["ours"])[CALLS // 2] - sorted(times["sdk"])[CALLS // 2]
    row("call of a stdio tool, ours", times["ours"], "ms", f"{added:+.2f} ms, target +1")


TIMED_CALLS: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("a call that returns at once", "result", SMALL),
    ("a line of 100 MB", "line", {"count": 100_000_000}),
    ("a text of 15 MB", "big", {"count": 15_000_000}),
    ("60,000 parts", "parts", {"count": 60_000}),
    ("400,000 values", "values", {"count": 400_000}),
    ("50,000 notifications", "flood", {"count": 50_000}),
)
"""Calls during which other requests are timed: a label, the tool, its arguments. The first is harmless."""


def _measure_delays() -> None:
    for name, tool, arguments in TIMED_CALLS:
        longest: list[float] = []
        for _ in range(ROUNDS):
            with (
                ThreadedUpstream() as upstream,
                _daemon(mcp_server.table("fake"), upstream.base_url) as daemon,
            ):
                # The first call also imports modules.
                _call(daemon, upstream, 1, "result", SMALL)
                longest.append(max(_call(daemon, upstream, 2, tool, arguments)))
        row(f"longest delay of others during {name}", longest, "ms", "target 50")
    longest = []
    for _ in range(ROUNDS):
        with _daemon(mcp_server.table("small") + mcp_server.table("fake", "--tools", "10000")) as daemon:
            _time_small_requests(daemon, 1, "mcp/restart", {"server": "small"})
            longest.append(max(_time_small_requests(daemon, 2, "mcp/restart", {"server": "fake"})))
    row("longest delay of others during 10,000 tools", longest, "ms", "target 50")


def _measure_memory() -> None:
    """Compare the memory of daemons without a server, with a configured server and with a running server."""
    sizes: dict[str, list[float]] = {"none": [], "configured": [], "running": []}
    starts: dict[str, list[float]] = {"none": [], "configured": []}
    for _ in range(STARTS):
        for name, text in (("none", ""), ("configured", mcp_server.table("fake"))):
            begun = time.perf_counter()
            with _daemon(text) as daemon:
                daemon.send(1, "providers/list")
                daemon.response(1)
                starts[name].append((time.perf_counter() - begun) * 1000)
                sizes[name].append(_resident(daemon))
                if name == "configured" and len(sizes["running"]) < ROUNDS:
                    _time_small_requests(daemon, 2, "mcp/restart", {"server": "fake"})
                    sizes["running"].append(_resident(daemon))
    row("start to first reply without MCP servers", starts["none"], "ms")
    row("start to first reply with one that is not used", starts["configured"], "ms")
    row("memory without MCP servers", sizes["none"], "MiB")
    row("memory with one that is not used", sizes["configured"], "MiB")
    added = min(sizes["running"]) - min(sizes["configured"])
    row("memory with one that runs", sizes["running"], "MiB", f"{added:+.1f} MiB, target +35")


def _resident(daemon: BlockingDaemon) -> float:
    """Return the resident memory of the daemon without its children, in MiB."""
    pages = int(Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _call(
    daemon: BlockingDaemon, upstream: ThreadedUpstream, number: int, tool: str, arguments: Any
) -> list[float]:
    """Run a turn whose model calls the tool, and return the delays of other requests."""
    call = FakeCall("c1", f"fake__{tool}", [json.dumps(arguments)])
    upstream.script(
        Reply.events(completion_stream(tool_calls=[call])), Reply.events(completion_stream(["Done."]))
    )
    params = {"messages": [user("Go.")], "daemonTools": ["fake/*"]}
    return _time_small_requests(daemon, number, "chat/start", params)


def _time_small_requests(daemon: BlockingDaemon, number: int, method: str, params: Any) -> list[float]:
    """Send a request, then small ones until it is answered; return the times of the small ones, in ms."""
    daemon.send(number, method, params)
    delays: list[float] = []
    other, is_answered = number * 1_000_000, False
    while not is_answered:
        other += 1
        begun = time.perf_counter()
        daemon.send(other, "chat/cancel", {"turnId": "none"})
        while (answered := json.loads(daemon.read_body()).get("id")) != other:
            is_answered = is_answered or answered == number
        delays.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.001)
    return delays


@contextmanager
def _home(text: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as home:
        Path(home, "config.toml").write_text(text, "utf-8")
        yield home


@contextmanager
def _daemon(text: str, base_url: str = "http://127.0.0.1:9/v1") -> Iterator[BlockingDaemon]:
    allowed = '[tools]\nallow = ["fake/*"]\n'
    with _home(allowed + text) as home:
        daemon = BlockingDaemon(home, SERVE)
        try:
            daemon.initialize(provider(base_url))
            yield daemon
        finally:
            daemon.close()
