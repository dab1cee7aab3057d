"""Short-lived tokens: one exchange for all callers and daemons, and few requests when it fails."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.github.copilot import shared_token
from jumpseat.adapters.github.copilot.credential import NON_RETRYABLE_SECONDS, CopilotCredential
from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ServerError
from jumpseat.system import state_file
from jumpseat.system.secrets import Secret
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.unit.adapters.github.conftest import Make
from tests.unit.adapters.github.hand_clock import HandClock

EXCHANGE = "/copilot_internal/v2/token"
MANY = 50


class Mint:
    """Answers exchanges with numbered tokens, which are refreshed after 1260 s and expire after 1560 s."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, request: RecordedRequest) -> Reply:
        self.made += 1
        return Reply.json({"token": f"tid=canary{self.made};x=1:{'0' * 64}", "refresh_in": 1500})


@pytest.fixture
def mint(upstream: FakeUpstream) -> Mint:
    made = Mint()
    upstream.default(made, path=EXCHANGE)
    return made


async def get_number(tokens: CopilotCredential, **options: Any) -> int:
    """Return the number in the current token."""
    return int(
        (await tokens.get_bearer(**options)).token.reveal().partition(";")[0].removeprefix("tid=canary")
    )


async def wait_until(condition: Callable[[], bool]) -> None:
    """Run the loop and its threads until a condition is true."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition depends on a thread or the client
            await asyncio.sleep(0.001)


@pytest.mark.requirement("8:single-flight")
async def test_fifty_callers_cause_one_exchange(make: Make, mint: Mint) -> None:
    tokens = make()

    found = await asyncio.gather(*(get_number(tokens) for _ in range(MANY)))

    assert found == [1] * MANY
    assert mint.made == 1


@pytest.mark.requirement("8:single-flight")
async def test_a_cancelled_caller_does_not_cancel_the_exchange(make: Make, upstream: FakeUpstream) -> None:
    gate = Gate()
    body = json.dumps({"token": "tid=canary1;", "refresh_in": 1500}).encode()
    upstream.script(Reply((gate, body)), path=EXCHANGE)
    tokens = make()
    waiting = [asyncio.ensure_future(get_number(tokens)) for _ in range(3)]
    await upstream.wait_for_request()

    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    gate.open()

    assert await asyncio.gather(*waiting[1:]) == [1, 1]
    assert waiting[0].cancelled()
    assert len(upstream.requests) == 1


@pytest.mark.requirement("8:exchange-lock")
async def test_an_exchange_that_is_cancelled_does_not_block_the_next_daemon(
    make: Make, upstream: FakeUpstream, mint: Mint
) -> None:
    upstream.script(Reply((Gate(), b"{}")), path=EXCHANGE)
    cancelled = make()
    waiting = asyncio.ensure_future(cancelled.get_bearer())
    await upstream.wait_for_request()

    await cancelled.forget()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(shared_token.LOCK_SECONDS / 2):
        assert await get_number(make()) == 1


@pytest.mark.requirement("8:single-flight")
async def test_a_failure_is_shared_and_repeated_only_after_a_pause(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    upstream.default(Reply.raw(b"", 503), path=EXCHANGE)
    tokens = make()

    outcomes = await asyncio.gather(*(tokens.get_bearer() for _ in range(MANY)), return_exceptions=True)
    assert {type(each) for each in outcomes} == {ServerError}
    assert len(set(map(id, outcomes))) == MANY, "callers share an exception object"
    for _ in range(MANY):
        with pytest.raises(ServerError):
            await tokens.get_bearer()
    assert len(upstream.requests) == 1

    made = []
    for _ in range(600):  # This is ten minutes of requests, one each second.
        clock.pass_time(1.0)
        with pytest.raises(ServerError):
            await tokens.get_bearer()
        made.append(len(upstream.requests))
    assert made[-1] <= 20
    assert made[-1] - made[299] >= 4, "it did not retry about once a minute in the second half"


@pytest.mark.requirement("8:single-flight")
@pytest.mark.parametrize(("status", "kind"), [(401, AuthenticationError), (403, AuthorizationError)])
async def test_a_final_refusal_is_kept_for_a_while_unless_a_caller_insists(
    make: Make, upstream: FakeUpstream, mint: Mint, clock: HandClock, status: int, kind: type[ChatError]
) -> None:
    no = Reply.json({"message": "no"}, status)
    upstream.script(no, no, path=EXCHANGE)
    tokens = make()

    for insist in (False, False, True):
        with pytest.raises(kind):
            await tokens.get_bearer(insist=insist)
    assert len(upstream.requests) == 2
    clock.pass_time(NON_RETRYABLE_SECONDS + 1)
    assert await get_number(tokens) == 1


async def test_a_rate_limit_of_github_is_respected(
    make: Make, upstream: FakeUpstream, mint: Mint, clock: HandClock
) -> None:
    upstream.script(
        Reply.json({"message": "API rate limit exceeded for user ID 1."}, 403, retry_after="300"),
        path=EXCHANGE,
    )
    tokens = make()
    for _ in range(5):
        with pytest.raises(ChatError):
            await tokens.get_bearer()
        clock.pass_time(50)
    assert len(upstream.requests) == 1
    clock.pass_time(51)
    assert await get_number(tokens) == 1


@pytest.mark.requirement("8:refresh")
async def test_a_token_is_replaced_in_the_background(
    make: Make, upstream: FakeUpstream, mint: Mint, clock: HandClock
) -> None:
    tokens = make()
    assert await get_number(tokens) == 1
    clock.pass_time(1259)
    assert await get_number(tokens) == 1
    assert mint.made == 1

    clock.pass_time(2)
    assert await get_number(tokens) == 1, "a caller waited although the old token is valid"
    await wait_until(lambda: mint.made == 2)
    await wait_for_number(tokens, 2)
    assert mint.made == 2


async def wait_for_number(tokens: CopilotCredential, expected: int) -> None:
    async with asyncio.timeout(10):
        while await get_number(tokens) != expected:  # noqa: ASYNC110 - the exchange runs in the background
            await asyncio.sleep(0.001)


@pytest.mark.requirement("8:refresh")
async def test_while_github_fails_the_old_token_is_used_until_it_expires(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    body = {"token": "tid=canary1;", "refresh_in": 1500}
    upstream.script(Reply.json(body), path=EXCHANGE)
    upstream.default(Reply.raw(b"", 502), path=EXCHANGE)
    tokens = make()
    await tokens.get_bearer()

    clock.pass_time(1300)
    for _ in range(MANY):
        assert await get_number(tokens) == 1
    await upstream.wait_for_request(2)
    await wait_until(lambda: "exchange" in tokens._failures)
    for _ in range(MANY):
        assert await get_number(tokens) == 1
        await asyncio.to_thread(int)  # This allows time for an exchange that must not start.
    assert len(upstream.requests) == 2
    clock.pass_time(300)
    with pytest.raises(ServerError):
        await tokens.get_bearer()


@pytest.mark.requirement("8:refresh")
@pytest.mark.parametrize("change", ["suspend", "adjust_wall", "pass_time"])
async def test_after_a_suspend_or_a_clock_set_forward_one_new_token_is_fetched(
    make: Make, mint: Mint, clock: HandClock, change: str
) -> None:
    tokens = make()
    assert await get_number(tokens) == 1

    getattr(clock, change)(8 * 3600.0)

    assert await asyncio.gather(*(get_number(tokens) for _ in range(MANY))) == [2] * MANY
    assert mint.made == 2


@pytest.mark.requirement("8:refresh")
async def test_a_clock_set_back_does_not_extend_a_token(make: Make, mint: Mint, clock: HandClock) -> None:
    tokens = make()
    assert await get_number(tokens) == 1

    clock.adjust_wall(-1000.0)
    await wait_for_number(tokens, 2)
    clock.adjust_wall(-2.0)
    clock.pass_time(1600)

    assert await get_number(tokens) == 3
    assert mint.made == 3


@pytest.mark.requirement("8:refresh")
async def test_a_clock_set_back_after_the_expiry_does_not_extend_a_token(
    make: Make, mint: Mint, clock: HandClock
) -> None:
    tokens = make()
    assert await get_number(tokens) == 1

    clock.pass_time(1600)
    clock.adjust_wall(-1000.0)

    assert await get_number(tokens) == 2
    assert mint.made == 2


@pytest.mark.requirement("8:token-file-shared")
async def test_daemons_share_a_token_in_a_private_file(make: Make, mint: Mint, tmp_path: Path) -> None:
    assert await get_number(make()) == 1
    assert await get_number(make()) == 1
    assert mint.made == 1
    (file,) = (tmp_path / "auth").glob("copilot_token.*.json")
    assert "ghu_" not in file.name + file.read_text()
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.requirement("8:token-file-shared")
async def test_tokens_are_not_shared_between_accounts_providers_and_planes(
    make: Make, mint: Mint, upstream: FakeUpstream, hosts: GitHubHosts
) -> None:
    elsewhere = {"github_url": upstream.origin, "api_url": upstream.origin}
    await make().get_bearer()

    await make(sign_in=SignIn(Secret("ghu_another-account"), "file")).get_bearer()
    await make(hosts=github_hosts(provider="work", **elsewhere)).get_bearer()
    await make(hosts=github_hosts(provider="copilot", copilot_url=upstream.origin, **elsewhere)).get_bearer()

    assert mint.made == 4


@pytest.mark.requirement("8:token-file-whole")
@pytest.mark.parametrize("content", ["", "{", "[]", '{"token": 7}', "\x00"])
async def test_a_broken_file_costs_one_exchange(
    make: Make, mint: Mint, tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 0.0)  # Treat the broken file as finished.
    await make().get_bearer()
    (file,) = (tmp_path / "auth").glob("copilot_token.*.json")
    file.write_text(content)

    assert await get_number(make()) == 2
    assert await get_number(make()) == 2


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX modes")
@pytest.mark.requirement("8:token-file")
async def test_a_file_that_others_can_read_is_ignored(
    make: Make, mint: Mint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await make().get_bearer()
    (file,) = (tmp_path / "auth").glob("copilot_token.*.json")
    file.chmod(0o644)

    assert await get_number(make()) == 2
    assert "chmod 600" in caplog.text


async def test_without_a_directory_tokens_work_and_are_not_shared(
    make: Make, mint: Mint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    tokens = make(directory=tmp_path / "file" / "auth")

    assert await get_number(tokens) == 1
    assert await get_number(tokens) == 1
    assert "not shared" in caplog.text


@pytest.mark.requirement("6:no-secrets-in-logs")
async def test_tokens_are_not_logged_or_shown(
    make: Make, upstream: FakeUpstream, mint: Mint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Reply.json({"message": "Bad ghu_canary-of-the-app-4711"}, 403)
    upstream.script(echo, path=EXCHANGE)
    tokens = make()
    with pytest.raises(AuthorizationError) as caught:
        await tokens.get_bearer()
    token = await tokens.get_bearer(insist=True)

    shown = f"{caplog.text}{token!r}{tokens!r}{caught.value!r}{caught.value.message}{caught.value.hint}"
    assert "canary" not in shown
