"""Pages that a client requests, and hosts that lead to the user's own network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.fakes.loopback_proxy import LoopbackProxy
from tests.fakes.network import HOST, PLAIN_HOST, running_network
from tests.fakes.tls_front import Authority, TlsFront

pytestmark = pytest.mark.slow

NETWORK = Path(__file__).parents[1] / "fakes" / "invented_network"
PUBLIC = "93.184.216.34"
"""An address of the public internet. In the invented network, it leads to the scripted server."""

Inventing = Callable[..., AbstractAsyncContextManager[Daemon]]


@pytest.fixture
def inventing(home: Path, tmp_path: Path) -> Inventing:
    """Return a function that starts a daemon in an invented network.

    `hosts` has a list for each name: the addresses of the first look-up, those of the second, and so on.
    """

    def start(hosts: dict[str, list[list[str]]], **env: str) -> AbstractAsyncContextManager[Daemon]:
        variables = {
            "PYTHONPATH": str(NETWORK),
            "INVENTED_HOSTS": json.dumps(hosts),
            "INVENTED_ADDRESSES": json.dumps([PUBLIC, "2606:4700:4700::1111"]),
            "INVENTED_LOG": str(tmp_path / "network.log"),
        }
        return running_daemon(home, env={**variables, **env})

    return start


@pytest.fixture
def network_log(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that lists the look-ups and connections in the invented network so far."""

    def read() -> list[str]:
        log = tmp_path / "network.log"
        return log.read_text("utf-8").splitlines() if log.exists() else []

    return read


@pytest.fixture
async def private(home: Path) -> AsyncIterator[Daemon]:
    """A daemon whose user allows pages of private networks."""
    (home / "config.toml").write_text("[fetch]\nprivate = true\n", "utf-8")
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        yield daemon


def at(name: str, upstream: FakeUpstream, path: str = "/") -> str:
    """Return an address of the scripted server under another name."""
    return f"http://{name}:{upstream.origin.rpartition(':')[2]}{path}"


def text(body: str, status: int = 200, **headers: str) -> Reply:
    return Reply.raw(body.encode(), status, **headers)


async def fetch(daemon: Daemon, url: str) -> Any:
    return (await daemon.request("context/fetch", {"url": url})).response


@pytest.mark.requirement("13:fetch")
async def test_a_page_is_a_context_block_that_a_chat_can_send(
    private: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.raw(b"<title>Title</title><p>One <i>two</i>.", 200, "text/html"))
    assert (await fetch(private, f"{upstream.origin}/a#b"))["result"] == {
        "context": {
            "type": "context",
            "text": "One *two*.",
            "uri": f"{upstream.origin}/a",
            "label": "Title",
        }
    }
    error = (await fetch(private, ""))["error"]
    assert (error["code"], error["data"]["errors"][0]["path"]) == (-32602, "url")


@pytest.mark.requirement("13:fetch-addresses")
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST", "a.localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1",
     "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "10.0.0.1", "169.254.169.254",
     "192.168.0.1", "100.64.0.1", "224.0.0.1", "[fd00::1]", "[fe80::1]"],
)  # fmt: skip
async def test_this_machine_and_private_networks_are_refused_in_any_notation(
    daemon: Daemon, upstream: FakeUpstream, host: str
) -> None:
    await daemon.initialize()
    error = (await fetch(daemon, at(host, upstream)))["error"]

    # Some systems cannot resolve a.localhost, and 0177.0.0.1 is refused because it is not valid.
    assert error["code"] == 1004 or (error["code"] == 1008 and host == "a.localhost")
    if host not in ("a.localhost", "0177.0.0.1"):
        assert "is not on the public internet" in error["message"]
        assert "[fetch]" in error["data"]["hint"]
    assert upstream.accepted == 0


