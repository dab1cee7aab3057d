"""Copilot's tokens with many chats, many daemons, killed daemons and redirects."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.github.copilot.credential import REPLACEMENT_SECONDS
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.copilot import configure, copilot_daemon, make_question, sign_in, table
from tests.daemon import Daemon
from tests.emulator import CopilotEmulator, faults

pytestmark = pytest.mark.slow

CHAT = make_question(model="copilot:gpt-4.1")
EXCHANGE, USER, MODELS, CHATS = (
    "/copilot_internal/v2/token",
    "/copilot_internal/user",
    "/models",
    "/chat/completions",
)
MANY = 50


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(home, table(running, github_token=running.issue_token("octocat")))
        yield running


async def read_responses(daemon: Daemon, ids: list[int]) -> dict[int, Any]:
    """Read the responses to these requests, which may arrive in any order."""
    found: dict[int, Any] = {}
    while len(found) < len(ids):
        message = await daemon.read()
        if "id" in message:
            found[message["id"]] = message
    return found


@pytest.mark.requirement("8:single-flight", "8:token-expires")
async def test_fifty_chats_with_an_expired_token_share_one_exchange(home, emulator):
    gate = Gate()
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        # Half of the chats run when their token expires. The other half start after that.
        emulator.script("gpt-4.1", *[faults.hold(gate, after=2)] * (MANY // 2))
        running = [daemon.start("chat/start", CHAT) for _ in range(MANY // 2)]
        await emulator.wait_for(CHATS, 1 + MANY // 2)
        emulator.expire_copilot_tokens()
        running += [daemon.start("chat/start", {**CHAT, "stream": False}) for _ in range(MANY // 2)]
        await emulator.wait_for(EXCHANGE, 2)
        gate.open()
        found = await read_responses(daemon, running)

    assert {message["result"]["text"] for message in found.values()} == {"You said: Hello"}
    assert emulator.exchanges == len(emulator.requests(path=EXCHANGE)) == 2
    # Each chat makes at most two requests: with the old token, and with the new one.
    assert len(emulator.requests(path=CHATS)) <= 1 + MANY + MANY // 2


async def run_rounds_of_daemons(home: Path, emulator: CopilotEmulator, daemons: int, rounds: int) -> None:
    """In each round, start some daemons, chat with all of them, and check that they share one exchange."""
    for number in range(1, rounds + 1):
        async with contextlib.AsyncExitStack() as stack:
            running = await asyncio.gather(
                *(stack.enter_async_context(copilot_daemon(home)) for _ in range(daemons))
            )
            exchanges = await asyncio.gather(*(daemon.request("chat/start", CHAT) for daemon in running))
        assert [each.result["text"] for each in exchanges] == ["You said: Hello"] * daemons
        assert emulator.exchanges == number
        # The next daemons find a token in the shared file that seems valid, but is refused.
        emulator.expire_copilot_tokens()
        let_a_minute_pass(home)


def let_a_minute_pass(home: Path) -> None:
    """Make the last replacement of the token older, so that daemons may replace the token again."""
    for path in (home / "auth").glob("copilot_token.*.json"):
        content = json.loads(path.read_text("utf-8"))
        if content["replaced_at"] is not None:
            content["replaced_at"] -= REPLACEMENT_SECONDS
            path.write_text(json.dumps(content), "utf-8")


@pytest.mark.requirement("8:one-exchange-for-all-daemons")
async def test_daemons_whose_shared_token_is_refused_replace_it_once(home, emulator):
    await run_rounds_of_daemons(home, emulator, daemons=3, rounds=2)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.requirement("8:one-exchange-for-all-daemons")
async def test_eight_daemons_share_one_exchange_in_each_of_ten_rounds(home, emulator):
    await run_rounds_of_daemons(home, emulator, daemons=8, rounds=10)


def check_store(home: Path) -> None:
    """Check that the files of the store are complete and private."""
    for path in (home / "auth").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        if path.suffix != ".lock" and not path.name.startswith("."):
            assert isinstance(json.loads(path.read_bytes()), dict), path
    assert stat.S_IMODE((home / "auth").stat().st_mode) == 0o700


@pytest.mark.requirement("8:token-file-whole", "8:one-exchange-for-all-daemons")
async def test_a_daemon_killed_during_an_exchange_does_not_delay_others(home, emulator):
    gate = Gate()
    emulator.script(EXCHANGE, faults.hold(gate, after=0))
    async with copilot_daemon(home) as killed, copilot_daemon(home) as other:
        killed.start("chat/start", CHAT)
        await emulator.wait_for(EXCHANGE)
        waiting = other.start("chat/start", CHAT)  # This chat waits for the lock of the first daemon.
        await other.read_delta("start")
        killed.process.kill()
        await killed.exit_code()
        chat = await other.read_until(waiting)
        check_store(home)
    gate.open()

    assert chat.result["text"] == "You said: Hello"
    assert len(emulator.requests(path=EXCHANGE)) == 2


@pytest.mark.requirement("8:token-file-whole")
async def test_the_store_works_after_daemons_were_killed_while_writing_to_it(home, emulator):
    configure(home, table(emulator))
    async with copilot_daemon(home) as daemon:
        await sign_in(daemon, emulator)
    for number in range(6):
        emulator.expire_copilot_tokens()
        asked = len(emulator.requests(path=EXCHANGE))
        async with copilot_daemon(home) as daemon:
            daemon.start("chat/start", CHAT)
            # The emulator has answered, and the daemon is about to write the token.
            await emulator.wait_for(EXCHANGE, asked + 1)
            if number % 2:
                await daemon.read_delta("start")
            daemon.process.kill()
            await daemon.exit_code()
        check_store(home)

    async with copilot_daemon(home) as daemon:
        assert (await daemon.request("chat/start", CHAT)).result["text"] == "You said: Hello"
        status = (await daemon.request("auth/status", {"provider": "copilot"})).result
    assert (status["state"], status["source"]) == ("signed_in", "file")


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize("path", [EXCHANGE, USER, MODELS, CHATS])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_credentials_are_not_sent_to_the_target_of_a_redirect(
    home, emulator, upstream: FakeUpstream, path, status
):
    away = Reply.raw(b"", status, headers={"Location": f"{upstream.origin}{path}"})
    emulator.script(path, *[away] * 20)
    async with copilot_daemon(home) as daemon:
        await daemon.request("chat/start", CHAT)
        await daemon.request("auth/status", {"provider": "copilot", "refresh": True})

    assert emulator.requests(path=path)
    assert upstream.requests == []


def arguments_of(pid: int) -> str:
    """Return a process's arguments; empty without /proc."""
    path = Path(f"/proc/{pid}/cmdline")
    return path.read_text("utf-8") if path.exists() else ""


