"""The shared client: what it costs, whom it trusts, which way it goes."""

import asyncio
import subprocess
import sys

import pytest

from jumpseat.chat import ConfigError
from jumpseat.http.client import HttpClient, is_loopback
from jumpseat.http.exchange import HttpCall, get_json
from tests.fakes.upstream import FakeUpstream, Reply


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
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("http://10.0.0.1/", False),
        ("http://[oops/", False),
    ],
)
def test_loopback_is_told_by_name_and_address(url, expected):
    assert is_loopback(url) is expected


async def test_one_client_is_built_however_many_ask_at_once():
    http = HttpClient()
    clients = await asyncio.gather(*(http.for_url("https://example.com/") for _ in range(20)))
    assert len(set(map(id, clients))) == 1
    await http.aclose()


@pytest.mark.parametrize("proxy", ["http_proxy", "all_proxy"])
async def test_loopback_is_reached_in_spite_of_a_proxy(monkeypatch, proxy):
    monkeypatch.setenv(proxy, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    http = HttpClient()
    async with FakeUpstream() as upstream:
        upstream.script(Reply.json({"ok": True}))
        assert await get_json(http, HttpCall("GET", upstream.origin), provider="acme") == {"ok": True}
        remote = await http.for_url("https://localhost:1/")
        for host in ("https://localhost:1/", "https://[::1]:1/", "https://127.1.2.3/"):
            assert remote._transport_for_url(_url(host)) is remote._transport
        assert remote._transport_for_url(_url("http://example.com/")) is not remote._transport
    await http.aclose()


def _url(text):
    import httpx2

    return httpx2.URL(text)


async def test_a_redirect_is_not_followed():
    http = HttpClient()
    async with FakeUpstream() as upstream:
        upstream.script(Reply.raw(b"", 307, location=f"{upstream.origin}/elsewhere"))
        with pytest.raises(Exception, match="is not followed"):
            await get_json(http, HttpCall("GET", upstream.origin, {"authorization": "x"}), provider="acme")
        assert len(upstream.requests) == 1
    await http.aclose()


async def test_a_proxy_that_cannot_be_used_is_a_sentence(monkeypatch):
    monkeypatch.setenv("https_proxy", "gopher://127.0.0.1:9")
    with pytest.raises(ConfigError, match="proxy named by the environment"):
        await HttpClient().for_url("https://example.com/")
