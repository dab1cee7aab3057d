"""The helpers of the benchmarks: a daemon with blocking reads, an upstream in another process, CPU times.

Their code is minimal, so that the figures are about the daemon and not about the benchmark.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply
from tests.daemon import SERVE, environment_of, frame
from tests.fakes.firehose import firehose
from tests.fakes.paced import PacedUpstream

WAIT_SECONDS = 60


class BlockingDaemon:
    """A daemon process whose frames are read without asyncio."""

    def __init__(self, home: str, command: Sequence[str] = SERVE) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment_of(home), "HOME": home},
        )

    def send(self, request_id: int, method: str, params: Any = None) -> None:
        """Send a request."""
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.process.stdin.write(frame(message))
        self.process.stdin.flush()

    def read_body(self) -> bytes:
        """Read the body of the next message, and return it without parsing."""
        assert self.process.stdout is not None
        head = self.process.stdout.readline()
        self.process.stdout.readline()
        return self.process.stdout.read(int(head[len(b"Content-Length: ") :]))

    def response(self, request_id: int) -> Any:
        """Read up to the response with this id."""
        while True:
            message = json.loads(self.read_body())
            if message.get("id") == request_id:
                return message["result"]

    def initialize(self, config: Mapping[str, Any] | None = None) -> None:
        """Do the handshake."""
        self.send(0, "initialize", {"initializationOptions": {"config": config}})
        self.response(0)

    @property
    def cpu_seconds(self) -> float:
        """The user and system time of the process so far, from its CPU clock on Linux."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def close(self) -> None:
        """Stop the daemon."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def blocking_daemon(command: Sequence[str] = SERVE) -> Iterator[BlockingDaemon]:
    """Run a daemon with an empty home."""
    with tempfile.TemporaryDirectory() as home:
        daemon = BlockingDaemon(home, command)
        try:
            yield daemon
        finally:
            daemon.close()


@contextmanager
def upstream_process() -> Iterator[str]:
    """Run a provider in a separate process, and yield its base URL.

    If the last message of a chat is `firehose DELTAS EVENTS_PER_WRITE`, the answer has that many deltas. Any
    other message is answered with three words. `GET accepted` returns the number of accepted connections.
    """
    with _process(_serve) as base_url:
        yield base_url


@contextmanager
def paced_process() -> Iterator[str]:
    """Run a `PacedUpstream` in a separate process, and yield its base URL."""
    with _process(_serve_paced) as base_url:
        yield base_url


@contextmanager
def _process(target: Callable[[Connection], None]) -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs,), daemon=True)
    process.start()
    try:
        assert ours.poll(WAIT_SECONDS), "the upstream did not start"
        yield ours.recv()
    finally:
        process.kill()
        process.join(WAIT_SECONDS)


def _serve(pipe: Connection) -> None:
    asyncio.run(_serve_forever(pipe))


def _serve_paced(pipe: Connection) -> None:
    async def serve() -> None:
        pipe.send(await PacedUpstream().start())
        await asyncio.Event().wait()

    asyncio.run(serve())


async def _serve_forever(pipe: Connection) -> None:
    short = Reply.events(completion_stream(["a ", "b ", "c"]))
    prepared: dict[str, Reply] = {}

    def answer(request: RecordedRequest) -> Reply:
        upstream.requests.clear()  # Save memory: each request may have a history of 1 MB.
        if request.path.endswith("/accepted"):
            return Reply.json(upstream.accepted)
        if request.method == "GET":  # The list of models.
            return Reply.json({"data": []})
        asked = request.json["messages"][-1]["content"]
        if not asked.startswith("firehose "):
            return short
        if asked not in prepared:
            _, deltas, per_write = asked.split()
            prepared[asked] = firehose(int(deltas), int(per_write))
        return prepared[asked]

    async with FakeUpstream() as upstream:
        upstream.default(answer)
        pipe.send(upstream.base_url)
        await asyncio.Event().wait()


def python() -> str:
    """Return the path of the interpreter that runs the benchmarks and the daemon."""
    return sys.executable