@pytest.mark.requirement("13:fetch-addresses")
@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
     "224.0.0.1", "255.255.255.255", "::1", "::", "fd00::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1",
     "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"],
)  # fmt: skip
async def test_a_name_with_a_private_address_is_refused(
    inventing: Inventing, network_log: Callable[[], list[str]], upstream: FakeUpstream, address: str
) -> None:
    async with inventing({"evil.test": [[address]]}) as daemon:
        await daemon.initialize()
        error = (await fetch(daemon, at("evil.test", upstream)))["error"]

    assert error["code"] == 1004
    assert error["message"].startswith("evil.test is not on the public internet")
    assert network_log() == ["look-up evil.test"]


@pytest.mark.requirement("13:fetch-addresses")
async def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to(
    inventing: Inventing, network_log: Callable[[], list[str]], upstream: FakeUpstream
) -> None:
    upstream.default(text("public"))
    # A second look-up would lead to this machine.
    async with inventing({"evil.test": [[PUBLIC], ["127.0.0.1"]]}) as daemon:
        await daemon.initialize()
        answer = await fetch(daemon, at("evil.test", upstream))

    assert answer["result"]["context"]["text"] == "public"
    assert network_log() == ["look-up evil.test", f"connection {PUBLIC}"]
    assert upstream.requests[0].headers["host"].startswith("evil.test:")


@pytest.mark.requirement("13:fetch-addresses")
async def test_only_the_public_addresses_of_a_name_are_tried(
    inventing: Inventing, network_log: Callable[[], list[str]], upstream: FakeUpstream
) -> None:
    upstream.default(text("public"))
    mixed = ["127.0.0.1", "2606:4700:4700::1001", "10.0.0.1", PUBLIC, "::1"]
    async with inventing({"mixed.test": [mixed]}) as daemon:
        await daemon.initialize()
        answer = await fetch(daemon, at("mixed.test", upstream))

    assert answer["result"]["context"]["text"] == "public"
    connections = [line.removeprefix("connection ") for line in network_log() if "connection" in line]
    assert connections[-1] == PUBLIC
    assert set(connections) <= {"2606:4700:4700::1001", PUBLIC}


@pytest.mark.requirement("13:fetch-addresses")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "inside.test", "[::ffff:127.0.0.1]"])
async def test_a_redirect_to_a_private_address_is_not_followed(
    inventing: Inventing, upstream: FakeUpstream, status: int, host: str
) -> None:
    upstream.script(text("", status, location=at(host, upstream, "/secret")))
    async with inventing({"site.test": [[PUBLIC]], "inside.test": [["192.168.0.7"]]}) as daemon:
        await daemon.initialize()
        error = (await fetch(daemon, at("site.test", upstream)))["error"]

    assert error["code"] == 1004
    assert "is not on the public internet" in error["message"]
    assert [request.path for request in upstream.requests] == ["/"]


@pytest.mark.requirement("13:fetch-addresses")
async def test_a_redirect_to_another_address_of_the_same_name_is_checked_again(
    inventing: Inventing, network_log: Callable[[], list[str]], upstream: FakeUpstream
) -> None:
    # The server closes the connection, so that the second request needs another one.
    first = text("", 302, location="/two", connection="close")
    upstream.script(first.close_after(0), text("secret"))
    async with inventing({"evil.test": [[PUBLIC], ["127.0.0.1"]]}) as daemon:
        await daemon.initialize()
        error = (await fetch(daemon, at("evil.test", upstream)))["error"]

    assert error["code"] == 1004
    assert network_log() == ["look-up evil.test", f"connection {PUBLIC}", "look-up evil.test"]
    assert len(upstream.requests) == 1


@pytest.mark.requirement("13:fetch-addresses")
async def test_a_workspace_cannot_allow_private_addresses(daemon: Daemon) -> None:
    params = {"capabilities": {}, "initializationOptions": {"config": {"fetch": {"private": True}}}}
    error = (await daemon.request("initialize", params)).error
    assert (error["code"], "fetch may not be set by a client" in error["message"]) == (1010, True)


