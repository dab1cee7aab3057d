"""A refused short-lived token is replaced by another daemon's token, or by one exchange a minute."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jumpseat.adapters.github.copilot.bearer import Bearer, NoOtherBearer
from jumpseat.adapters.github.copilot.credential import REPLACEMENT_SECONDS
from jumpseat.chat import AuthenticationError
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply
from tests.unit.adapters.github.conftest import Make
from tests.unit.adapters.github.hand_clock import HandClock

EXCHANGE = "/copilot_internal/v2/token"
MANY = 50

pytestmark = pytest.mark.requirement("8:no-refresh-storm")


@pytest.fixture(autouse=True)
def mint(upstream: FakeUpstream) -> None:
    def answer(_: RecordedRequest) -> Reply:
        return Reply.json({"token": f"tid=canary{len(upstream.requests)};x=1", "refresh_in": 1500})

    upstream.default(answer, path=EXCHANGE)


def find_shared_file(tmp_path: Path) -> Path:
    """Return the file that the daemons share."""
    (path,) = (tmp_path / "auth").glob("copilot_token.*.json")
    return path


def number(credential: Bearer) -> int:
    """Return the number in the token."""
    return int(credential.token.reveal().partition(";")[0].removeprefix("tid=canary"))


async def test_a_refused_token_is_not_taken_from_the_file_again(make: Make, upstream: FakeUpstream) -> None:
    first, second = make(), make()
    shared = await first.get_bearer()
    assert number(await second.get_bearer()) == 1

    assert await first.discard_bearer(shared) == "expired_token"
    assert number(await first.get_bearer()) == 2
    assert await second.discard_bearer(await second.get_bearer()) == "newer_token"
    assert number(await second.get_bearer()) == 2
    assert len(upstream.requests) == 2


async def test_a_refused_replacement_is_used_for_a_minute_and_then_replaced(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    tokens = make()
    await tokens.discard_bearer(await tokens.get_bearer())
    second = await tokens.get_bearer()

    clock.pass_time(20)
    for _ in range(MANY):
        with pytest.raises(NoOtherBearer) as caught:
            await tokens.discard_bearer(second)
        assert caught.value.retry_after == pytest.approx(REPLACEMENT_SECONDS - 20)
        assert number(await tokens.get_bearer()) == 2
    assert len(upstream.requests) == 2

    clock.pass_time(REPLACEMENT_SECONDS - 20)
    assert await tokens.discard_bearer(second) == "expired_token"
    assert number(await tokens.get_bearer()) == 3


async def test_all_daemons_of_a_machine_share_the_minute_between_exchanges(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    first, second = make(), make()
    await first.discard_bearer(await first.get_bearer())
    refused = await first.get_bearer()

    for tokens in (second, make()):
        assert number(await tokens.get_bearer()) == 2
        with pytest.raises(NoOtherBearer):
            await tokens.discard_bearer(refused)
    assert len(upstream.requests) == 2


async def test_a_newer_token_of_another_daemon_is_used_within_the_minute(
    make: Make, upstream: FakeUpstream, clock: HandClock, tmp_path: Path
) -> None:
    first = make()
    await first.discard_bearer(await first.get_bearer())
    refused = await first.get_bearer()
    # This imitates a daemon that ignores the minute because of a wrong clock or an unreadable file.
    clock.pass_time(1)
    find_shared_file(tmp_path).unlink()
    await make().get_bearer()

    assert await first.discard_bearer(refused) == "newer_token"
    assert number(await first.get_bearer()) == 3
    assert len(upstream.requests) == 3


async def test_an_older_token_that_a_stopped_daemon_stored_late_is_not_used(
    make: Make, upstream: FakeUpstream, clock: HandClock, tmp_path: Path
) -> None:
    first = make()
    old = await first.get_bearer()
    content = find_shared_file(tmp_path).read_text()
    clock.pass_time(1)
    await first.discard_bearer(old)
    new = await first.get_bearer()
    find_shared_file(tmp_path).write_text(content)

    clock.pass_time(REPLACEMENT_SECONDS)
    assert await first.discard_bearer(new) == "expired_token"
    assert number(await first.get_bearer()) == 3


async def test_a_token_that_was_stored_after_a_clock_was_set_back_is_used(
    make: Make, upstream: FakeUpstream, clock: HandClock
) -> None:
    first = make()
    refused = await first.get_bearer()
    clock.adjust_wall(-5000.0)
    assert number(await make().get_bearer()) == 2

    assert await first.discard_bearer(refused) == "newer_token"
    assert number(await first.get_bearer()) == 2
    assert len(upstream.requests) == 2


async def test_fifty_simultaneous_refusals_cause_one_exchange(make: Make, upstream: FakeUpstream) -> None:
    tokens = make()
    old = await tokens.get_bearer()

    async def turn() -> int:
        await tokens.discard_bearer(old)
        return number(await tokens.get_bearer())

    assert await asyncio.gather(*(turn() for _ in range(MANY))) == [2] * MANY
    assert len(upstream.requests) == 2


async def test_a_token_is_not_used_after_github_rejected_its_sign_in(
    make: Make, upstream: FakeUpstream
) -> None:
    tokens = make()
    first = await tokens.get_bearer()

    upstream.script(Reply.json({"message": "Bad credentials"}, 401), path="/copilot_internal/user")
    with pytest.raises(AuthenticationError):
        await tokens.refresh()

    assert (await tokens.get_bearer()).token.reveal() != first.token.reveal()
