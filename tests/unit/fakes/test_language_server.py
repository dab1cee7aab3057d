"""The fake language server is a scripted process that ends as real ones do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.daemon import frame
from tests.fakes import language_server_answers as answers
from tests.fakes.language_server import FakeLanguageServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX signals")


class Program:
    """A client of the process that sends raw frames."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._next_id = 0

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(map(frame, messages)))

    async def read(self) -> Any:
        async with asyncio.timeout(10):
            assert self.process.stdout is not None
            head = await self.process.stdout.readuntil(b"\r\n\r\n")
            length = int(head.decode("ascii").strip().removeprefix("Content-Length: "))
            return json.loads(await self.process.stdout.readexactly(length))

    def start(self, method: str, params: Any = None) -> int:
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    async def ask(self, method: str, params: Any = None) -> Any:
        """Send a request; return its result or error, and put the messages before it into `before`."""
        number = self.start(method, params)
        self.before: list[Any] = []
        while True:
            message = await self.read()
            if message.get("id") == number and "method" not in message:
                return message.get("result", message.get("error"))
            self.before.append(message)

    async def wait(self) -> int:
        """Wait for the process, and return its exit code."""
        async with asyncio.timeout(10):
            return await self.process.wait()


async def start_program(fake: FakeLanguageServer, *arguments: str, **env: str) -> Program:
    # Count the starts first: on a busy machine, the program may start while its creation is still awaited.
    count = len(fake.starts) + 1
    pipe = subprocess.PIPE
    program = Program(
        await asyncio.create_subprocess_exec(
            *fake.command, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **env}
        )
    )
    await fake.wait_for_start(count)
    return program


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def program(fake: FakeLanguageServer) -> AsyncIterator[Program]:
    running = await start_program(fake, "--stdio", MARK="here")
    yield running
    if running.process.returncode is None:
        running.process.kill()
    assert running.process.stdout is not None
    assert running.process.stderr is not None
    await running.process.stdout.read()
    await running.process.stderr.read()
    await running.wait()


async def test_the_fake_answers_like_the_real_server_and_notifies_before_initialize(
    program: Program, fake: FakeLanguageServer
) -> None:
    result = await program.ask("initialize", {})
    assert result["serverInfo"]["version"] == "1.539.0"
    assert program.before[0]["method"] == "copilot/hook/didChange"
    assert await program.ask("checkStatus", {}) == {"status": "OK", "user": "octocat"}
    assert [row["id"] for row in await program.ask("copilot/models", {})][:2] == [
        "gpt-4.1",
        "claude-sonnet-4.6",
    ]
    assert await program.ask("conversation/destroy", {"conversationId": "x"}) == "OK"
    assert (await program.ask("nonsense"))["code"] == -32601
    fake.status = {"status": "NotSignedIn"}
    assert (await program.ask("copilot/models", {}))["code"] == 1000


async def test_a_turn_is_reported_before_its_answer_and_its_conversation_continues(
    program: Program, fake: FakeLanguageServer
) -> None:
    asked = {"workDoneToken": "t", "turns": [{"request": "Hello"}], "model": "gpt-4.1"}
    created = await program.ask("conversation/create", asked)
    values = [each["params"]["value"] for each in program.before]
    assert [value["kind"] for value in values] == ["begin", "report", "report", "report", "end"]
    assert values[0]["conversationId"] == created["conversationId"]
    assert values[2]["editAgentRounds"][0]["reply"] == "Hello"
    more = {"workDoneToken": 2, "conversationId": created["conversationId"], "message": "More"}
    assert (await program.ask("conversation/turn", more))["turnId"] != created["turnId"]
    assert program.before[0]["params"]["token"] == 2
    unknown = await program.ask("conversation/turn", {**more, "conversationId": "none"})
    assert unknown == {"code": -32603, "message": "Conversation with id none does not exist"}


async def test_a_cancelled_turn_ends_like_a_real_one(program: Program, fake: FakeLanguageServer) -> None:
    never = asyncio.Event()
    fake.on("conversation/create", answers.turn(fake, answers.begin(), answers.reply("a"), never))
    number = program.start("conversation/create", {"workDoneToken": "t", "turns": [{"request": "Hello"}]})
    assert [(await program.read())["params"]["value"]["kind"] for _ in range(2)] == ["begin", "report"]
    program.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    end = (await program.read())["params"]["value"]
    assert (end["kind"], end["cancellationReason"]) == ("end", "CancelledByUser")
    assert (await program.read())["error"]["code"] == -32800


async def test_a_stubborn_server_ignores_everything_except_kill_9(fake: FakeLanguageServer) -> None:
    fake.stubborn = True
    program = await start_program(fake)
    program.start("shutdown")
    program.send({"jsonrpc": "2.0", "method": "exit"})
    await fake.wait_for("exit")
    assert program.process.stdin is not None
    program.process.stdin.close()
    await fake.wait_until(lambda: fake.current.saw_eof)
    program.process.terminate()
    fake.notify("still here")
    assert (await program.read())["method"] == "still here"
    assert program.process.returncode is None
    fake.kill()
    assert await program.wait() == -signal.SIGKILL


async def test_a_grandchild_outlives_its_parent(program: Program, fake: FakeLanguageServer) -> None:
    grandchild = await fake.start_grandchild()
    fake.kill()
    await fake.current.wait_until_ended()
    assert not grandchild.gone.is_set()
    os.kill(grandchild.pid, signal.SIGKILL)
    await grandchild.wait_until_ended()
