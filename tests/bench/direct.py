"""The baseline: httpx2 alone sends the same request and reads every event of the answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2


class Direct:
    """A client of httpx2 with its own event loop."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/chat/completions"
        self._loop = asyncio.new_event_loop()
        self._client = httpx2.AsyncClient(trust_env=False)

    def run(self, count: int, messages: Sequence[Mapping[str, Any]]) -> list[float]:
        """Run `count` chats at once; return the milliseconds to the first text of each."""
        return self._loop.run_until_complete(self._ask_all(count, messages))

    async def _ask_all(self, count: int, messages: Sequence[Mapping[str, Any]]) -> list[float]:
        begun = time.perf_counter()
        firsts = await asyncio.gather(*(self._ask(messages) for _ in range(count)))
        return [(first - begun) * 1000 for first in firsts]

    async def _ask(self, messages: Sequence[Mapping[str, Any]]) -> float:
        first = None
        body = {"model": "m", "messages": messages, "stream": True}
        async with self._client.stream("POST", self._url, json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {") and _has_text(json.loads(line[6:])):
                    first = first or time.perf_counter()
        assert first is not None
        return first

    @property
    def cpu_seconds(self) -> float:
        """The user and system time of this process so far. It does nothing else while a chat runs."""
        return time.process_time()

    def close(self) -> None:
        """Close the client."""
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


@contextmanager
def direct(base_url: str) -> Iterator[Direct]:
    """Yield a client and close it at the end."""
    client = Direct(base_url)
    try:
        yield client
    finally:
        client.close()


def _has_text(chunk: dict[str, Any]) -> bool:
    return bool(chunk["choices"]) and bool(chunk["choices"][0]["delta"].get("content"))
