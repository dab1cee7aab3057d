"""The shared client: imports, pools, proxies and certificates."""

import asyncio
import subprocess
import sys

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient, is_loopback
from jumpseat.http.exchange import HttpCall, get_json
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.environments import environment_with

pytestmark = pytest.mark.usefixtures("no_proxies")


def test_importing_the_package_imports_no_http_library():
    code = "import jumpseat.http, sys; sys.exit(bool({'httpx2', 'httpcore2', 'h11'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1/", True),
        ("http://a.localhost/", True),
        ("http://127.8.9.1/", True),
        ("http://[::1]:5/", True),
        ("http://0.0.0.0:11434/", True),
        ("http://[::]:11434/", True),
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("http://10.0.0.1/", False),
        ("http://[oops/", False),
    ],
)
def test_loopback_is_recognized_by_name_and_address(url, expected):
    assert is_loopback(url) is expected


async def test_one_pool_is_built_for_concurrent_requests():
    http = HttpClient()
    destinations = await asyncio.gather(*(http.find_destination("https://example.com/") for _ in range(20)))
    assert len({id(each.pool.value.connections) for each in destinations}) == 1
    await http.aclose()


@pytest.mark.requirement("7:network-shared")
async def test_providers_whose_networks_are_equal_share_their_connections(authority):
    shared = HttpClient()
    tables = {
        "a": ProviderConfig(proxy="http://me:secret@proxy.test:1", timeout=5),
        "b": ProviderConfig(proxy="me:secret@proxy.test:1"),
        "other-password": ProviderConfig(proxy="http://me:other@proxy.test:1"),
        "other-proxy": ProviderConfig(proxy="http://me:secret@proxy.test:2"),
        "other-trust": ProviderConfig(proxy="me:secret@proxy.test:1", ca_file=str(authority.file)),
        "none": ProviderConfig(proxy="none"),
        "environment": ProviderConfig(),
    }
    destinations = {
        name: await shared.for_provider(name, table).find_destination("https://example.com/")
        for name, table in tables.items()
    }
    connections = {name: each.pool.value.connections for name, each in destinations.items()}

    assert connections["a"] is connections["b"]
    assert connections["none"] is connections["environment"]
    assert len(set(map(id, connections.values()))) == 5
    await shared.aclose()
    assert destinations["a"].pool.value.connections is None


async def test_plain_http_needs_no_certificates_and_shares_one_pool():
    environment = environment_with({"SSL_CERT_FILE": "/nowhere/missing.pem"})
    shared = HttpClient("acme", ProviderConfig().set_environment(environment))
    destinations = [
        await shared.find_destination(url) for url in ("http://127.0.0.1:1/", "http://gpu.test:11434/")
    ]

    assert destinations[0].pool.value.connections is destinations[1].pool.value.connections
    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        await shared.find_destination("https://example.com/")
    await shared.aclose()


@pytest.mark.requirement("7:proxy-environment")
@pytest.mark.parametrize("proxy", ["http_proxy", "all_proxy"])
async def test_loopback_is_reached_directly_despite_a_proxy(proxy):
    environment = environment_with({proxy: "http://127.0.0.1:9"})
    http = HttpClient("acme", ProviderConfig().set_environment(environment))
    async with FakeUpstream() as upstream:
        upstream.script(Reply.json({"ok": True}))
        assert await get_json(http, HttpCall("GET", upstream.origin), provider="acme") == {"ok": True}
    for host in ("http://localhost:1/", "http://[::1]:1/", "http://127.1.2.3/", "http://a.localhost/"):
        assert (await http.find_destination(host)).network.proxy is None
    assert (await http.find_destination("http://example.com/")).network.proxy is not None
    await http.aclose()


async def test_a_redirect_is_not_followed():
    http = HttpClient()
    async with FakeUpstream() as upstream:
        upstream.script(Reply.raw(b"", 307, location=f"{upstream.origin}/elsewhere"))
        with pytest.raises(Exception, match="is not followed"):
            await get_json(http, HttpCall("GET", upstream.origin, {"authorization": "x"}), provider="acme")
        assert len(upstream.requests) == 1
    await http.aclose()


@pytest.mark.requirement("7:proxy-environment")
async def test_a_proxy_that_cannot_be_used_is_a_readable_error():
    table = ProviderConfig().set_environment(environment_with({"https_proxy": "gopher://127.0.0.1:9"}))
    with pytest.raises(ConfigError, match="https_proxy is neither an http:// nor an https:// address"):
        await HttpClient("acme", table).find_destination("https://example.com/")


async def test_a_ca_file_that_was_fixed_is_read_at_the_next_request(tmp_path, authority):
    file = tmp_path / "later.pem"
    client = HttpClient("acme", ProviderConfig(ca_file=str(file)))
    with pytest.raises(ConfigError, match=r"providers\.acme\.ca_file"):
        await client.find_destination("https://example.com/")

    file.write_bytes(authority.file.read_bytes())

    assert (await client.find_destination("https://example.com/")).network.proxy is None
    await client.aclose()
