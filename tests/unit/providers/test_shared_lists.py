"""Lists of models that the sessions of one daemon share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import AuthenticationError
from jumpseat.config import Config
from jumpseat.providers import ModelsChanged, Registry
from jumpseat.system.environment import empty_environment
from jumpseat.system.shared import Shared
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.fakes.network import running_network
from tests.fakes.tls_front import Authority

Session = Callable[..., Registry]
WAIT_SECONDS = 10

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.fixture
async def session(upstream: FakeUpstream) -> AsyncIterator[Session]:
    """Yield a function that makes the registry of another session, with one provider, `acme`."""
    shared = Shared(lingering=True)
    made = []

    def make(variables: dict[str, str] | None = None, **keys: Any) -> Registry:
        table = {"kind": "openai", "base_url": upstream.base_url, "api_key": "key-of-the-user", **keys}
        config = Config.model_validate({"providers": {"acme": table}})
        environment = replace(empty_environment(), variables=variables or {}, shared=shared)
        config.note_origins(environment.places.config_file, {"providers": {"acme": table}}, environment)
        made.append(Registry(config))
        return made[-1]

    yield make
    for registry in made:
        await registry.aclose()
    await shared.aclose()


def models(*names: str) -> Reply:
    return Reply.json({"data": [{"id": name} for name in names]})


async def names(registry: Registry, *, refresh: bool = False) -> list[str]:
    async with asyncio.timeout(WAIT_SECONDS):
        return [row.model for row in await registry.list_models("acme", refresh=refresh)]


async def test_concurrent_lists_of_several_sessions_are_one_request(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.script(models("a"))
    registries = [session(), session(), session()]
    assert await asyncio.gather(*map(names, registries)) == [["a"]] * 3
    await registries[0].aclose()
    assert await names(session()) == ["a"]
    assert len(upstream.requests) == 1


async def test_a_cancelled_session_leaves_the_request_to_the_others(
    session: Session, upstream: FakeUpstream
) -> None:
    gate = Gate()
    upstream.script(replace(models("a"), held=gate))
    one, two = session(), session()
    first, second = asyncio.create_task(names(one)), asyncio.create_task(names(two))
    async with asyncio.timeout(WAIT_SECONDS):
        await upstream.wait_for_request()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await one.aclose()
        gate.open()
        assert await second == ["a"]
    assert len(upstream.requests) == 1


async def test_a_refresh_by_one_session_is_announced_to_those_that_have_another_list(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.script(models("a"), models("a"), models("a", "b"))
    one, two, idle = session(), session(), session()
    announced = [asyncio.Queue[Any]() for _ in range(3)]
    for registry, queue in zip((one, two, idle), announced, strict=True):
        registry.subscribe(queue.put_nowait)
    await asyncio.gather(names(one), names(two))

    await names(one, refresh=True)  # The list has not changed.
    await names(one, refresh=True)

    for queue in announced[:2]:
        assert await asyncio.wait_for(queue.get(), WAIT_SECONDS) == ModelsChanged("acme")
    assert two.known_models("acme") == one.known_models("acme")
    assert await names(two) == ["a", "b"]
    assert [queue.qsize() for queue in announced] == [0, 0, 0]
    assert len(upstream.requests) == 3


async def test_a_failure_is_an_error_for_each_session_and_a_refresh_is_a_new_request(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json({"error": {"message": "Bad key"}}, 401), models("a"), models("a"))
    one, two = session(), session()
    errors = await asyncio.gather(names(one), names(two), return_exceptions=True)
    assert [type(error) for error in errors] == [AuthenticationError] * 2
    assert errors[0] is not errors[1]
    assert await names(one, refresh=True) == await names(two, refresh=True) == ["a"]
    assert len(upstream.requests) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"api_key": "key-of-another"},
        {"headers": {"x-team": "b"}},
        {"query": {"team": "b"}},
        {"timeout": 5.0},
        {"connect_timeout": 5.0},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_a_request_that_differs_is_not_shared(
    session: Session, upstream: FakeUpstream, other: dict[str, Any]
) -> None:
    upstream.default(models("a"))
    for registry in (session(), session(**other)):
        assert await names(registry) == ["a"]
    assert len(upstream.requests) == 2


async def test_a_request_over_another_network_is_not_shared(
    session: Session, authority: Authority, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(authority.file.read_bytes())
    async with running_network(authority, authority.server("localhost")) as network:
        network.upstream.default(models("a"))
        for ca_file in (authority.file, other, other):
            url = f"https://localhost:{network.front.port}/v1"
            assert await names(session(base_url=url, ca_file=str(ca_file))) == ["a"]
        assert len(network.upstream.requests) == 2


async def test_a_key_of_one_clients_environment_is_not_used_for_another(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.default(models("a"))
    for value in ("one-users-key", "another-users-key"):
        assert await names(session({"ACME_KEY": value}, api_key="env:ACME_KEY")) == ["a"]
    assert [request.headers["authorization"] for request in upstream.requests] == [
        "Bearer one-users-key",
        "Bearer another-users-key",
    ]


async def test_a_probe_and_a_check_of_the_key_make_requests_of_their_own(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.default(models("a"))
    one, two = session(), session()
    await names(one)
    await two.probe("acme")
    await two.auth_status("acme", refresh=True)
    assert len(upstream.requests) == 3
