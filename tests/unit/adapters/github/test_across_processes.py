"""Several daemons that share one token: real processes, a real lock, and a lock owner that is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jumpseat.adapters.github.copilot import shared_token
from jumpseat.adapters.github.copilot.credential import CopilotCredential
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.http import HttpClient
from jumpseat.system.secrets import Secret
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]
EXCHANGE = "/copilot_internal/v2/token"
WAIT_SECONDS = 100.0


@contextlib.asynccontextmanager
async def daemons(
    count: int, upstream: FakeUpstream, directory: Path, rounds: int = 1
) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Start processes that obtain tokens as daemons do, and kill them at the end of the context."""
    program = ["-m", "tests.unit.adapters.github.one_exchange", upstream.origin, str(directory), str(rounds)]
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        for _ in range(count)
    ]
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield started
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def read_line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def obtain_tokens(processes: list[asyncio.subprocess.Process]) -> list[str]:
    """Let each process obtain a token, all of them simultaneously, and return the tokens."""
    assert await asyncio.gather(*map(read_line, processes)) == ["ready"] * len(processes)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
    return await asyncio.gather(*map(read_line, processes))


def mint_tokens(upstream: FakeUpstream) -> None:
    def mint(_: RecordedRequest) -> Reply:
        return Reply.json({"token": f"tid=canary{len(upstream.requests)};x=1", "refresh_in": 1500})

    upstream.default(mint, path=EXCHANGE)


@pytest.mark.requirement("8:exchange-lock")
@pytest.mark.parametrize(("count", "rounds"), [(8, 3), pytest.param(2, 100, marks=pytest.mark.slow)])
async def test_simultaneous_requests_of_daemons_make_one_exchange(
    upstream: FakeUpstream, tmp_path: Path, count: int, rounds: int
) -> None:
    mint_tokens(upstream)
    async with daemons(count, upstream, tmp_path / "auth", rounds) as processes:
        for number in range(1, rounds + 1):
            assert await obtain_tokens(processes) == [f"tid=canary{number};x=1"] * count
            assert len(upstream.requests) == number


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX signals")
@pytest.mark.requirement("8:exchange-lock")
async def test_a_daemon_killed_during_an_exchange_does_not_block_others(
    upstream: FakeUpstream, http: HttpClient, hosts: GitHubHosts, tmp_path: Path
) -> None:
    upstream.script(Reply((Gate(), b"{}")), path=EXCHANGE)
    mint_tokens(upstream)
    tokens = CopilotCredential(
        http, hosts, SignIn(Secret("ghu_canary-of-eight"), "file"), directory=tmp_path / "auth"
    )
    async with daemons(1, upstream, tmp_path / "auth") as (holder,):
        assert await read_line(holder) == "ready"
        assert holder.stdin is not None
        holder.stdin.write(b"go\n")
        await upstream.wait_for_request()
        waiting = asyncio.ensure_future(tokens.get_bearer())
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done
        assert len(upstream.requests) == 1, "the second exchange did not wait for the lock"

        holder.send_signal(signal.SIGKILL)

        async with asyncio.timeout(shared_token.LOCK_SECONDS / 2):
            assert (await waiting).token.reveal() == "tid=canary2;x=1"
    await tokens.aclose()


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX signals")
@pytest.mark.requirement("8:exchange-lock")
async def test_a_daemon_stopped_during_an_exchange_delays_others_only_by_seconds(
    upstream: FakeUpstream,
    http: HttpClient,
    hosts: GitHubHosts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_token, "LOCK_SECONDS", 0.5)
    spread = iter([0.0, 0.5, 0.8, 1.0])
    monkeypatch.setattr(shared_token.random, "random", lambda: next(spread))
    upstream.script(Reply((Gate(), b"{}")), path=EXCHANGE)
    mint_tokens(upstream)
    sign_in = SignIn(Secret("ghu_canary-of-eight"), "file")
    others = [CopilotCredential(http, hosts, sign_in, directory=tmp_path / "auth") for _ in range(4)]
    async with daemons(1, upstream, tmp_path / "auth") as (holder,):
        assert await read_line(holder) == "ready"
        assert holder.stdin is not None
        holder.stdin.write(b"go\n")
        await upstream.wait_for_request()
        holder.send_signal(signal.SIGSTOP)

        async with asyncio.timeout(2 * shared_token.SPREAD_SECONDS):
            found = await asyncio.gather(*(tokens.get_bearer() for tokens in others))

    assert {each.token.reveal() for each in found} == {"tid=canary2;x=1"}
    assert len(upstream.requests) == 2
    for tokens in others:
        await tokens.aclose()
