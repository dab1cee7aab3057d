"""The daemon in a company's network: proxies, TLS inspection and client certificates."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.copilot import configure, copilot_daemon, make_question
from tests.daemon import Daemon, running_daemon, user
from tests.fakes.loopback_proxy import LoopbackProxy
from tests.fakes.network import Network, running_network
from tests.fakes.tls_front import TlsFront

KEY = "canary-of-the-provider"
PASSWORD = "canary-of-the-proxy"

pytestmark = [pytest.mark.usefixtures("no_proxies"), pytest.mark.slow]


def write_table(home: Path, network: Network, **more: Any) -> None:
    """Write a configuration whose only provider, `acme`, is behind this network."""
    table = {"kind": "openai", "base_url": network.url, "api_key": KEY, "default_model": "m", **more}
    lines = [f"{key} = {toml(value)}" for key, value in network.table(**table).items()]
    (home / "config.toml").write_text("\n".join(["[providers.acme]", *lines]), "utf-8")


def toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


async def chat(daemon: Daemon) -> Any:
    """Initialize the daemon, run a chat, and return the response."""
    await daemon.initialize()
    return (await daemon.request("chat/start", {"messages": [user("hi")]})).response


@pytest.mark.requirement("7:proxy", "7:tls", "7:proxy-secret")
async def test_a_chat_streams_through_a_proxy_and_tls_without_leaking_secrets(home, authority):
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        gate = Gate()
        events = completion_stream(["Hel", "lo"])
        network.upstream.script(Reply.events([*events[:2], gate, *events[2:]]))
        write_table(home, network, proxy=network.proxy.url_with(f"me:{PASSWORD}"))
        async with running_daemon(home, "--log-level", "debug") as daemon:
            await daemon.initialize()
            request = daemon.start("chat/start", {"messages": [user("hi")]})
            # The provider has not sent the rest yet. If anything buffered the answer, `Hel` would not arrive.
            assert (await daemon.read_delta("text_delta"))["delta"]["text"] == "Hel"
            gate.open()
            result = (await daemon.read_until(request)).result
            network.proxy.refusal = 502
            await network.front.__aexit__()  # The provider behind the proxy is gone too.
            failed = await daemon.request("chat/start", {"messages": [user("again")]})
            received = json.dumps([result, failed.response, failed.notifications])
            log = await daemon.whole_log()

        assert result["text"] == "Hello"
        assert failed.error["code"] == 1008
        logged = f"provider.test is reached through the proxy {network.proxy.address} of providers.acme.proxy"
        assert logged in log
        assert "canary" not in log + received
        assert KEY.encode() not in network.proxy.bytes_out
        assert "proxy-authorization" not in network.upstream.requests[0].headers


@pytest.mark.requirement("7:proxy-environment", "7:no-proxy")
async def test_the_environments_proxy_may_lack_a_scheme_and_is_skipped_for_excepted_hosts(home, authority):
    async with running_network(authority) as network:
        network.upstream.default(Reply.events(completion_stream(["Hi"])))
        write_table(home, network, proxy=None, max_retries=0)
        async with running_daemon(home, env={"HTTPS_PROXY": network.proxy.address}) as daemon:
            assert (await chat(daemon))["result"]["text"] == "Hi"
        assert len(network.proxy.requests) == 1
        excepted = {"HTTPS_PROXY": network.proxy.address, "NO_PROXY": "10.0.0.0/8,.provider.test"}
        async with running_daemon(home, env=excepted) as daemon:
            error = (await chat(daemon))["error"]
        assert error["code"] == 1008
        assert "provider.test:443 cannot be reached" in error["message"]
        assert len(network.proxy.requests) == 1


@pytest.mark.requirement("7:proxy-errors")
async def test_a_proxy_that_requires_a_password_is_1008_and_is_not_retried(home, authority):
    async with running_network(authority, auth=f"me:{PASSWORD}") as network:
        write_table(home, network)
        async with running_daemon(home) as daemon:
            error = (await chat(daemon))["error"]

        assert (error["code"], error["data"]["retryable"]) == (1008, False)
        assert f"the proxy {network.proxy.address} requires a user and a password" in error["message"]
        assert "providers.acme.proxy" in error["data"]["hint"]
        assert len(network.proxy.requests) == 1


@pytest.mark.requirement("7:tls-errors")
async def test_an_inspected_connection_is_1008_with_the_configuration_key_that_fixes_it(home, authority):
    async with running_network(authority) as network:
        network.upstream.default(Reply.events(completion_stream(["Hi"])))
        write_table(home, network, ca_file=None)
        async with running_daemon(home) as daemon:
            error = (await chat(daemon))["error"]
        assert (error["code"], error["data"]["retryable"]) == (1008, False)
        assert "its certificate is not trusted" in error["message"]
        assert "providers.acme.ca_file" in error["data"]["hint"]

        write_table(home, network)
        async with running_daemon(home) as daemon:
            assert (await chat(daemon))["result"]["text"] == "Hi"


@pytest.mark.requirement("7:tls", "7:tls-errors")
async def test_the_password_of_a_client_certificate_may_come_from_the_environment(home, authority):
    inside = authority.server("provider.test", client_ca=authority)
    async with running_network(authority, inside) as network:
        network.upstream.default(Reply.events(completion_stream(["Hi"])))
        cert, key = map(str, authority.client_in_two_files("canary-of-the-key"))
        own = {"cert": cert, "key": key, "password": "env:JUMPSEAT_TEST_KEY_PASSWORD"}
        write_table(home, network, client_cert=own)
        async with running_daemon(home, env={"JUMPSEAT_TEST_KEY_PASSWORD": "canary-of-the-key"}) as daemon:
            assert (await chat(daemon))["result"]["text"] == "Hi"
        async with running_daemon(home, env={"JUMPSEAT_TEST_KEY_PASSWORD": "wrong"}) as daemon:
            error = (await chat(daemon))["error"]
        assert error["code"] == 1010
        assert "providers.acme.client_cert" in error["message"]


@pytest.mark.requirement("7:tls")
@pytest.mark.parametrize("key", ["ca_file", "client_cert"])
async def test_a_file_that_is_missing_is_1010_with_its_key(home, authority, tmp_path, key):
    async with running_network(authority) as network:
        write_table(home, network, **{key: str(tmp_path / "missing.pem")})
        async with running_daemon(home) as daemon:
            error = (await chat(daemon))["error"]

        assert error["code"] == 1010
        assert f"providers.acme.{key} names " in error["message"]
        assert network.proxy.requests == []


@pytest.mark.requirement("7:timeouts")
async def test_silence_behind_a_proxy_is_1008_after_the_timeout(home, authority):
    async with running_network(authority) as network:
        network.upstream.script(Reply.events(completion_stream(["Hi"])).stall_after(0))
        write_table(home, network, timeout=0.5, connect_timeout=5, max_retries=0)
        async with running_daemon(home) as daemon:
            error = (await chat(daemon))["error"]

        assert error["code"] == 1008
        assert "sent nothing for 0.5 s" in error["message"]


@pytest.mark.requirement("7:proxy-secret")
async def test_a_credential_over_plain_http_through_a_proxy_is_1010_and_is_not_sent(home, authority):
    async with running_network(authority) as network:
        write_table(home, network, base_url="http://plain.test/v1")
        async with running_daemon(home) as daemon:
            error = (await chat(daemon))["error"]

        assert error["code"] == 1010
        assert "uses plain http through the proxy" in error["message"]
        assert network.proxy.requests == []


@pytest.mark.requirement("7:network-trust", "7:trust-sources")
@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"kind": "openai", "ca_file": "/tmp/ca.pem"}, "ca_file"),
        ({"kind": "openai", "client_cert": "/tmp/me.pem"}, "client_cert"),
        ({"kind": "openai", "client_cert": {"cert": "/tmp/me.pem"}}, "client_cert"),
        ({"kind": "openai", "proxy": "env:MY_PROXY"}, "proxy"),
        ({"kind": "copilot", "proxy": "http://proxy.test:1"}, "proxy"),
    ],
)
async def test_an_overlay_cannot_choose_a_file_or_proxy_for_a_sign_in(daemon, table, key):
    params = {"capabilities": {}, "initializationOptions": {"config": {"providers": {"theirs": table}}}}
    error = (await daemon.request("initialize", params)).error

    assert error["code"] == 1010
    assert f"providers.theirs.{key}" in error["message"]


@pytest.mark.requirement("7:network-trust", "7:trust-sources")
async def test_an_overlay_may_name_a_proxy_for_its_own_provider(daemon, authority):
    async with running_network(authority) as network:
        network.upstream.default(Reply.events(completion_stream(["Hi"])))
        own = {"kind": "openai", "default_model": "m", "proxy": network.proxy.url}
        await daemon.initialize({"providers": {"theirs": {**own, "base_url": "http://plain.test/v1"}}})

        assert (await daemon.request("chat/start", {"messages": [user("hi")]})).result["text"] == "Hi"
        assert [each.method for each in network.proxy.requests] == ["POST"]


PLANES = {
    "github": "example.test",
    "api": "api.example.test",
    "copilot": "copilot.example.test",
    "copilot-individual": "individual.copilot.example.test",
}
"""The name under which the proxy reaches each plane of the emulator."""


@pytest.mark.requirement("7:proxy", "7:tls", "copilot:routes")
async def test_copilot_signs_in_and_chats_through_the_proxy_of_its_table(home, authority, emulator):
    async with contextlib.AsyncExitStack() as stack:
        ports = {}
        for plane, name in PLANES.items():
            front = TlsFront(authority.server(name), emulator.state.origins[plane])
            ports[name] = (await stack.enter_async_context(front)).port
            emulator.state.origins[plane] = f"https://{name}"
        proxy = await stack.enter_async_context(LoopbackProxy(ports, auth=f"me:{PASSWORD}"))
        network_keys = {"proxy": proxy.url_with(f"me:{PASSWORD}"), "ca_file": str(authority.file)}
        configure(home, emulator.provider(github_token=emulator.issue_token(), **network_keys))
        async with copilot_daemon(home) as daemon:
            chat = await daemon.request("chat/start", make_question(model="copilot:gpt-4.1"))
            status = (await daemon.request("auth/status", {"provider": "copilot", "refresh": True})).result

    assert chat.result["stopReason"] == "end_turn"
    assert (status["state"], status["login"]) == ("signed_in", "octocat")
    hosts = {each.target for each in proxy.requests}
    assert hosts == {"api.example.test:443", "individual.copilot.example.test:443"}
    assert b"authorization" not in proxy.bytes_out.lower().replace(b"proxy-authorization", b"")
