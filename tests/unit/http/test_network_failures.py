"""The errors of failed connections through proxies and TLS."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.chat import ConnectionError
from jumpseat.http import HttpCall, get_json
from jumpseat.testing.upstream import Gate, Reply
from tests.fakes.network import HOST, PLAIN_HOST, running_network
from tests.fakes.tls_front import Authority
from tests.unit.http.networks import PASSWORD, client_of, fetch_failure

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.mark.requirement("7:proxy-errors")
@pytest.mark.parametrize(
    ("userinfo", "words", "hint"),
    [
        (None, "requires a user and a password (HTTP 407)", "Set them in providers.acme.proxy"),
        ("me:canary-which-is-wrong", "does not accept the configured user", "Correct providers.acme.proxy"),
    ],
)
async def test_a_proxy_that_requires_a_password_is_named_and_asked_once(authority, userinfo, words, hint):
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        url = network.proxy.url_with(userinfo) if userinfo else network.proxy.url

        error = await fetch_failure(client_of(network, proxy=url))

        assert type(error) is ConnectionError
        assert f"the proxy {network.proxy.address} {words}" in error.message
        assert hint in (error.hint or "")
        assert not error.retryable
        assert len(network.proxy.requests) == 1
        assert network.upstream.requests == []


@pytest.mark.requirement("7:proxy-errors")
@pytest.mark.parametrize(("status", "retryable"), [(403, False), (502, True), (503, True)])
async def test_a_proxy_that_refuses_is_named_with_its_status(authority, status, retryable):
    async with running_network(authority) as network:
        network.proxy.refusal = status

        error = await fetch_failure(client_of(network))

        assert type(error) is ConnectionError
        assert (
            f"the proxy {network.proxy.address} refused to connect to {HOST}:443 (HTTP {status})"
            in error.message
        )
        assert error.retryable is retryable


@pytest.mark.requirement("7:proxy-errors")
async def test_an_unreachable_proxy_is_named_instead_of_the_provider(authority):
    async with running_network(authority) as network:
        url, address = network.proxy.url, network.proxy.address
        await network.proxy.__aexit__()

        error = await fetch_failure(client_of(network, proxy=url))

        assert f"the proxy {address} cannot be reached: connection refused" in error.message
        assert error.hint == "Check providers.acme.proxy."
        assert error.retryable


@pytest.mark.requirement("7:proxy-errors", "7:proxy-environment")
async def test_a_proxy_with_an_unknown_name_is_reported_with_the_variable_that_sets_it(
    monkeypatch, authority
):
    async with running_network(authority) as network:
        monkeypatch.setenv("HTTPS_PROXY", "http://nowhere.invalid:3128")

        error = await fetch_failure(client_of(network, proxy=None))

        assert (
            "the proxy nowhere.invalid:3128 cannot be reached: its name cannot be resolved" in error.message
        )
        assert error.hint == "Check HTTPS_PROXY."


@pytest.mark.requirement("7:proxy-errors")
@pytest.mark.parametrize(
    ("manner", "words"),
    [("close", "the proxy {proxy} closed the connection"), ("close behind", "through the proxy {proxy}")],
)
async def test_a_proxy_that_closes_the_connection_is_named(authority, manner, words):
    async with running_network(authority) as network:
        network.proxy.manner = manner

        error = await fetch_failure(client_of(network))

        assert type(error) is ConnectionError
        assert words.format(proxy=network.proxy.address) in error.message


@pytest.mark.requirement("7:proxy-errors", "7:timeouts")
@pytest.mark.parametrize("manner", ["stall", "stall behind"])
async def test_a_silent_proxy_fails_after_the_connect_timeout(authority, manner):
    async with running_network(authority) as network:
        network.proxy.manner = manner

        async with asyncio.timeout(30):
            error = await fetch_failure(client_of(network, connect_timeout=0.2), timeout=60.0)

        assert type(error) is ConnectionError
        assert "in time" in error.message
        assert network.proxy.address in error.message


@pytest.mark.requirement("7:timeouts")
async def test_a_provider_behind_a_proxy_may_take_longer_than_the_connect_timeout(authority):
    async with running_network(authority) as network:
        network.upstream.default(Reply(held=Gate()))  # The gate is never opened.

        # The connect timeout is long enough for two handshakes on a busy machine.
        error = await fetch_failure(client_of(network, connect_timeout=0.9), timeout=1.2)

        assert "sent nothing for 1.2 s" in error.message


@pytest.mark.requirement("7:proxy-errors")
async def test_a_proxy_for_plain_http_that_requires_a_password_is_named(authority):
    async with running_network(authority, auth="me:secret") as network:
        client = client_of(network)

        with pytest.raises(ConnectionError, match="requires a user and a password"):
            await get_json(client, HttpCall("GET", f"http://{PLAIN_HOST}/v1"), provider="acme")
        await client.aclose()


@pytest.mark.requirement("7:tls-errors")
@pytest.mark.parametrize(
    ("certificate", "words", "hint"),
    [
        ("unknown", "unable to get local issuer certificate", "Set providers.acme.ca_file"),
        ("self-signed", "self-signed certificate", "Set providers.acme.ca_file"),
        ("expired", "certificate has expired", "clock"),
        ("other name", "Hostname mismatch", f"Check that {HOST}:443 is the right address"),
    ],
)
async def test_an_untrusted_certificate_is_an_error_with_its_reason_and_a_hint(
    tmp_path, authority, certificate, words, hint
):
    contexts = {
        "unknown": lambda: Authority(tmp_path / "other").server(HOST),
        "self-signed": lambda: Authority(tmp_path / "other").self_signed(),
        "expired": lambda: authority.server(HOST, expired=True),
        "other name": lambda: authority.server("other.test"),
    }
    async with running_network(authority, contexts[certificate]()) as network:
        error = await fetch_failure(client_of(network))

        assert type(error) is ConnectionError
        assert f"{HOST}:443 (through the proxy {network.proxy.address}) cannot be reached" in error.message
        assert f"its certificate is not trusted ({words}" in error.message
        assert hint in (error.hint or "")
        assert not error.retryable
        assert network.upstream.requests == []


@pytest.mark.requirement("7:tls-errors")
@pytest.mark.parametrize("tls12", [False, True])
async def test_a_server_that_requires_a_client_certificate_is_reported_as_such(authority, tls12):
    context = authority.server(HOST, client_ca=authority, tls12=tls12)
    async with running_network(authority, context) as network:
        error = await fetch_failure(client_of(network))

        assert type(error) is ConnectionError
        assert "providers.acme.client_cert" in (error.hint or "")
        # Before TLS 1.3, the server's alert does not say that the certificate is missing.
        assert tls12 or "it requires a client certificate" in error.message


@pytest.mark.requirement("7:tls-errors")
async def test_a_client_certificate_that_the_server_refuses_is_reported_as_such(tmp_path, authority):
    context = authority.server(HOST, client_ca=Authority(tmp_path / "other"))
    async with running_network(authority, context) as network:
        error = await fetch_failure(client_of(network, client_cert=str(authority.client())))

        assert "it does not accept the client certificate" in error.message
        assert error.hint == "Check providers.acme.client_cert."