@pytest.mark.requirement("8:no-token-leaks")
async def test_failures_at_debug_level_do_not_show_credentials(home, emulator):
    emulator.script(
        "/chat/completions",
        faults.reject_token(),
        *[Reply.raw(b"Authorization: Bearer tid=none", 500)] * 3,
    )
    wire: list[Any] = []
    async with copilot_daemon(home, "--log-level", "debug") as daemon:
        for method, params in (
            ("chat/start", {**CHAT, "settings": None}),
            ("models/list", {"provider": "copilot", "refresh": True}),
            ("auth/status", {"provider": "copilot", "refresh": True}),
            ("providers/list", {"probe": True}),
            ("chat/start", make_question(model="copilot:auto")),
        ):
            exchange = await daemon.request(method, params)
            wire += [exchange.response, exchange.notifications]
        emulator.revoke(emulator.credentials.all()[0].value)
        emulator.expire_copilot_tokens()
        exchange = await daemon.request("chat/start", CHAT)
        wire += [exchange.response, exchange.notifications]
        argv = arguments_of(daemon.process.pid)
        await daemon.request("shutdown")
        daemon.notify("exit")
        await daemon.exit_code()

    secrets = [each.value for each in emulator.credentials.all()]
    assert len(secrets) >= 3
    seen = daemon.log + json.dumps(wire) + argv
    assert [secret for secret in secrets if secret in seen] == []
    # Parts of a secret are not allowed either: the first characters would identify it.
    assert [secret for secret in secrets if secret[:24] in seen] == []