@pytest.mark.requirement("13:fetch-addresses")
async def test_a_host_that_a_proxy_resolves_is_checked_as_far_as_possible(
    inventing: Inventing, upstream: FakeUpstream
) -> None:
    upstream.default(text("behind the proxy"))
    port = int(upstream.origin.rpartition(":")[2])
    names = dict.fromkeys(("site.test", "inside.test", "unknown.test", "10.0.0.1"), port)
    hosts = {"site.test": [[PUBLIC]], "inside.test": [[PUBLIC, "10.0.0.1"]]}
    async with LoopbackProxy(names) as proxy, inventing(hosts, HTTP_PROXY=proxy.url, NO_PROXY="") as daemon:
        await daemon.initialize()
        for name in ("site.test", "unknown.test"):
            assert (await fetch(daemon, f"http://{name}/"))["result"]["context"]["text"] == "behind the proxy"
        for name in ("inside.test", "10.0.0.1", "localhost", "127.0.0.1"):
            assert (await fetch(daemon, f"http://{name}/"))["error"]["code"] == 1004
        upstream.script(text("", 302, location="http://10.0.0.1/secret"))
        assert (await fetch(daemon, "http://site.test/"))["error"]["code"] == 1004
        assert {request.target for request in proxy.requests} == {"http://site.test/", "http://unknown.test/"}


