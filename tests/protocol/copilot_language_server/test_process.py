"""The process of the Copilot language server: what starts it, how it ends, and what that does to a chat."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from jumpseat.wire import RpcError
from tests.attempts import ATTEMPTS, assert_quick
from tests.daemon import Daemon, running_daemon, user
from tests.fakes.language_server import FakeLanguageServer
from tests.fakes.language_server_answers import begin, end, round_reply, turn
from tests.protocol.copilot_language_server.daemons import (
    CLS,
    KIND,
    chat,
    configure,
    read_notification,
    read_row,
    start_daemon,
)

pytestmark = pytest.mark.slow

SECRET = "gho_thisIsTheChildsOwnSecret0123456789"


@pytest.mark.requirement("language-server:command")
async def test_a_server_that_is_not_installed_is_listed_with_the_command_to_install_it(
    home: Path, tmp_path: Path
) -> None:
    async with start_daemon(home, None, command=[str(tmp_path / "nothing")]) as daemon:
        row = await read_row(daemon)
        error = (await chat(daemon)).error
        status = (await daemon.request("auth/status", CLS)).result

    assert (row["kind"], row["configured"]) == (KIND, False)
    assert "npm install -g @github/copilot-language-server" in row["auth"]["message"]
    assert status["message"] == row["auth"]["message"]
    assert error["code"] == 1010
    assert "npm install -g @github/copilot-language-server" in error["data"]["hint"]
    assert "providers.cls.command" in error["message"] + error["data"]["hint"]


@pytest.mark.requirement("language-server:failed-start")
async def test_a_program_that_is_not_a_language_server_causes_1008_with_its_output(
    home: Path, tmp_path: Path
) -> None:
    program = tmp_path / "other"
    program.write_text("#!/bin/sh\necho 'Node.js 22.13 is wanted' >&2\nexit 24\n", "utf-8")
    program.chmod(0o755)
    async with start_daemon(home, None, command=[str(program)]) as daemon:
        row = await read_row(daemon)
        error = (await chat(daemon)).error

    assert error["code"] == 1008
    assert "exit code 24" in error["message"]
    assert "Node.js 22.13 is wanted" in error["data"]["hint"]
    assert row["auth"]["state"] == "signed_out"
    assert "exit code 24" in row["auth"]["message"]


@pytest.mark.requirement("language-server:broken-framing")
async def test_an_invalid_message_causes_1009_and_the_next_chat_restarts_the_server(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")

    fake.send_bytes(b"Node.js crashed here\r\n\r\n")
    error = (await served.read_until(request_id)).error
    fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
    again = await chat(served)

    assert error["code"] == 1009
    assert error["data"]["partial"]["text"] == "Hel"
    assert again.result["text"] == "You said: Hi"
    assert len(fake.starts) == 2


@pytest.mark.requirement("language-server:crash", "language-server:restart")
async def test_a_server_killed_during_a_chat_causes_1009_with_the_partial_answer(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    async def seconds_until_it_is_reported() -> float:
        fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
        request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
        await served.read_delta("text_delta")
        count = len(fake.starts)

        began = time.monotonic()
        fake.kill()
        exchange = await served.read_until(request_id)
        seconds = time.monotonic() - began
        fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
        again = await chat(served)

        assert exchange.error["code"] == 1009
        assert exchange.error["data"]["partial"]["text"] == "Hel"
        assert exchange.deltas[-1]["type"] == "done"
        assert again.result["text"] == "You said: Hi"
        assert len(fake.starts) == count + 1
        return seconds

    await assert_quick(seconds_until_it_is_reported, within=1.0)


@pytest.mark.requirement("language-server:overlay")
@pytest.mark.parametrize("with_command", [True, False])
async def test_a_client_cannot_start_a_program(
    home: Path, fake: FakeLanguageServer, with_command: bool
) -> None:
    # A program of the right name is on the PATH; it must run only if the user configures it.
    folder = home / "bin"
    folder.mkdir()
    witness = home / "ran"
    program = folder / "copilot-language-server"
    program.write_text(f"#!/bin/sh\ntouch {witness}\n", "utf-8")
    program.chmod(0o755)
    table = {"kind": KIND, **({"command": fake.command} if with_command else {})}
    async with running_daemon(home, env={"PATH": str(folder)}) as daemon:
        params = {
            "processId": None,
            "capabilities": {},
            "initializationOptions": {"config": {"providers": {"cls": table}}},
        }
        exchange = await daemon.request("initialize", params)
        if with_command:
            error = exchange.error
        else:
            daemon.notify("initialized", {})
            row = await read_row(daemon)
            assert row["auth"]["state"] == "signed_out"
            error = (await chat(daemon)).error

    assert error["code"] == 1010
    assert fake.starts == []
    assert not witness.exists()


@pytest.mark.requirement("language-server:no-secrets", "language-server:environment")
async def test_the_childs_secrets_never_reach_our_log_or_a_client(
    home: Path, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_COPILOT_TOKEN", SECRET)
    monkeypatch.setenv("GROQ_API_KEY", "gsk-the-key-of-another-provider")
    async with start_daemon(home, fake, "--log-level", "debug") as daemon:
        first = await chat(daemon)
        fake.stderr(f"using token {SECRET}\nAuthorization: Bearer {SECRET}x\n")
        fake.on("conversation/create", RpcError(-32603, f"bad token {SECRET}"))
        second = await chat(daemon, user("Another"))
        log = await daemon.whole_log()

    (start,) = fake.starts
    assert start.env["GH_COPILOT_TOKEN"] == SECRET
    assert "GROQ_API_KEY" not in start.env
    assert "using token" in log
    assert SECRET not in log
    assert SECRET not in json.dumps([first.response, first.notifications, second.response])


@pytest.mark.requirement("language-server:shutdown")
async def test_the_server_ends_with_the_daemon(home: Path, fake: FakeLanguageServer) -> None:
    for _ in range(ATTEMPTS):
        async with start_daemon(home, fake) as daemon:
            await chat(daemon)
            daemon.close_stdin()
            await daemon.exit_code()
        await fake.current.wait_until_ended()
        if "shutdown" in fake.methods:
            return
        # On a busy machine, the daemon may kill the server before the server has read the request.
    pytest.fail("the server never received `shutdown`")


@pytest.mark.requirement("language-server:shutdown", "language-server:restart")
async def test_a_configuration_change_in_mid_chat_ends_the_server_after_the_chat(
    served: Daemon, home: Path, fake: FakeLanguageServer
) -> None:
    more = asyncio.Event()
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), more, round_reply("lo"), end()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")
    configure(home, fake, timeout=77)
    served.notify("workspace/didChangeConfiguration", {"settings": {}})
    await read_notification(served, "providers/didChange")
    running = list(fake.starts)
    more.set()
    first = await served.read_until(request_id)
    await running[0].wait_until_ended()
    fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
    second = await chat(served)

    assert first.result["text"] == "Hello"
    assert second.result["text"] == "You said: Hi"
    assert (len(running), len(fake.starts)) == (1, 2)


@pytest.mark.requirement("language-server:initialize")
async def test_the_server_gets_the_name_of_the_editor(served: Daemon, fake: FakeLanguageServer) -> None:
    await chat(served)

    (params,) = fake.params("initialize")
    assert params["initializationOptions"]["editorInfo"] == {"name": "tests", "version": "0"}
    assert params["processId"] == served.process.pid
