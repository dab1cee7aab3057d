"""Compares the shared daemon with `serve`: starts, delays, memory, and many clients at once."""

from __future__ import annotations

import os
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.measure import WAIT_SECONDS, BlockingDaemon, blocking_daemon, paced_process, upstream_process
from tests.bench.report import row
from tests.daemon import SERVE, provider
from tests.fakes.paced import STAMP
from tests.hub import ATTACH, Hub

STARTS = 15
FURTHER_CLIENTS = 64
ROUNDS = 5
UNPACED_DELTAS = 20_000
PACED_DELTAS = 200
PER_SECOND = 50
AT_ONCE = 64


def measure_attached() -> None:
    """Measure and print the rows about attached clients, all with a warm daemon."""
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    with _warm_daemon() as (hub, home):
        _measure_starts(home)
        _measure_memory(hub, home)
        with upstream_process() as base_url:
            _measure_unpaced(home, base_url)
        with paced_process() as base_url:
            _measure_paced(home, base_url)
            _measure_many_chats(home, base_url)


@contextmanager
def _warm_daemon() -> Iterator[tuple[Hub, str]]:
    """Run a daemon that has served a client; yield its hub and its home."""
    with tempfile.TemporaryDirectory() as home:
        hub = Hub(Path(home))
        try:
            with closing(BlockingDaemon(home, ATTACH)) as first:
                first.initialize()
                first.send(1, "providers/list")
                first.response(1)
            yield hub, home
        finally:
            hub.clean_up()


def _measure_starts(home: str) -> None:
    times: dict[str, list[float]] = {"serve": [], "attach": []}
    for _ in range(STARTS):
        for name, command in (("serve", SERVE), ("attach", ATTACH)):
            begun = time.perf_counter()
            with closing(BlockingDaemon(home, command)) as client:
                client.initialize()
                client.send(1, "providers/list")
                client.response(1)
                times[name].append((time.perf_counter() - begun) * 1000)
    row("serve to first real reply", times["serve"], "ms")
    ratio = statistics.median(times["attach"]) / statistics.median(times["serve"])
    row("attach to first real reply", times["attach"], "ms", f"target 80; {ratio:.2f} of serve, target 0.25")


