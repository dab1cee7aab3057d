"""Requests through real proxies and real TLS: their route, and the data that each host can read."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from jumpseat.chat import ConfigError, ConnectionError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpCall, HttpClient, get_json
from jumpseat.system.environment import environment_of_process
from jumpseat.testing.upstream import Reply
from tests.fakes.network import HOST, PLAIN_HOST, running_network
from tests.fakes.tls_front import Authority
from tests.unit.http.networks import CREDENTIAL, PASSWORD, ask, client_of, fetch_failure

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.mark.requirement("7:proxy", "7:tls", "7:proxy-secret")
async def test_a_proxy_and_its_provider_never_see_each_others_credential(authority):
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        client = client_of(network, proxy=network.proxy.url_with(f"me:{PASSWORD}"))

        assert await ask(client) == {"ok": True}

        (connect,) = network.proxy.requests
        assert (connect.method, connect.target) == ("CONNECT", f"{HOST}:443")
        assert connect.headers["host"] == f"{HOST}:443"
        assert "authorization" not in connect.headers
        assert b"canary-of-the-provider" not in network.proxy.bytes_out
        (asked,) = network.upstream.requests
        assert asked.headers["authorization"] == CREDENTIAL
        assert "proxy-authorization" not in asked.headers


@pytest.mark.requirement("7:proxy-environment", "7:tls")
async def test_a_proxy_of_the_environment_without_a_scheme_leads_to_the_provider(monkeypatch, authority):
    async with running_network(authority) as network:
        monkeypatch.setenv("HTTPS_PROXY", network.proxy.address)

        assert await ask(client_of(network, proxy=None)) == {"ok": True}
        assert len(network.proxy.requests) == 1


@pytest.mark.requirement("7:proxy")
@pytest.mark.parametrize("value", ["none", "NONE", ""])
async def test_proxy_none_overrides_the_environment(monkeypatch, authority, value):
    async with running_network(authority) as network:
        monkeypatch.setenv("HTTPS_PROXY", network.proxy.url)
        client = HttpClient("acme", ProviderConfig(proxy=value).set_environment(environment_of_process()))

        error = await fetch_failure(client)

        assert "its name cannot be resolved" in error.message  # Only the proxy can resolve it.
        assert network.proxy.requests == []


@pytest.mark.requirement("7:no-proxy")
async def test_hosts_in_no_proxy_are_reached_directly(monkeypatch, authority):
    async with running_network(authority) as network:
        monkeypatch.setenv("HTTPS_PROXY", network.proxy.url)
        monkeypatch.setenv("NO_PROXY", ".test")

        error = await fetch_failure(client_of(network, proxy=None))

        assert "its name cannot be resolved" in error.message  # Only the proxy can resolve it.
        assert network.proxy.requests == []


@pytest.mark.requirement("7:proxy")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_loopback_is_never_reached_through_a_proxy(authority, host):
    async with running_network(authority, authority.server("127.0.0.1", "localhost")) as network:
        assert await ask(client_of(network), f"https://{host}:{network.front.port}/v1") == {"ok": True}
        assert network.proxy.requests == []


@pytest.mark.requirement("7:proxy")
async def test_a_proxy_may_use_tls_and_gets_no_client_certificate(tmp_path, authority):
    inside = authority.server(HOST, client_ca=authority)
    outside = authority.server("127.0.0.1", client_ca=authority)
    outside.verify_mode = ssl.CERT_OPTIONAL
    async with running_network(authority, inside, outside=outside, auth="me:secret") as network:
        client = client_of(
            network,
            proxy=network.proxy.url_with("me:secret"),
            client_cert=str(authority.client("me@example.test")),
        )

        assert await ask(client) == {"ok": True}
        (peer,) = network.front.peers
        assert ("email", "me@example.test") in peer["subjectAltName"]
        assert network.proxy.certificates == [{}]


@pytest.mark.requirement("7:proxy-secret")
async def test_credentials_are_not_sent_in_plain_http_through_a_proxy(authority):
    async with running_network(authority) as network:
        error = await fetch_failure(client_of(network), f"http://{PLAIN_HOST}/v1")

        assert type(error) is ConfigError
        assert f"uses plain http through the proxy {network.proxy.address}" in error.message
        assert 'providers.acme.proxy = "none"' in (error.hint or "")
        for url in (f"http://{PLAIN_HOST}/v1?api-key=canary-4711", f"http://me:canary@{PLAIN_HOST}/v1"):
            with pytest.raises(ConfigError, match="could read the credential"):
                await get_json(client_of(network), HttpCall("GET", url), provider="acme")
        assert network.proxy.requests == []


@pytest.mark.requirement("7:proxy")
async def test_plain_http_without_a_credential_may_go_through_a_proxy(authority):
    async with running_network(authority) as network:
        client = client_of(network)

        answer = await get_json(client, HttpCall("GET", f"http://{PLAIN_HOST}/v1?a=b"), provider="acme")
        await client.aclose()

        assert answer == {"ok": True}
        (asked,) = network.proxy.requests
        assert (asked.method, asked.target) == ("GET", f"http://{PLAIN_HOST}/v1?a=b")


@pytest.mark.requirement("7:proxy-secret")
async def test_a_header_for_a_proxy_is_not_sent_to_the_provider(authority):
    async with running_network(authority) as network:
        call = HttpCall("GET", f"https://{HOST}/", {"Proxy-Authorization": "Basic canary"})

        with pytest.raises(ConfigError, match=r"providers\.acme\.headers has a header for a proxy"):
            await get_json(client_of(network), call, provider="acme")
        assert network.proxy.requests == []


@pytest.mark.requirement("7:tls")
@pytest.mark.parametrize("password", [None, "canary-4711"])
async def test_a_client_certificate_may_be_one_file_or_two_and_its_key_encrypted(authority, password):
    cert, key = map(str, authority.client_in_two_files(password))
    async with running_network(authority, authority.server(HOST, client_ca=authority)) as network:
        for own in (str(authority.client()), {"cert": cert, "key": key, "password": password}):
            assert await ask(client_of(network, client_cert=own)) == {"ok": True}


@pytest.mark.requirement("7:tls")
async def test_the_password_of_a_key_may_be_a_value_source(monkeypatch, authority):
    monkeypatch.setenv("KEY_PASSWORD", "canary-of-the-key")
    cert, key = map(str, authority.client_in_two_files("canary-of-the-key"))
    async with running_network(authority, authority.server(HOST, client_ca=authority)) as network:
        own = {"cert": cert, "key": key, "password": "env:KEY_PASSWORD"}

        assert await ask(client_of(network, client_cert=own)) == {"ok": True}


@pytest.mark.requirement("7:proxy-secret")
async def test_a_proxy_may_be_a_value_source(monkeypatch, authority):
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        monkeypatch.setenv("CORPORATE", network.proxy.url_with(f"me:{PASSWORD}"))

        assert await ask(client_of(network, proxy="env:CORPORATE")) == {"ok": True}


async def test_a_connection_through_a_proxy_is_reused(authority):
    async with running_network(authority) as network:
        client = client_of(network)
        for _ in range(3):
            await get_json(client, HttpCall("GET", f"https://{HOST}/v1"), provider="acme")
        await client.aclose()

        assert len(network.proxy.requests) == 1
        assert len(network.upstream.requests) == 3


@pytest.mark.requirement("7:host")
async def test_a_redirect_is_not_followed_through_a_proxy(authority):
    async with running_network(authority) as network:
        network.upstream.default(Reply.raw(b"", 307, location="https://elsewhere.test/v1"))

        error = await fetch_failure(client_of(network))

        assert "redirects to elsewhere.test:443" in error.message
        assert len(network.proxy.requests) == 1


async def test_tunnels_that_fail_do_not_fill_the_pool(authority, monkeypatch):
    monkeypatch.setattr("jumpseat.http.pools.MAX_CONNECTIONS", 1)
    async with running_network(authority, outside=None) as network:
        # The timeout is long enough for the two handshakes of the last request on a busy machine.
        client = client_of(network, connect_timeout=0.9)
        for manner in ("close", "close behind", "stall behind"):
            network.proxy.manner = manner
            with pytest.raises(ConnectionError):
                await get_json(client, HttpCall("GET", network.url), provider="acme")
        network.proxy.manner = "serve"

        async with asyncio.timeout(30):
            assert await ask(client) == {"ok": True}


@pytest.mark.requirement("7:tls")
async def test_an_intermediate_authority_may_be_configured_alone(tmp_path, authority):
    async with running_network(Authority(tmp_path / "below", above=authority)) as network:
        assert await ask(client_of(network)) == {"ok": True}
