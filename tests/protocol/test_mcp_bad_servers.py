"""MCP servers that are silent or slow, or send too much, do not delay other chats.

`make bench` measures the exact delays.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.fakes import mcp_server
from tests.unit.tools.mcp.clients import Record

pytestmark = [pytest.mark.slow, pytest.mark.requirement("12:mcp-bad-servers")]

MAX_DELAY_SECONDS = 0.5
"""The time limit for a small request. A busy machine delays it by 0.1 s, a blocked daemon by seconds."""


async def start_call(daemon: Daemon, upstream: FakeUpstream, tool: str, **arguments: Any) -> int:
    """Start a chat whose model calls a tool; return the id of the request."""
    call = FakeCall("c1", tool, [json.dumps(arguments)])
    upstream.script(Reply.events(completion_stream(tool_calls=[call])))
    upstream.default(Reply.events(completion_stream(["Done."])))
    return daemon.start("chat/start", {"messages": [user("Go.")], "daemonTools": ["fake/*"]})


async def measure(daemon: Daemon, request: int) -> tuple[Any, list[float]]:
    """Send small requests until `request` is answered.

    Return its response, and the duration of each small request in seconds.
    """
    delays: list[float] = []
    response = None
    while response is None:
        begun = time.perf_counter()
        number = daemon.start("chat/cancel", {"turnId": "none"})
        while (message := await daemon.read()).get("id") != number:
            if message.get("id") == request:
                response = message
        delays.append(time.perf_counter() - begun)
        await asyncio.sleep(0)
    return response, delays


def result_of(response: Any) -> str:
    text: str = response["result"]["content"][1]["content"]
    return text


async def run_with_server(
    home: Path, flags: tuple[str, ...], run: Callable[[Daemon, FakeUpstream], Awaitable[None]]
) -> None:
    """Call `run` with a daemon that has already called a tool of the server."""
    (home / "config.toml").write_text(
        f'[tools]\nallow = ["fake/*"]\n{mcp_server.table("fake", *flags)}', "utf-8"
    )
    async with FakeUpstream() as upstream, running_daemon(home, wait_seconds=60) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        assert result_of(await call_once(daemon, upstream)) == "{}"
        await run(daemon, upstream)


async def call_once(daemon: Daemon, upstream: FakeUpstream) -> Any:
    """Make a call, so that later calls do not wait for imports; return the response."""
    return (await measure(daemon, await start_call(daemon, upstream, "fake__echo")))[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("line", {"count": 100_000_000}, "The server fake has ended: it sent a line that is too long."),
        ("big", {"count": 15_000_000}, "bytes were left out here"),
        ("parts", {"count": 60_000}, "59000 more parts were left out"),
        ("parts", {"count": 200_000}, "has more than 420000 values"),
        ("values", {"count": 400_000}, "bytes were left out here"),
        ("flood", {"count": 30_000}, "flooded"),
        ("crash", {}, "it ended with exit code 3"),
    ],
)
async def test_a_bad_answer_fails_or_is_cut_and_delays_nobody(
    home: Path, tool: str, arguments: dict[str, int], result: str
) -> None:
    async def run(daemon: Daemon, upstream: FakeUpstream) -> None:
        request = await start_call(daemon, upstream, f"fake__{tool}", **arguments)
        response, delays = await measure(daemon, request)

        assert result in result_of(response)
        assert response["result"]["text"] == "Done."
        assert max(delays) < MAX_DELAY_SECONDS

    await run_with_server(home, (), run)


@pytest.mark.parametrize("page_size", [100, 20_000])
async def test_ten_thousand_tools_delay_nobody(home: Path, page_size: int) -> None:
    async def run(daemon: Daemon, upstream: FakeUpstream) -> None:
        (home / "config.toml").write_text(
            mcp_server.table("fake", "--tools", "10000", "--page", str(page_size)), "utf-8"
        )
        daemon.notify("workspace/didChangeConfiguration", {"settings": {}})
        response, delays = await measure(daemon, daemon.start("tools/list", {"refresh": True}))
        listed = [tool for tool in response["result"]["tools"] if tool["server"] == "fake"]
        assert len(listed) == 10_000 + len(mcp_server.TOOLS)
        refused, more = await measure(daemon, await start_call(daemon, upstream, "fake__echo"))

        assert refused["error"]["code"] == 1004
        assert f"fake ({10_000 + len(mcp_server.TOOLS)})" in refused["error"]["message"]
        assert max(*delays, *more) < MAX_DELAY_SECONDS

    await run_with_server(home, (), run)


async def test_a_silent_server_delays_nobody(home: Path, tmp_path: Path) -> None:
    record = Record(tmp_path / "record")

    async def run(daemon: Daemon, upstream: FakeUpstream) -> None:
        silent = await start_call(daemon, upstream, "fake__wait")
        await record.wait_for("call wait")
        answered = (await daemon.request("chat/start", {"messages": [user("Hi")]})).result
        assert answered["text"] == "Done."
        daemon.notify("$/cancelRequest", {"id": silent})
        response, delays = await measure(daemon, silent)

        partial = response["error"]["data"]["partial"]["content"]
        assert partial[1]["content"] == "Cancelled."
        await record.wait_for("cancelled ")
        assert max(delays) < MAX_DELAY_SECONDS

    await run_with_server(home, ("--record", str(record.path)), run)
