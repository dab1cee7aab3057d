"""The checks of a host: proxy, name, connection, TLS, clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jumpseat.chat import Check
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.http.diagnosis import check_hosts
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.environments import environment_with
from tests.fakes.network import running_network
from tests.unit.http.networks import PASSWORD, client_of

pytestmark = [pytest.mark.usefixtures("no_proxies"), pytest.mark.requirement("5:diagnose")]

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
DATE = "Sun, 22 Nov 2026 12:00:00 GMT"


async def run_checks(client: HttpClient, *urls: str, now: datetime = NOW) -> dict[str, Check]:
    try:
        found = await check_hosts(client, urls, "acme", now=now.timestamp)
    finally:
        await client.aclose()
    assert "canary" not in repr(found)
    return {check.name: check for check in found}


async def test_a_host_that_answers_is_reached_without_a_credential(upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({}, status=404))
    found = await run_checks(HttpClient("acme"), upstream.base_url)

    assert {name: check.ok for name, check in found.items()} == dict.fromkeys(("proxy", "connection"), True)
    assert found["proxy"].message.startswith("Requests to 127.0.0.1:")
    assert found["proxy"].message.endswith(" are sent without a proxy.")
    assert found["connection"].message.endswith("answers (HTTP 404).")
    (request,) = upstream.requests
    assert (request.method, request.path) == ("HEAD", "/")
    assert "authorization" not in request.headers


async def test_a_refused_connection_says_what_to_check() -> None:
    found = await run_checks(HttpClient("acme"), "http://127.0.0.1:9/v1")

    assert found["connection"].ok is False
    assert "connection refused" in found["connection"].message
    assert "Start the server on this machine" in (found["connection"].hint or "")


async def test_a_host_whose_name_does_not_exist_gets_no_request() -> None:
    found = await run_checks(HttpClient("acme"), "https://no-such-host.invalid/v1")

    assert list(found) == ["proxy", "dns"]
    assert (found["dns"].ok, found["dns"].message) == (
        False,
        "The name no-such-host.invalid cannot be resolved.",
    )
    assert "providers.acme.base_url" in (found["dns"].hint or "")


async def test_a_proxy_is_named_with_the_key_that_chose_it_and_without_its_password(authority) -> None:
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        client = client_of(network, proxy=network.proxy.url_with(f"me:{PASSWORD}"))
        address = network.proxy.address
        found = await run_checks(client, network.url)

    assert f"the proxy {address} of providers.acme.proxy" in found["proxy"].message
    assert found["connection"].ok
    assert found["tls"].ok
    assert "issued by trustme" in found["tls"].message


async def test_an_untrusted_certificate_is_reported_with_the_key_that_fixes_it(authority) -> None:
    async with running_network(authority) as network:
        found = await run_checks(client_of(network, ca_file=None), network.url)

    assert "connection" not in found
    assert found["tls"].ok is False
    assert "not trusted" in found["tls"].message
    assert "providers.acme.ca_file" in (found["tls"].hint or "")


async def test_an_unusable_proxy_is_the_only_failure() -> None:
    environment = environment_with({"HTTPS_PROXY": "socks5://canary:1080"})
    client = HttpClient("acme", ProviderConfig().set_environment(environment))
    found = await run_checks(client, "https://provider.test/")

    assert {name: check.ok for name, check in found.items()} == {"proxy": False}
    assert "HTTPS_PROXY names a SOCKS proxy" in found["proxy"].message


@pytest.mark.parametrize(
    ("minute", "age", "ok", "words"),
    [(1, "0", True, "agrees"), (10, "0", False, "600 s ahead"), (10, "600", True, "agrees")],
)
async def test_the_clock_is_compared_with_the_hosts(
    upstream: FakeUpstream, minute: int, age: str, ok: bool, words: str
) -> None:
    # A cache may have kept the answer for `age` seconds since its date.
    upstream.default(Reply.json({}, date=DATE, age=age))
    found = await run_checks(HttpClient("acme"), upstream.base_url, now=NOW.replace(minute=minute))

    assert found["clock"].ok is ok
    assert words in found["clock"].message


async def test_each_host_is_checked_once(upstream: FakeUpstream) -> None:
    upstream.default(Reply.json({}))
    await run_checks(HttpClient("acme"), upstream.base_url, f"{upstream.base_url}/chat?key=canary")

    assert len(upstream.requests) == 1
