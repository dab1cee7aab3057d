"""Measures what one client's long conversations cost another client.

A loud client sends 10 MB of messages over and over, and the chats of a quiet client are timed. The clients
have either the same daemon or one each. The difference is the price of sharing. The rest is due to the
machine's load.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tests.bench.measure import BlockingDaemon, upstream_process
from tests.bench.report import row
from tests.daemon import SERVE, frame, provider
from tests.hub import ATTACH, Hub

CHATS = 100
ROUNDS = 3
PAUSE_SECONDS = 0.01
MEGABYTE = 1_000_000


def measure_loaded() -> None:
    """Measure and print the rows about a loud client."""
    # Each client has a provider in a separate process, so that one provider does not delay both clients.
    with upstream_process() as quiet, upstream_process() as loud:
        for name, messages in conversations_of_10_mb().items():
            p95: dict[str, list[float]] = {"serve": [], "attach": []}
            for _ in range(ROUNDS):
                for way, command in (("serve", SERVE), ("attach", ATTACH)):
                    p95[way].append(_p95_beside((quiet, loud), command, messages))
            for way, values in p95.items():
                row(f"p95 of a chat beside 10 MB of {name}, {way}", values, "ms")


def conversations_of_10_mb() -> dict[str, list[dict[str, Any]]]:
    """Return two conversations of ten megabytes by name: one long text, and 20,000 messages."""

    def messages(count: int, length: int) -> list[dict[str, Any]]:
        roles = ("user", "assistant")
        texts = ("a conversation " * (length // 15 + 1))[:length]
        # The number of messages is odd, so that the user wrote the last one.
        return [{"role": roles[number % 2], "content": texts} for number in range(count + 1 - count % 2)]

    return {"one text": messages(1, 10 * MEGABYTE), "20,000 messages": messages(20_000, 500)}


def _p95_beside(
    base_urls: tuple[str, str], command: tuple[str, ...], messages: list[dict[str, Any]]
) -> float:
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        stack.callback(Hub(Path(home)).clean_up)
        quiet, loud = (stack.enter_context(closing(BlockingDaemon(home, command))) for _ in range(2))
        for client, base_url in zip((quiet, loud), base_urls, strict=True):
            client.initialize(provider(base_url))
        _chat(quiet, 1, [{"role": "user", "content": "hi"}])
        times = []
        with _send_repeatedly(loud, messages):
            for number in range(CHATS):
                begun = time.perf_counter()
                _chat(quiet, number + 2, [{"role": "user", "content": "hi"}])
                times.append((time.perf_counter() - begun) * 1000)
                time.sleep(PAUSE_SECONDS)
        return statistics.quantiles(times, n=20)[18]


@contextmanager
def _send_repeatedly(client: BlockingDaemon, messages: list[dict[str, Any]]) -> Iterator[None]:
    """Have the client send these messages again and again."""
    ended = threading.Event()
    # Encode the request only once, because encoding holds the GIL and would delay the measurement.
    request = frame({"jsonrpc": "2.0", "id": 1, "method": "chat/start", "params": {"messages": messages}})

    def send() -> None:
        assert client.process.stdin is not None
        while not ended.is_set():
            client.process.stdin.write(request)
            client.process.stdin.flush()
            _read_answer(client)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _chat(client: BlockingDaemon, number: int, messages: list[dict[str, Any]]) -> None:
    client.send(number, "chat/start", {"messages": messages})
    _read_answer(client)


def _read_answer(client: BlockingDaemon) -> None:
    while b'"result"' not in (body := client.read_body())[:60]:
        assert b'"error"' not in body[:60], body[:300]


if __name__ == "__main__":
    measure_loaded()
