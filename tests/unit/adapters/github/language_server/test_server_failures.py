"""Failed starts of a language server: each reports its reason and leaves no process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from jumpseat.adapters.base.starts import MAX_STARTS
from jumpseat.adapters.github.language_server import server as server_module
from jumpseat.adapters.github.language_server.connection import MAX_LAST_WORDS_CHARACTERS
from jumpseat.chat import ConnectionError
from jumpseat.system.secrets import register_secret
from jumpseat.wire import RpcError
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.unit.adapters.github.language_server.harness import (
    GITHUB_TOKEN,
    PATIENCE_SECONDS,
    POSIX,
    SECRET,
    Harness,
    Harnesses,
    script,
)

pytestmark = POSIX


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [("#!/bin/sh\n", 0o644, "Permission denied"), ("neither", 0o755, "Exec format error")],
    ids=["not executable", "exec format"],
)
@pytest.mark.requirement("language-server:failed-start")
async def test_a_program_that_cannot_be_started_is_reported_with_the_systems_reason(
    harnesses: Harnesses, tmp_path: Path, content: str, mode: int, reason: str
) -> None:
    program = script(tmp_path / "server", content)
    program.chmod(mode)
    error = await harnesses.make(command=[str(program)]).failure()
    assert isinstance(error, ConnectionError)
    assert reason in error.message
    assert str(program) in (error.hint or "")
    assert not error.retryable


@pytest.mark.requirement("language-server:failed-start")
async def test_a_server_that_exits_is_reported_with_its_exit_code_and_last_lines(
    harnesses: Harnesses, tmp_path: Path
) -> None:
    words = "Node.js 22.13 is required to run GitHub Copilot but found 20.1"
    program = script(tmp_path / "server", f"#!/bin/sh\necho '{words}' >&2\nexit 24\n")
    error = await harnesses.make(command=[str(program)]).failure()
    assert isinstance(error, ConnectionError)
    assert "exit code 24" in error.message
    assert words in (error.hint or "")
    assert f"`{program} --stdio`" in (error.hint or "")
    assert not error.retryable


@pytest.mark.requirement("language-server:failed-start", "language-server:no-secrets")
async def test_the_last_stderr_lines_are_reported_bounded_and_without_secrets(
    harnesses: Harnesses, tmp_path: Path
) -> None:
    register_secret(SECRET)
    lines = ["no " * 1000, f"password {SECRET}", f"token {GITHUB_TOKEN}", "the end"]
    program = script(tmp_path / "server", "".join(["#!/bin/sh\n", *(f"echo {x} >&2\n" for x in lines)]))
    hint = (await harnesses.make(command=[str(program)]).failure()).hint or ""
    assert hint.endswith("password *** / token *** / the end")
    assert len(hint) < MAX_LAST_WORDS_CHARACTERS + 200  # The rest of the hint takes up to 200 characters.


@pytest.mark.requirement("language-server:failed-start")
async def test_a_server_that_refuses_initialize_is_reported_with_its_message_and_ended(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", RpcError(-32603, "The extension host is on fire."))
    error = await harness.failure()
    assert isinstance(error, ConnectionError)
    assert error.message.endswith("refuses to start: The extension host is on fire.")
    await fake.starts[0].wait_until_ended()
    assert harness.server.running_connection is None


@pytest.mark.requirement("language-server:failed-start")
async def test_a_server_that_never_answers_initialize_is_ended_and_reported(
    harness: Harness, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.stubborn = True
    fake.on("initialize", NEVER)
    for seconds in (0.2, 2.0, 10.0):
        monkeypatch.setattr(server_module, "INITIALIZE_SECONDS", seconds)
        error = await harness.failure()
        assert isinstance(error, ConnectionError)
        assert f"not ready within {seconds:g} s" in error.message
        if "initialize" in fake.methods:
            break  # Otherwise the machine was too busy to start the fake in time.
    await fake.starts[0].wait_until_ended()


@pytest.mark.requirement("language-server:failed-start")
async def test_a_server_that_is_killed_before_it_is_ready_is_reported(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", lambda params: fake.kill() or NEVER)
    error = await harness.failure()
    assert isinstance(error, ConnectionError)
    assert "killed by signal 9" in error.message


@pytest.mark.requirement("language-server:failed-start")
async def test_closed_output_is_reported_even_if_another_process_holds_stderr(
    harnesses: Harnesses, tmp_path: Path
) -> None:
    program = script(
        tmp_path / "server",
        f"#!{sys.executable} -IS\n"
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen(['sleep', '60'], start_new_session=True, stdin=subprocess.DEVNULL,"
        " stdout=subprocess.DEVNULL)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(held.pid))\n"
        "os.close(1)\n"
        "time.sleep(60)\n",
    )
    try:
        error = await harnesses.make(command=[str(program)]).failure()
    finally:
        os.kill(int((tmp_path / "pid").read_text("utf-8")), signal.SIGKILL)
    assert error.message.endswith("was not ready when it closed its output.")


@pytest.mark.requirement("language-server:failed-start", "language-server:broken-framing")
async def test_a_server_that_prints_before_it_is_ready_is_reported(
    harness: Harness, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", lambda params: fake.send_bytes(b"Welcome!\n\n") or NEVER)
    error = await harness.failure()
    assert isinstance(error, ConnectionError)
    assert "it sent something that is not a message" in error.message
    await fake.starts[0].wait_until_ended()


@pytest.mark.requirement("language-server:failed-start", "language-server:restart")
async def test_a_failed_start_does_not_prevent_the_next(harness: Harness, fake: FakeLanguageServer) -> None:
    fake.on("initialize", RpcError(-32603, "Not now."), lambda params: {})
    await harness.failure()
    connection = await harness.connect()
    assert connection.running
    assert connection.server_version is None
    assert len(fake.starts) == 2
    # The failed start and starts that end with a crash count together.
    for number in range(2, MAX_STARTS + 1):
        assert len(fake.starts) == number
        connection = await harness.connect()
        fake.exit(3)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await connection.wait_until_ended()
        if number < MAX_STARTS:
            await harness.connect()
    assert ((await harness.failure()).hint or "").endswith(" The last time it ended with exit code 3.")
