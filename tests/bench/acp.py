"""Compares `jumpseat acp` with `jumpseat attach`: the start of a client, and the CPU time of a delta."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.acp import ACP, provider_table
from tests.bench.measure import BlockingDaemon, upstream_process
from tests.bench.report import row
from tests.daemon import environment_of
from tests.hub import ATTACH, Hub

STARTS = 15
ROUNDS = 5
DELTAS = 20_000


class BlockingAgent:
    """A process of `jumpseat acp` that is read without asyncio."""

    def __init__(self, home: str) -> None:
        self.process = subprocess.Popen(
            ACP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment_of(home), "HOME": home},
        )

    def request(self, method: str, params: Any) -> Any:
        """Send a request, skip other messages and return the result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while b'"method"' in (line := self.process.stdout.readline())[:40]:
            pass
        return json.loads(line)["result"]

    def initialize(self) -> None:
        self.request("initialize", {"protocolVersion": 1})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def measure_acp() -> None:
    """Measure and print the rows about the Agent Client Protocol, all with a warm shared daemon."""
    with tempfile.TemporaryDirectory() as home, upstream_process() as base_url:
        Path(home, "config.toml").write_text(provider_table(base_url))
        hub = Hub(Path(home))
        try:
            with closing(BlockingAgent(home)) as agent, closing(BlockingDaemon(home, ATTACH)) as client:
                agent.initialize()
                client.initialize()
                _measure_starts(home)
                _measure_deltas(hub, agent, client, home)
        finally:
            hub.clean_up()


def _measure_starts(home: str) -> None:
    times: dict[str, list[float]] = {"attach": [], "acp": []}
    ways: dict[str, Callable[[], BlockingAgent | BlockingDaemon]] = {
        "attach": lambda: BlockingDaemon(home, ATTACH),
        "acp": lambda: BlockingAgent(home),
    }
    for _ in range(STARTS):
        for name, start in ways.items():
            begun = time.perf_counter()
            with closing(start()) as client:
                client.initialize()
                times[name].append((time.perf_counter() - begun) * 1000)
    row("attach to the reply to initialize", times["attach"], "ms")
    ratio = statistics.median(times["acp"]) / statistics.median(times["attach"])
    row("acp to the reply to initialize", times["acp"], "ms", f"{ratio:.2f} of attach, target 2")


def _measure_deltas(hub: Hub, agent: BlockingAgent, client: BlockingDaemon, home: str) -> None:
    question = f"firehose {DELTAS} 1"
    session = agent.request("session/new", {"cwd": home, "mcpServers": []})["sessionId"]
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": question}]}
    costs: dict[str, list[float]] = {"attach": [], "acp": []}

    def chat(number: int) -> None:
        client.send(number, "chat/start", {"messages": [{"role": "user", "content": question}], "keep": True})
        while b'"result"' not in (body := client.read_body())[:60]:
            assert b'"error"' not in body[:60], body

    for number in range(1, ROUNDS + 2):
        for name in costs:
            before = _cpu_seconds(hub.pid)
            if name == "attach":
                chat(number)
            else:
                _ask(agent, prompt)
            if number > 1:  # The first chat also builds the answer and opens the connection.
                costs[name].append((_cpu_seconds(hub.pid) - before) / DELTAS * 1e6)
    row("CPU a delta, attach", costs["attach"], "us")
    ratio = statistics.median(costs["acp"]) / statistics.median(costs["attach"])
    row("CPU a delta, acp", costs["acp"], "us", f"{ratio:.2f} of attach, target 1.2")


def _ask(agent: BlockingAgent, prompt: Any) -> None:
    """Clear the conversation, and send the prompt."""
    agent.request("session/prompt", {**prompt, "prompt": [{"type": "text", "text": "/clear"}]})
    agent.request("session/prompt", prompt)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