@pytest.mark.requirement("13:fetch-addresses")
async def test_a_user_who_allows_private_addresses_reaches_them_through_a_proxy_too(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(text("the intranet"))
    async with LoopbackProxy({"10.0.0.1": int(upstream.origin.rpartition(":")[2])}) as proxy:
        (home / "config.toml").write_text(f'[fetch]\nprivate = true\nproxy = "{proxy.url}"\n', "utf-8")
        async with running_daemon(home) as daemon:
            await daemon.initialize()
            answer = await fetch(daemon, "http://10.0.0.1/")
    assert answer["result"]["context"]["text"] == "the intranet"


@pytest.mark.requirement("13:fetch-network")
async def test_the_proxy_and_the_authority_of_the_configuration_file_are_used(
    home: Path, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "ca")
    async with running_network(authority, auth="me:canary-of-a-proxy") as network:
        network.upstream.default(text("inside"))
        proxy = network.proxy.url_with("me:canary-of-a-proxy")
        table = f'[fetch]\nproxy = "{proxy}"\nca_file = "{authority.file}"\n'
        (home / "config.toml").write_text(table, "utf-8")
        async with running_daemon(home) as daemon:
            await daemon.initialize()
            for url in (f"https://{HOST}/", f"http://{PLAIN_HOST}/"):
                assert (await fetch(daemon, url))["result"]["context"]["text"] == "inside"


@pytest.mark.requirement("13:fetch-network")
async def test_failures_of_the_network_name_the_keys_of_the_table(home: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca")
    async with running_network(authority, auth="me:canary-of-a-proxy") as network:
        untrusted = f'[fetch]\nproxy = "{network.proxy.url_with("me:canary-of-a-proxy")}"\n'
        unknown = f'[fetch]\nproxy = "{network.proxy.url}"\n'
        wrong = '[fetch]\nproxy = "socks5://canary@127.0.0.1"\n'
        missing = '[fetch]\nca_file = "/missing.pem"\n'
        for table, code, words in (
            (untrusted, 1008, "Set fetch.ca_file to the certificate"),
            (unknown, 1008, "Set them in fetch.proxy."),
            (wrong, 1010, "fetch.proxy names a SOCKS proxy"),
            (missing, 1010, "fetch.ca_file names /missing.pem"),
        ):
            (home / "config.toml").write_text(table, "utf-8")
            async with running_daemon(home) as daemon:
                await daemon.initialize()
                error = (await fetch(daemon, f"https://{HOST}/"))["error"]
            assert error["code"] == code, error
            assert words in f"{error['message']} {error['data'].get('hint')}"
            assert "provider" not in error["data"]
            assert "canary" not in json.dumps(error)


@pytest.mark.requirement("13:fetch-network")
async def test_the_password_of_the_proxy_is_not_kept(home: Path, upstream: FakeUpstream) -> None:
    table = '[fetch]\nproxy = "http://me:canary-of-a-proxy@127.0.0.1:9"\n'
    (home / "config.toml").write_text(table, "utf-8")
    upstream.script(Reply.events(completion_stream(["Fine."])))
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        chat = {"messages": [user("It is canary-of-a-proxy.")], "keep": True, "conversationId": "c"}
        await daemon.request("chat/start", chat)
        kept = (await daemon.request("conversations/get", {"id": "c"})).result
    assert kept["messages"][0]["content"][0]["text"] == "It is ***."


@pytest.mark.requirement("13:fetch-network")
async def test_a_certificate_for_another_name_is_not_trusted(
    inventing: Inventing, home: Path, tmp_path: Path, upstream: FakeUpstream
) -> None:
    authority = Authority(tmp_path / "ca")
    (home / "config.toml").write_text(f'[fetch]\nca_file = "{authority.file}"\n', "utf-8")
    upstream.default(text("secure"))
    names = {"site.test": [[PUBLIC]], "other.test": [[PUBLIC]]}
    async with TlsFront(authority.server("site.test"), upstream.origin) as front, inventing(names) as daemon:
        await daemon.initialize()
        good = await fetch(daemon, f"https://site.test:{front.port}/")
        bad = await fetch(daemon, f"https://other.test:{front.port}/")

    assert good["result"]["context"]["text"] == "secure"
    assert (bad["error"]["code"], bad["error"]["data"]["retryable"]) == (1008, False)


@pytest.mark.requirement("13:fetch-bounds")
async def test_hostile_pages_do_not_delay_other_requests(private: Daemon, upstream: FakeUpstream) -> None:
    # Send nested tables just below the limit for HTML, a page above the limit, and a page that never arrives.
    upstream.script(
        Reply.raw(b"<table><tr><td>" * 130_000, 200, "text/html"),
        Reply((b"x" * 65536,) * 100, headers={"content-type": "text/html"}, chunked=True),
        Reply((Gate(),), headers={"content-type": "text/plain"}, chunked=True),
    )
    running = [private.start("context/fetch", {"url": upstream.origin}) for _ in range(3)]
    await upstream.wait_for_request(3)
    loop = asyncio.get_running_loop()
    waits = []
    pending, codes = set(running), {}
    for number in range(20):
        begin = loop.time()
        request = private.start("chat/cancel", {"turnId": f"{number}"})
        while True:
            message = await private.read()
            if message["id"] == request:
                break
            codes[message["id"]] = message.get("error", {}).get("code")
            pending.discard(message["id"])
        waits.append(loop.time() - begin)
    assert sorted(waits)[len(waits) // 2] < 0.5
    for request in pending:
        private.notify("$/cancelRequest", {"id": request})
    while pending:
        message = await private.read()
        pending.discard(message["id"])
        codes[message["id"]] = message.get("error", {}).get("code")
    assert codes[running[2]] == -32800


@pytest.mark.requirement("13:fetch-bounds")
async def test_a_cancelled_fetch_closes_its_connection(private: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(text("x" * 100).stall_after(10))
    request = private.start("context/fetch", {"url": upstream.origin})
    await upstream.wait_for_request()
    private.notify("$/cancelRequest", {"id": request})

    assert (await private.read_until(request)).error["code"] == -32800
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("13:fetch-addresses")
async def test_other_requests_of_the_daemon_may_go_to_private_addresses(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
    await daemon.initialize(provider(upstream.base_url))
    assert (await fetch(daemon, upstream.origin))["error"]["code"] == 1004
    listed = (await daemon.request("models/list", {"provider": "fake"})).result["models"]
    assert [row["id"] for row in listed] == ["fake:m"]
