"""A refused short-lived token is replaced by another daemon's token or a limited exchange."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from jumpseat.adapters.github.copilot.token_cache import (
    REPLACEMENT_SECONDS,
    CopilotCredential,
    NoOtherCredential,
    TokenCache,
)
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.chat import AuthenticationError
from jumpseat.http import HttpClient
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply
from tests.unit.adapters.github.hand_clock import HandClock

EXCHANGE = "/copilot_internal/v2/token"
MANY = 50

pytestmark = pytest.mark.requirement("8:no-refresh-storm")

Make: TypeAlias = Callable[[], TokenCache]


@pytest.fixture
async def make(
    http: HttpClient,
    hosts: GitHubHosts,
    app_sign_in: SignIn,
    clock: HandClock,
    tmp_path: Path,
    upstream: FakeUpstream,
) -> AsyncIterator[Make]:
    """Creates the token caches of several daemons on one machine."""

    def mint(_: RecordedRequest) -> Reply:
        return Reply.json({"token": f"tid=canary{len(upstream.requests)};x=1", "refresh_in": 1500})

    upstream.default(mint, path=EXCHANGE)
    made: list[TokenCache] = []

    def one() -> TokenCache:
        directory = tmp_path / "auth"
        made.append(
            TokenCache(http, hosts, app_sign_in, clock=clock, directory=directory, jitter=lambda: 0.0)
        )
        return made[-1]

    yield one
    for each in made:
        await each.aclose()


def number(credential: CopilotCredential) -> int:
    """The number in the token."""
    return int(credential.token.reveal().partition(";")[0].removeprefix("tid=canary"))


async def test_a_refused_token_is_not_taken_from_the_file_again(make: Make, upstream: FakeUpstream) -> None:
    first, second = make(), make()
    shared = await first.get()
    assert number(await second.get()) == 1

    assert await first.refused(shared) == "expired_token"
    assert number(await first.get()) == 2
    assert await second.refused(await second.get()) == "newer_token"
    assert number(await second.get()) == 2
    assert len(upstream.requests) == 2


async def test_a_refused_replacement_is_used_for_a_minute_and_then_replaced(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    tokens = make()
    await tokens.refused(await tokens.get())
    second = await tokens.get()

    clock.pass_time(20)
    for _ in range(MANY):
        with pytest.raises(NoOtherCredential) as caught:
            await tokens.refused(second)
        assert caught.value.retry_after == pytest.approx(REPLACEMENT_SECONDS - 20)
        assert number(await tokens.get()) == 2
    assert len(upstream.requests) == 2

    clock.pass_time(REPLACEMENT_SECONDS - 20)
    assert await tokens.refused(second) == "expired_token"
    assert number(await tokens.get()) == 3


async def test_all_daemons_of_a_machine_share_the_minute(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    first, second = make(), make()
    await first.refused(await first.get())
    refused = await first.get()

    for tokens in (second, make()):
        assert number(await tokens.get()) == 2
        with pytest.raises(NoOtherCredential):
            await tokens.refused(refused)
    assert len(upstream.requests) == 2


async def test_a_newer_token_of_another_daemon_is_used_within_the_minute(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    first, second = make(), make()
    await first.refused(await first.get())
    refused = await first.get()
    # As by a daemon that ignores the minute because of a wrong clock or an unreadable file.
    clock.pass_time(1)
    await second._exchange()

    assert await first.refused(refused) == "newer_token"
    assert number(await first.get()) == 3
    assert len(upstream.requests) == 3


async def test_an_older_token_that_a_stopped_daemon_stored_late_is_not_used(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    first = make()
    old = await first.get()
    clock.pass_time(1)
    await first.refused(old)
    new = await first.get()
    assert old.exchanged is not None
    await first._file.write(old.exchanged, None)

    clock.pass_time(REPLACEMENT_SECONDS)
    assert await first.refused(new) == "expired_token"
    assert number(await first.get()) == 3


async def test_fifty_simultaneous_refusals_cause_one_exchange(make: Make, upstream: FakeUpstream) -> None:
    tokens = make()
    old = await tokens.get()

    async def turn() -> int:
        await tokens.refused(old)
        return number(await tokens.get())

    assert await asyncio.gather(*(turn() for _ in range(MANY))) == [2] * MANY
    assert len(upstream.requests) == 2


async def test_a_token_is_not_used_after_github_rejected_its_sign_in(
    make: Make, upstream: FakeUpstream
) -> None:
    tokens = make()
    first = await tokens.get()

    upstream.script(Reply.json({"message": "Bad credentials"}, 401), path="/copilot_internal/user")
    with pytest.raises(AuthenticationError):
        await tokens.refresh()

    assert (await tokens.get()).token.reveal() != first.token.reveal()