def _measure_memory(hub: Hub, home: str) -> None:
    resident = Path(f"/proc/{hub.pid}/statm")
    if not resident.exists():
        return
    sizes: list[float] = []
    with ExitStack() as stack:
        for _ in range(FURTHER_CLIENTS):
            sizes.append(int(resident.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
            client = stack.enter_context(closing(BlockingDaemon(home, ATTACH)))
            client.initialize(provider("http://127.0.0.1:9/v1"))
            client.send(1, "providers/list")
            client.response(1)
        sizes.append(int(resident.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
    row("memory of the warm daemon", sizes[:1], "MB")
    each = (sizes[-1] - sizes[0]) / FURTHER_CLIENTS
    row("memory for each further client", [each], "MB", "target 3")


def _measure_unpaced(home: str, base_url: str) -> None:
    """Measure a stream at full speed, for `serve` and `attach` in turn."""
    asked = [{"role": "user", "content": f"firehose {UNPACED_DELTAS} 1"}]
    times: dict[str, list[float]] = {"serve": [], "attach": []}
    with blocking_daemon() as alone, closing(BlockingDaemon(home, ATTACH)) as client:
        ways = {"serve": alone, "attach": client}
        for way in ways.values():
            way.initialize(provider(base_url))
        for number in range(ROUNDS + 1):
            for name, way in ways.items():
                begun = time.perf_counter()
                way.send(number + 1, "chat/start", {"messages": asked})
                while b'"result"' not in (body := way.read_body())[:60]:
                    assert b'"error"' not in body[:60], body
                if number > 0:
                    times[name].append((time.perf_counter() - begun) / UNPACED_DELTAS * 1e6)
    row("time a delta, unpaced, serve", times["serve"], "us")
    added = statistics.median(times["attach"]) - statistics.median(times["serve"])
    row("time a delta, unpaced, attach", times["attach"], "us", f"{added:+.2f}, target +0")


def _measure_paced(home: str, base_url: str) -> None:
    """Measure the delays of one stream at a model's rate, for `serve` and `attach` in turn.

    A delay is the time from the provider's write to the client's read.
    """
    delays: dict[str, list[float]] = {"serve": [], "attach": []}
    with blocking_daemon() as alone, closing(BlockingDaemon(home, ATTACH)) as client:
        ways = {"serve": alone, "attach": client}
        for way in ways.values():
            way.initialize(provider(base_url))
        for number in range(ROUNDS):
            for name, way in ways.items():
                way.send(number + 1, "chat/start", {"messages": _make_messages(PACED_DELTAS // 2)})
                delays[name] += _read_delays([_stdout(way)])
    row("delay of a delta, serve", delays["serve"], "ms")
    added = statistics.median(delays["attach"]) - statistics.median(delays["serve"])
    row("delay of a delta, attach", delays["attach"], "ms", f"{added:+.3f}, target +0")


def _measure_many_chats(home: str, base_url: str) -> None:
    """Measure many chats at once, which begin together, so that their deltas come in bursts.

    There are three ways: bare connections, one client of `serve`, and an attached client for each chat.
    """
    worst: dict[str, list[float]] = {"bare": [], "serve": [], "attach": []}
    with ExitStack() as stack:
        alone = stack.enter_context(blocking_daemon())
        clients = [stack.enter_context(closing(BlockingDaemon(home, ATTACH))) for _ in range(AT_ONCE)]
        for client in (alone, *clients):
            client.initialize(provider(base_url))
        for number in range(1, ROUNDS + 1):
            with ExitStack() as connections:
                bare = [connections.enter_context(_bare_chat(base_url)) for _ in range(AT_ONCE)]
                worst["bare"].append(_p99(_read_delays([each.fileno() for each in bare], framed=False)))
            for chat in range(AT_ONCE):
                alone.send(number * AT_ONCE + chat, "chat/start", {"messages": _make_messages(PACED_DELTAS)})
            worst["serve"].append(_p99(_read_delays([_stdout(alone)], answers=AT_ONCE)))
            for client in clients:
                client.send(number, "chat/start", {"messages": _make_messages(PACED_DELTAS)})
            worst["attach"].append(_p99(_read_delays([_stdout(each) for each in clients])))
    name = f"p99 delay of a delta, {AT_ONCE} chats at {PER_SECOND}/s"
    row(f"{name}, bare", worst["bare"], "ms")
    row(f"{name}, serve", worst["serve"], "ms")
    added = statistics.median(worst["attach"]) - statistics.median(worst["bare"])
    row(f"{name}, attach", worst["attach"], "ms", f"{added:+.2f} compared with bare, target +16")


def _make_messages(deltas: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{deltas} {PER_SECOND}"}]


def _p99(delays: Sequence[float]) -> float:
    return statistics.quantiles(delays, n=100)[98]


def _stdout(client: BlockingDaemon) -> int:
    assert client.process.stdout is not None
    return client.process.stdout.fileno()


def _bare_chat(base_url: str) -> socket.socket:
    """Connect to the provider and send the request of a chat."""
    url = urlsplit(base_url)
    connection = socket.create_connection((url.hostname, url.port))
    body = b'{"messages":[{"role":"user","content":"%d %d"}]}' % (PACED_DELTAS, PER_SECOND)
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: {url.netloc}\r\ncontent-length: {len(body)}"
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def _read_delays(descriptors: Sequence[int], *, answers: int = 1, framed: bool = True) -> list[float]:
    """Read all answers; return the milliseconds from the write of each delta to its read."""
    delays: list[float] = []
    rest = dict.fromkeys(descriptors, b"")
    left = dict.fromkeys(descriptors, answers)
    begun = time.monotonic()
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            assert time.monotonic() - begun < WAIT_SECONDS
            for key, _ in selector.select(WAIT_SECONDS):
                data = rest[key.fd] + os.read(key.fd, 1 << 18)
                now = time.monotonic_ns()
                *complete, rest[key.fd] = _frames(data) if framed else data.split(b"\n\n")
                for message in complete:
                    if b'"result"' in message[:60] or b"[DONE]" in message:
                        left[key.fd] -= 1
                        if not left[key.fd]:
                            selector.unregister(key.fd)
                    elif not framed or b'"text_delta"' in message:  # Other messages repeat the whole text.
                        delays += [(now - int(stamp)) / 1e6 for stamp in STAMP.findall(message)]
    return delays


def _frames(data: bytes) -> list[bytes]:
    """Split data into the bodies of complete frames and, as the last item, the rest."""
    frames, at = [], 0
    while (end := data.find(b"\r\n\r\n", at)) >= 0:
        body = end + 4
        length = int(data[at:end].partition(b": ")[2])
        if len(data) < body + length:
            break
        frames.append(data[body : body + length])
        at = body + length
    return [*frames, data[at:]]
