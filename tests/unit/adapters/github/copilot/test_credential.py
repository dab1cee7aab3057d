"""The two routes of a GitHub token, exchange and direct use: its prefix decides which one is tried first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from jumpseat.adapters.github.copilot.bearer import Bearer, NoOtherBearer
from jumpseat.adapters.github.copilot.credential import NON_RETRYABLE_SECONDS, CopilotCredential
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.chat import AuthorizationError, ConfigError, ServerError
from jumpseat.system.secrets import register_secret
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.unit.adapters.github.conftest import Make
from tests.unit.adapters.github.hand_clock import HandClock

EXCHANGE, USER = "/copilot_internal/v2/token", "/copilot_internal/user"
NOT_FOUND = Reply.json({"message": "Not Found", "status": "404"}, 404)
NO_PERSONAL = Reply.json({"message": "Resource not accessible by personal access token"}, 403)
MANY = 50
"""The number of calls, at the same time or one after the other."""

MakeOf: TypeAlias = Callable[[str], CopilotCredential]


def token_reply(upstream: FakeUpstream) -> Reply:
    return Reply.json(
        {"token": "tid=canary0;x=1", "refresh_in": 1500, "endpoints": {"api": f"{upstream.origin}/exchanged"}}
    )


def account_reply(upstream: FakeUpstream, **changed: object) -> Reply:
    body = {"login": "octocat", "copilot_plan": "business", "chat_enabled": True}
    return Reply.json({**body, "endpoints": {"api": f"{upstream.origin}/direct"}, **changed})


def route(bearer: Bearer) -> str:
    return "direct" if bearer.exchanged is None else "exchange"


def paths(upstream: FakeUpstream) -> list[str]:
    return [request.path for request in upstream.requests]


@pytest.fixture
def make_of(make: Make) -> MakeOf:
    """Return a function that creates the credential of a token."""
    return lambda token: make(sign_in=SignIn(register_secret(token), "file", "stored-name"))


@pytest.mark.requirement("8:token-kinds")
async def test_the_token_of_a_github_app_is_exchanged(make_of: MakeOf, upstream: FakeUpstream) -> None:
    upstream.script(token_reply(upstream), path=EXCHANGE)

    bearer = await make_of("ghu_canary1").get_bearer()

    assert (bearer.token.reveal(), route(bearer)) == ("tid=canary0;x=1", "exchange")
    assert bearer.data_host == f"{upstream.origin}/exchanged"
    assert paths(upstream) == [EXCHANGE]


@pytest.mark.requirement("8:token-kinds")
@pytest.mark.parametrize("token", ["gho_canary1", "github_pat_canary1"])
async def test_other_tokens_are_used_directly_at_the_accounts_host(
    make_of: MakeOf, upstream: FakeUpstream, token: str
) -> None:
    upstream.script(account_reply(upstream), path=USER)
    credential = make_of(token)

    found = await asyncio.gather(*(credential.get_bearer() for _ in range(MANY)))

    assert {(each.token.reveal(), each.data_host) for each in found} == {(token, f"{upstream.origin}/direct")}
    assert paths(upstream) == [USER]


@pytest.mark.requirement("8:token-fallback")
@pytest.mark.parametrize("no", [NOT_FOUND, NO_PERSONAL])
@pytest.mark.parametrize("token", ["ghu_canary1", "unknown_canary1"])
async def test_a_token_that_is_not_exchanged_is_used_directly_from_then_on(
    make_of: MakeOf, upstream: FakeUpstream, token: str, no: Reply
) -> None:
    upstream.script(no, path=EXCHANGE)
    upstream.script(account_reply(upstream), path=USER)
    credential = make_of(token)

    found = await asyncio.gather(*(credential.get_bearer() for _ in range(MANY)))
    found.append(await credential.get_bearer())

    assert {(each.token.reveal(), route(each)) for each in found} == {(token, "direct")}
    assert paths(upstream) == [EXCHANGE, USER]


@pytest.mark.requirement("8:token-fallback")
async def test_a_token_that_the_data_plane_refuses_is_exchanged_once(
    make_of: MakeOf, upstream: FakeUpstream
) -> None:
    upstream.script(account_reply(upstream), path=USER)
    upstream.script(token_reply(upstream), path=EXCHANGE)
    credential = make_of("gho_canary1")
    first = await credential.get_bearer()

    await credential.discard_bearer(first)
    await credential.discard_bearer(first)  # Several turns may report the refusal.
    second = await credential.get_bearer()
    assert (route(second), second.data_host) == ("exchange", f"{upstream.origin}/exchanged")
    assert paths(upstream) == [USER, EXCHANGE]


@pytest.mark.requirement("8:token-fallback")
async def test_each_route_is_tried_once(make_of: MakeOf, upstream: FakeUpstream) -> None:
    upstream.default(account_reply(upstream), path=USER)
    upstream.default(NOT_FOUND, path=EXCHANGE)
    credential = make_of("ghu_canary1")
    direct = await credential.get_bearer()

    assert route(direct) == "direct"
    with pytest.raises(NoOtherBearer):
        await credential.discard_bearer(direct)

    other = make_of("gho_canary1")
    await other.discard_bearer(await other.get_bearer())
    for _ in range(5):
        with pytest.raises(AuthorizationError, match="does not offer Copilot"):
            await other.get_bearer()
    assert paths(upstream).count(EXCHANGE) == 2


@pytest.mark.requirement("8:token-fallback")
async def test_a_token_that_both_routes_refused_is_retried_later(
    make_of: MakeOf, upstream: FakeUpstream, clock: HandClock
) -> None:
    upstream.default(account_reply(upstream), path=USER)
    upstream.default(NOT_FOUND, path=EXCHANGE)
    credential = make_of("gho_canary1")
    await credential.discard_bearer(await credential.get_bearer())
    with pytest.raises(AuthorizationError, match="does not offer Copilot"):
        await credential.get_bearer()

    clock.pass_time(NON_RETRYABLE_SECONDS)

    assert route(await credential.get_bearer()) == "direct"
    assert paths(upstream).count(EXCHANGE) == 1


@pytest.mark.requirement("8:sign-in-errors")
async def test_an_account_without_copilot_causes_few_requests_and_recovers(
    make_of: MakeOf, upstream: FakeUpstream, clock: HandClock
) -> None:
    upstream.script(NOT_FOUND, path=EXCHANGE)
    upstream.script(NOT_FOUND, path=USER)
    credential = make_of("ghu_canary1")

    for _ in range(MANY):
        with pytest.raises(AuthorizationError, match="does not offer Copilot"):
            await credential.get_bearer()
    assert paths(upstream) == [EXCHANGE, USER]

    clock.pass_time(60)
    upstream.script(token_reply(upstream), path=EXCHANGE)
    assert route(await credential.get_bearer()) == "exchange"


@pytest.mark.requirement("8:refresh")
async def test_a_refused_short_lived_token_is_replaced_once(make_of: MakeOf, upstream: FakeUpstream) -> None:
    upstream.script(token_reply(upstream), path=EXCHANGE)
    upstream.script(Reply.json({"token": "tid=canary1;x=1", "refresh_in": 1500}), path=EXCHANGE)
    credential = make_of("ghu_canary1")

    await credential.discard_bearer(await credential.get_bearer())
    second = await credential.get_bearer()
    assert second.token.reveal() == "tid=canary1;x=1"
    assert second.data_host == "https://api.githubcopilot.com"
    with pytest.raises(NoOtherBearer):
        await credential.discard_bearer(second)


@pytest.mark.requirement("8:credential-host")
async def test_a_credential_is_not_sent_to_a_foreign_data_host(
    make_of: MakeOf, upstream: FakeUpstream
) -> None:
    upstream.default(account_reply(upstream, endpoints={"api": "https://evil.example"}), path=USER)

    with pytest.raises(ConfigError, match="not belong to this GitHub"):
        await make_of("gho_canary1").get_bearer()


async def test_the_accounts_host_is_kept_until_a_caller_insists(
    make_of: MakeOf, upstream: FakeUpstream
) -> None:
    one, two = (
        account_reply(upstream, endpoints={"api": f"{upstream.origin}/{name}"}) for name in ("one", "two")
    )
    upstream.script(one, two, path=USER)
    credential = make_of("gho_canary1")

    found = [await credential.get_bearer(insist=insist) for insist in (False, False, True, False)]

    names = [each.data_host.rpartition("/")[2] for each in found]
    assert names == ["one", "one", "two", "two"]


async def test_a_refresh_of_a_token_that_is_used_directly_makes_one_request(
    make_of: MakeOf, upstream: FakeUpstream
) -> None:
    upstream.default(account_reply(upstream), path=USER)

    await make_of("gho_canary1").refresh()

    assert paths(upstream) == [USER]


async def test_forget_drops_the_token_and_the_account(
    make_of: MakeOf, upstream: FakeUpstream, tmp_path: Path
) -> None:
    upstream.default(token_reply(upstream), path=EXCHANGE)
    upstream.default(account_reply(upstream), path=USER)
    credential = make_of("ghu_canary1")
    await credential.get_bearer()
    await credential.refresh()

    await credential.forget()

    assert list((tmp_path / "auth").glob("copilot_token.*.json")) == []
    await credential.get_bearer()
    await credential.refresh()
    assert paths(upstream) == [EXCHANGE, USER] * 2


async def test_a_failed_request_for_the_account_is_shared_by_all_callers(
    make_of: MakeOf, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.raw(b"", 500), path=USER)
    credential = make_of("gho_canary1")

    outcomes = await asyncio.gather(*(credential.get_bearer() for _ in range(MANY)), return_exceptions=True)

    assert {type(each) for each in outcomes} == {ServerError}
    assert len(upstream.requests) == 1
