"""Measures a search in 20,000 files, and how long it delays the event loop, in which all chats run."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

from jumpseat.system.environment import empty_environment
from jumpseat.tools.files.server import FileTools
from jumpseat.tools.server import CallContext, ToolCall
from jumpseat.tools.workspace import Workspace
from tests.bench.report import row

FILES = 20_000
SEARCHES = 7
LINES = "def walk(folder):\n    for entry in folder:\n        yield entry\n" * 50
TICK_SECONDS = 0.001


def measure_file_tools() -> None:
    """Measure and print the rows about file tools."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / ".gitignore").write_text("*.log\nbuild/\nnode_modules/\n__pycache__/\n", "utf-8")
        for number in range(FILES):
            folder = root / f"package{number // 100:03}"
            folder.mkdir(exist_ok=True)
            (folder / f"{number}.py").write_text(f"{LINES}{number}\n", "utf-8")
        asyncio.run(_measure(root))


async def _measure(root: Path) -> None:
    idle = [await _find_longest_delay(asyncio.sleep(1.0)) for _ in range(SEARCHES)]
    times: list[float] = []
    delays: list[float] = []
    for number in range(SEARCHES):
        begun = time.perf_counter()
        delays.append(await _find_longest_delay(_search(root, f"^{number + 1}99$")))
        times.append((time.perf_counter() - begun) * 1000)
    row(f"search of {FILES:,} files", times, "ms")
    row("longest delay of the event loop, idle", idle, "ms")
    row("longest delay of the event loop, during the search", delays, "ms", "target 50")


async def _search(root: Path, pattern: str) -> None:
    environment = empty_environment()
    server = FileTools(environment, environment.places.config_file)
    context = CallContext(environment, Workspace([root]), "c")
    call = ToolCall("search", {"pattern": pattern, "regex": True}, context)
    output = await server.call(replace(call, approved=await server.preview(call)))
    assert not output.is_error
    assert "99" in str(output.content), output.content
    await server.aclose()


async def _find_longest_delay(work: Awaitable[None]) -> float:
    """Return the longest delay of a timer during the work, in milliseconds."""
    longest = 0.0
    running = asyncio.ensure_future(work)
    while not running.done():
        begun = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        longest = max(longest, time.perf_counter() - begun - TICK_SECONDS)
    await running
    return longest * 1000


if __name__ == "__main__":
    measure_file_tools()
