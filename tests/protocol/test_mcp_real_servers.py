"""MCP servers of other authors, whose tools a scripted model calls through the real daemon.

`mcp-server-time` uses the official SDK for Python and the newest version of the protocol. The other two
servers use the SDK for TypeScript and an earlier version.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, user
from tests.fakes.mcp_server import to_toml

pytestmark = pytest.mark.slow

TOOLS = Path(__file__).parents[1] / "tools" / "mcp"
PACKAGES = TOOLS / "node_modules" / "@modelcontextprotocol"
EVERYTHING = PACKAGES / "server-everything" / "dist" / "index.js"
FILESYSTEM = PACKAGES / "server-filesystem" / "dist" / "index.js"
TIME = [sys.executable, "-m", "mcp_server_time"]

needs_node = pytest.mark.skipif(
    not PACKAGES.is_dir() or shutil.which("node") is None,
    reason="npm ci --prefix tests/tools/mcp was not run",
)


class Client:
    """A client whose user allows every call. It records the questions and the statuses of calls."""

    def __init__(self, daemon: Daemon, upstream: FakeUpstream) -> None:
        self.daemon = daemon
        self.upstream = upstream
        self.questions: list[Any] = []
        self.statuses: list[Any] = []

    async def open(self) -> None:
        """Do the handshake."""
        params = {
            "processId": None,
            "capabilities": {"experimental": {"jumpseat": {"approveTools": True}}},
            "initializationOptions": {"config": provider(self.upstream.base_url)},
        }
        await self.daemon.request("initialize", params)
        self.daemon.notify("initialized", {})

    async def run(self, server: str, *calls: tuple[str, dict[str, Any]]) -> Any:
        """Run a turn whose model makes these calls, one in each round. Return the result of the turn."""
        for number, (tool, arguments) in enumerate(calls):
            call = FakeCall(f"c{number}", f"{server}__{tool}", [json.dumps(arguments)])
            self.upstream.script(Reply.events(completion_stream(tool_calls=[call])))
        self.upstream.script(Reply.events(completion_stream(["Done."])))
        return await self.finish(self.start(server))

    def start(self, server: str) -> int:
        """Start a turn with the tools of a server; return the id of the request."""
        params = {"messages": [user("Go.")], "turnId": "t", "daemonTools": [f"{server}/*"]}
        return self.daemon.start("chat/start", params)

    async def finish(self, request: int) -> Any:
        """Allow every call until the turn has ended; return its result."""
        while (message := await self.daemon.read()).get("id") != request:
            delta = (message.get("params") or {}).get("delta") or {}
            if delta.get("type") == "tool_approval":
                self.questions.append(delta)
                decision = {"turnId": "t", "toolUseId": delta["toolUseId"], "decision": "allow"}
                self.daemon.start("tools/decide", decision)
            elif delta.get("type") == "tool_status":
                self.statuses.append(delta)
        assert "result" in message, message
        assert message["result"]["text"] == "Done."
        return message["result"]


def results_of(answer: Any) -> list[tuple[str, bool]]:
    """Return the text of each result, and whether it is an error."""
    return [
        (block["content"], block.get("isError", False))
        for block in answer["content"]
        if block["type"] == "tool_result"
    ]


@pytest.fixture
async def client(daemon: Daemon, upstream: FakeUpstream) -> Client:
    """Return a client. The test writes a configuration, and then does the handshake with `open`."""
    return Client(daemon, upstream)


def configure(home: Path, name: str, **values: Any) -> None:
    """Write a configuration with one server."""
    table = "".join(f"{key} = {to_toml(value)}\n" for key, value in values.items())
    (home / "config.toml").write_text(f"[mcp.{name}]\n{table}", "utf-8")


@pytest.mark.requirement("12:mcp-stdio")
async def test_the_server_for_time_zones_converts_a_time(client: Client, home: Path) -> None:
    configure(home, "time", command=TIME)
    await client.open()
    known = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    unknown = {**known, "target_timezone": "Asia/Atlantis"}
    answer = await client.run("time", ("convert_time", known), ("convert_time", unknown))
    (converted, is_error), (refused, is_refused) = results_of(answer)

    assert (json.loads(converted)["target"]["datetime"][11:16], is_error) == ("21:00", False)
    assert ("Atlantis" in refused, is_refused) == (True, True)


@needs_node
@pytest.mark.requirement("12:mcp-stdio", "12:mcp-results", "12:rules")
async def test_a_model_edits_a_project_with_the_server_for_files(
    client: Client, home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    program = project / "main.py"
    program.write_text("def greet():\n    print('hello')\n", "utf-8")
    (tmp_path / "other.txt").write_text("not in the project", "utf-8")
    configure(home, "fs", command=["node", str(FILESYSTEM), str(project)])
    await client.open()
    change = {"oldText": "print('hello')", "newText": "print('bye')"}
    answer = await client.run(
        "fs",
        ("list_directory", {"path": str(project)}),
        ("read_text_file", {"path": str(program)}),
        ("edit_file", {"path": str(program), "edits": [change]}),
        ("write_file", {"path": str(project / "notes.md"), "content": "# Notes\n"}),
        ("read_text_file", {"path": str(tmp_path / "other.txt")}),
    )
    listed, read, edited, written, outside = results_of(answer)

    assert program.read_text("utf-8") == "def greet():\n    print('bye')\n"
    assert (project / "notes.md").read_text("utf-8") == "# Notes\n"
    assert listed == ("[FILE] main.py", False)
    assert read == ("def greet():\n    print('hello')\n", False)
    assert ("+    print('bye')" in edited[0], edited[1], written[1]) == (True, False, False)
    assert ("outside allowed directories" in outside[0], outside[1]) == (True, True)
    assert answer["rounds"] == 6
    assert [question["tool"] for question in client.questions] == [
        *("list_directory", "read_text_file", "edit_file", "write_file", "read_text_file")
    ]
    assert client.questions[2]["arguments"] == {"path": str(program), "edits": [change]}


@asynccontextmanager
async def serve_everything() -> AsyncIterator[str]:
    """Run the server `everything` over HTTP on loopback, and yield its URL."""
    preload, program = (TOOLS / "loopback.mjs").as_uri(), str(EVERYTHING)
    process = await asyncio.create_subprocess_exec(
        *("node", "--import", preload, program, "streamableHttp"),
        env={**os.environ, "PORT": "0"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while (match := re.match(rb"port (\d+)", await process.stderr.readline())) is None:
                assert process.returncode is None
        yield f"http://127.0.0.1:{int(match[1])}/mcp"
    finally:
        process.kill()
        await process.stderr.read()
        await process.wait()


@asynccontextmanager
async def run_everything(home: Path, transport: str) -> AsyncIterator[None]:
    """Configure the server `everything` with a transport, and run it if the transport is HTTP."""
    if transport == "stdio":
        configure(home, "every", command=["node", str(EVERYTHING), "stdio"])
        yield
        return
    async with serve_everything() as url:
        configure(home, "every", url=url)
        yield


@needs_node
@pytest.mark.requirement("12:mcp-stdio", "12:mcp-http", "12:mcp-results", "12:progress")
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_server_that_has_every_feature_works(client: Client, home: Path, transport: str) -> None:
    async with run_everything(home, transport):
        await client.open()
        answer = await client.run(
            "every",
            ("echo", {"message": "grüß dich"}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
            ("get-tiny-image", {}),
            ("get-sum", {"a": "one"}),
            ("trigger-long-running-operation", {"duration": 0.4, "steps": 4}),
        )
        echoed, structured, resource, _, refused, operated = results_of(answer)
        listed = (await client.daemon.request("tools/list", {})).result

    assert echoed == ("Echo: grüß dich", False)
    assert json.loads(structured[0])["temperature"] == 36
    assert "This is a plaintext resource" in resource[0]
    assert ("expected number" in refused[0], refused[1]) == (True, True)
    assert operated == ("Long running operation completed. Duration: 0.4 seconds, Steps: 4.", False)
    # The daemon passes on at most ten reports a second, so a report that closely follows another is dropped.
    reports = [(each["progress"], each["total"]) for each in client.statuses if "progress" in each]
    assert reports[0] == (1, 4)
    assert set(reports) <= {(1, 4), (2, 4), (3, 4), (4, 4)}
    (server,) = (each for each in listed["servers"] if each["name"] == "every")
    assert server["state"] == "running"
    titles = {tool["tool"]: tool.get("title") for tool in listed["tools"] if tool["server"] == "every"}
    assert titles["echo"] == "Echo Tool"


@needs_node
@pytest.mark.requirement("12:cancel", "12:mcp-stdio", "12:mcp-http")
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_long_operation_of_a_real_server_can_be_cancelled(
    client: Client, home: Path, transport: str
) -> None:
    async with run_everything(home, transport):
        await client.open()
        call = FakeCall("c0", "every__trigger-long-running-operation", ['{"duration": 600, "steps": 6000}'])
        client.upstream.script(Reply.events(completion_stream(tool_calls=[call])))
        request = client.start("every")
        question = await client.daemon.read_delta("tool_approval")
        decision = {"turnId": "t", "toolUseId": question["delta"]["toolUseId"], "decision": "allow"}
        client.daemon.start("tools/decide", decision)
        while True:
            message = await client.daemon.read()
            if "progress" in ((message.get("params") or {}).get("delta") or {}):
                break
        client.daemon.notify("$/cancelRequest", {"id": request})
        while (message := await client.daemon.read()).get("id") != request:
            pass
        partial = message["error"]["data"]["partial"]["content"]
        assert partial[-1]["content"] == "Cancelled."

        # The connection still works.
        answer = await client.run("every", ("echo", {"message": "again"}))
        assert results_of(answer) == [("Echo: again", False)]
