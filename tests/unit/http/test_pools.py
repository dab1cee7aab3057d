"""Connection pools that the sessions of one daemon share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import TextDeltaEvent
from jumpseat.config import ProviderConfig, TableOrigin
from jumpseat.http import HttpCall, HttpClient, get_json, stream_events
from jumpseat.system.environment import empty_environment
from jumpseat.system.shared import Shared
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.fakes.tls_front import Authority
from tests.unit.http.echo import EchoDecoder, wait_for_tails

pytestmark = pytest.mark.usefixtures("no_proxies")

Session = Callable[..., HttpClient]
HTTPS = "https://example.com/"


@pytest.fixture
async def shared() -> AsyncIterator[Shared]:
    shared = Shared(lingering=True)
    yield shared
    await shared.aclose()


@pytest.fixture
async def session(shared: Shared) -> AsyncIterator[Session]:
    """Yield a function that creates the client of the provider `acme` in another session of the daemon."""
    made = []

    def make(variables: dict[str, str] | None = None, **keys: Any) -> HttpClient:
        table = ProviderConfig(**keys)
        environment = replace(empty_environment(), variables=variables or {}, shared=shared)
        table.origin = TableOrigin(environment=environment)
        root = HttpClient(shared=shared)
        made.append(root)
        return root.for_provider("acme", table)

    yield make
    for client in made:
        await client.aclose()


async def ask(client: HttpClient, upstream: FakeUpstream) -> Any:
    return await get_json(client, HttpCall("GET", upstream.origin), provider="acme")


async def test_the_requests_of_several_sessions_use_one_connection(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json({}))
    for client in (session(), session(), session()):
        await ask(client, upstream)
        await client.aclose()  # The connection stays open for the next session.
    assert upstream.accepted == 1


async def test_connections_are_closed_with_the_daemon(
    session: Session, shared: Shared, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json({}))
    client = session()
    await ask(client, upstream)
    await client.aclose()
    assert upstream.open_connections == 1
    await shared.aclose()
    await upstream.wait_until_unconnected()


async def test_the_only_session_of_a_process_closes_its_connections_at_the_end(
    upstream: FakeUpstream,
) -> None:
    upstream.default(Reply.json({}))
    client = HttpClient(shared=Shared())
    await ask(client, upstream)
    assert upstream.open_connections == 1
    await client.aclose()
    await upstream.wait_until_unconnected()


async def test_the_end_of_a_session_does_not_end_requests_of_another(
    session: Session, upstream: FakeUpstream
) -> None:
    gate, tail = Gate(), Gate()
    upstream.script(Reply.events(["a", gate, "end"]), Reply.events(["b", "end", tail]))
    one, two = session(), session()

    def chat(client: HttpClient) -> Any:
        return stream_events(
            client, HttpCall("POST", upstream.origin, body={}), EchoDecoder(), provider="acme"
        )

    async with asyncio.timeout(30):
        events = chat(one)
        await anext(events)
        async for _ in chat(two):  # The tail of this answer is read in the background.
            pass
        await two.aclose()
        gate.open()
        assert [type(event) async for event in events if isinstance(event, TextDeltaEvent)]
        tail.open()
        await wait_for_tails(one)


async def test_cookies_of_one_request_are_not_sent_with_another(
    session: Session, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json({}, **{"set-cookie": "account=one; Path=/"}))
    one, two = session(), session()
    for client in (one, one, two):
        await ask(client, upstream)
    assert [request.headers.get("cookie") for request in upstream.requests] == [None] * 3


async def test_sessions_with_different_networks_do_not_share_connections(
    session: Session, authority: Authority, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(authority.file.read_bytes())
    proxy = "http://me:secret@proxy.test:1"
    clients = [
        session(),
        session(proxy=proxy),
        session(proxy="http://me:other@proxy.test:1"),
        session(proxy="http://me:secret@proxy.test:2"),
        session(ca_file=str(authority.file)),
        session(ca_file=str(other)),
        session({"SSL_CERT_FILE": str(authority.file)}),
        session({"HTTPS_PROXY": "http://proxy.test:3"}),
    ]
    pools = [(await client.find_destination(HTTPS)).pool.value for client in clients]
    assert len(set(map(id, pools))) == len(pools)
    assert "secret" not in repr([await client.find_network(HTTPS) for client in clients])
    same = session({"HTTPS_PROXY": proxy}, timeout=5)
    assert (await same.find_destination(HTTPS)).pool.value is pools[1]


async def test_a_changed_certificate_is_used_by_the_next_session(
    session: Session, authority: Authority, tmp_path: Path
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.file.read_bytes())
    before = (await session(ca_file=str(file)).find_destination(HTTPS)).pool.value
    assert (await session(ca_file=str(file)).find_destination(HTTPS)).pool.value is before
    file.write_bytes(authority.file.read_bytes() * 2)
    assert (await session(ca_file=str(file)).find_destination(HTTPS)).pool.value is not before
