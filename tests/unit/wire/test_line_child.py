"""Child processes that exchange lines of JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.wire.line_child import LineChild
from jumpseat.wire.messages import Invalid

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals and process groups")

WAIT_SECONDS = 20.0

ECHO = """
import sys
print("Starting up, this is not JSON.", flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
"""
FLOOD = """
import os, select, sys
written, rest = 0, b""
os.set_blocking(1, False)
while written < 40_000_000:
    if not select.select([], [1], [], 0.3)[1]:
        print("blocked", file=sys.stderr, flush=True)
        select.select([], [1], [])
    rest = rest or b'{"n": 1}\\n' * 4096
    count = os.write(1, rest)
    rest, written = rest[count:], written + count
print("written", file=sys.stderr, flush=True)
"""
"""A program that writes 40 MB of lines, and reports if nobody reads them for 0.3 s."""


async def start(
    program: str, max_line_bytes: int = 1 << 20, **more: Any
) -> tuple[LineChild, asyncio.Queue[str]]:
    lines: asyncio.Queue[str] = asyncio.Queue()
    child = LineChild(lines.put_nowait, max_line_bytes=max_line_bytes, **more)
    await child.start([sys.executable, "-I", "-S", "-c", program], env=dict(os.environ), directory=Path("/"))
    return child, lines


async def receive(child: LineChild) -> Any:
    async with asyncio.timeout(WAIT_SECONDS):
        return await child.receive()


async def test_values_are_exchanged_and_other_lines_skipped() -> None:
    child, _ = await start(ECHO)
    child.send({"a": "ä\n"})
    child.send({"text": "x" * 500_000})

    assert await receive(child) == {"a": "ä\n"}
    assert len((await receive(child))["text"]) == 500_000
    await child.stop(5)
    with pytest.raises(EOFError, match="it was stopped"):
        await receive(child)


async def test_a_line_that_is_too_long_ends_the_program() -> None:
    child, _ = await start("print('\"' + 'x' * 3_000_000, end='', flush=True); input()")

    with pytest.raises(EOFError, match="it sent a line that is too long"):
        await receive(child)
    await child.wait_until_ended()


async def test_a_value_beyond_a_limit_keeps_its_id() -> None:
    child, _ = await start("print('{\"id\": 7, \"a\": ' + '[' * 700 + ']' * 700 + '}')")
    value = await receive(child)

    assert isinstance(value, Invalid)
    assert value.id == 7
    await child.wait_until_ended()


async def test_a_program_waits_while_nothing_is_read() -> None:
    child, lines = await start(FLOOD)
    for _ in range(100_000):
        assert await receive(child) == {"n": 1}
    async with asyncio.timeout(WAIT_SECONDS):
        assert await lines.get() == "blocked"
    child.kill()
    await child.wait_until_ended()


async def test_a_program_that_does_not_read_is_ended() -> None:
    child, _ = await start("import time; time.sleep(600)", stall_seconds=0.2)
    child.send("x" * 500_000)

    async with asyncio.timeout(WAIT_SECONDS):
        assert await child.wait_until_ended() == "it stopped reading what it was sent"
