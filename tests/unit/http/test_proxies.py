"""Addresses of proxies, and proxies in the environment."""

from __future__ import annotations

import os

import pytest

from jumpseat.chat import ConfigError
from jumpseat.http.proxies import ProxyVariables, is_exempt, parse_proxy
from jumpseat.system.secrets import redact
from tests.environments import environment_with

CANARY = "canary-p@ss/w:rd#4711"
ENCODED = "canary-p%40ss%2Fw%3Ard%234711"

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.mark.requirement("7:proxy")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://proxy.test:3128", ("http", "proxy.test", 3128, None)),
        ("http://proxy.test:3128/", ("http", "proxy.test", 3128, None)),
        ("https://Proxy.test", ("https", "proxy.test", 443, None)),
        ("proxy.test:3128", ("http", "proxy.test", 3128, None)),
        (" proxy.test\n", ("http", "proxy.test", 80, None)),
        ("127.0.0.1:3128", ("http", "127.0.0.1", 3128, None)),
        ("[::1]:3128", ("http", "::1", 3128, None)),
        ("http://me@proxy.test:1", ("http", "proxy.test", 1, ("me", ""))),
        (f"http://me:{ENCODED}@proxy.test:1", ("http", "proxy.test", 1, ("me", CANARY))),
        ("me:p@ss@proxy.test:1", ("http", "proxy.test", 1, ("me", "p@ss"))),
    ],
)
def test_an_address_is_read_with_and_without_its_scheme(text, expected):
    proxy = parse_proxy(text, "HTTPS_PROXY")

    assert (proxy.scheme, proxy.host, proxy.port, proxy.auth) == expected


@pytest.mark.requirement("7:proxy-secret")
def test_a_password_is_hidden_in_repr_and_in_logs_in_every_encoding():
    proxy = parse_proxy(f"http://me:{ENCODED}@proxy.test:1", "HTTPS_PROXY")

    for shown in (repr(proxy), str(proxy), proxy.address):
        assert "canary" not in shown
    basic = "bWU6Y2FuYXJ5LXBAc3MvdzpyZCM0NzEx"
    assert redact(f"{CANARY} {ENCODED} {basic}") == "*** *** ***"


@pytest.mark.requirement("7:proxy", "7:proxy-secret")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("socks5://me:canary@proxy.test:1080", "SOCKS"),
        ("socks://proxy.test:1080", "SOCKS"),
        ("gopher://me:canary@proxy.test", "neither an http://"),
        ("http://", "not the address"),
        ("http://me:canary@", "not the address"),
        ("http://proxy.test:0", "not the address"),
        ("http://proxy.test:65536", "not the address"),
        ("http://proxy.test:port", "not the address"),
        ("http://me:can/ary@proxy.test:1", "not the address"),
        ("http://me:can#ary@proxy.test:1", "not the address"),
        ("http://me:canary@proxy.test:1/path", "not the address"),
        ("http://[::1:3128", "not the address"),
        ("http://pro xy.test:1", "not the address"),
    ],
)
def test_an_invalid_address_of_a_proxy_is_an_error_that_does_not_quote_it(text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        parse_proxy(text, "providers.acme.proxy", provider="acme")

    error = caught.value
    assert error.message.startswith("providers.acme.proxy ")
    assert error.provider == "acme"
    for part in ("canary", "can/", "can#", "ary@", "proxy.test", "pro xy"):
        assert part not in f"{error.message} {error.hint}"


@pytest.mark.requirement("7:proxy-environment")
@pytest.mark.parametrize(
    ("variables", "scheme", "expected"),
    [
        ({"HTTPS_PROXY": "127.0.0.1:3128"}, "https", "127.0.0.1:3128 by HTTPS_PROXY"),
        ({"https_proxy": "http://a.test:1"}, "https", "a.test:1 by https_proxy"),
        (
            {"https_proxy": "http://a.test:1", "HTTPS_PROXY": "http://b.test:2"},
            "https",
            "a.test:1 by https_proxy",
        ),
        ({"https_proxy": "", "HTTPS_PROXY": "http://b.test:2"}, "https", None),
        ({"ALL_PROXY": "http://c.test:3"}, "https", "c.test:3 by ALL_PROXY"),
        ({"ALL_PROXY": "http://c.test:3"}, "http", "c.test:3 by ALL_PROXY"),
        ({"ALL_PROXY": "http://c.test:3", "HTTPS_PROXY": "a.test:1"}, "https", "a.test:1 by HTTPS_PROXY"),
        ({"HTTP_PROXY": "http://d.test:4"}, "https", None),
        ({"HTTP_PROXY": "http://d.test:4"}, "http", "d.test:4 by HTTP_PROXY"),
        # Desktops also set ALL_PROXY. It must not override the variable for a scheme.
        ({"ALL_PROXY": "socks://c.test:3", "HTTPS_PROXY": "a.test:1"}, "https", "a.test:1 by HTTPS_PROXY"),
        ({"HTTPS_PROXY": "a.test:1", "NO_PROXY": "provider.test"}, "https", None),
        ({"HTTPS_PROXY": "a.test:1", "no_proxy": "*"}, "https", None),
        ({"HTTPS_PROXY": "a.test:1", "NO_PROXY": "other.test"}, "https", "a.test:1 by HTTPS_PROXY"),
        ({"NO_PROXY": "other.test"}, "https", None),
        ({}, "https", None),
    ],
)
def test_the_environment_names_the_proxy_for_a_scheme(variables, scheme, expected):
    if os.name == "nt" and len({name.upper() for name in variables}) < len(variables):
        pytest.skip("names of variables ignore case on Windows")
    proxy = ProxyVariables.from_environment(environment_with(variables)).proxy_for(
        scheme, "provider.test", 443
    )

    assert (proxy and f"{proxy.address} by {proxy.named_by}") == expected


@pytest.mark.requirement("7:no-proxy")
@pytest.mark.parametrize(
    ("listed", "host", "port", "expected"),
    [
        ("*", "a.test", 443, True),
        ("a.test", "a.test", 443, True),
        ("a.test", "sub.a.test", 443, True),
        ("a.test", "not-a.test", 443, False),
        (".a.test", "sub.a.test", 443, True),
        (".a.test", "a.test", 443, True),
        ("*.a.test", "sub.a.test", 443, True),
        ("*.a.test", "not-a.test", 443, False),
        ("A.Test", "a.tEST", 443, True),
        ("a.test.", "a.test", 443, True),
        ("a.test", "a.test.", 443, True),
        ("a.test:8443", "a.test", 8443, True),
        ("a.test:8443", "a.test", 443, False),
        ("https://a.test", "a.test", 443, True),
        ("http://a.test:8443/", "a.test", 8443, True),
        ("http://a.test:8443/", "a.test", 443, False),
        ("b.test, a.test", "a.test", 443, True),
        ("b.test a.test", "a.test", 443, True),
        (" , ,", "a.test", 443, False),
        ("", "a.test", 443, False),
        (".", "a.test", 443, False),
        ("10.0.0.1", "10.0.0.1", 443, True),
        ("10.0.0.1:1", "10.0.0.1", 443, False),
        ("10.0.0.0/8", "10.9.9.9", 443, True),
        ("10.0.0.5/8", "10.9.9.9", 443, True),
        ("10.0.0.0/8", "11.0.0.1", 443, False),
        ("10.0.0.0/8", "a.test", 443, False),
        ("fd00::/8", "fd00::1", 443, True),
        ("fd00::1", "fd00::1", 443, True),
        ("[fd00::1]:443", "fd00::1", 443, True),
        ("[fd00::1]:444", "fd00::1", 443, False),
        ("10.0.0.0/8", "fd00::1", 443, False),
        # Invalid entries are ignored and do not affect the others.
        ("10.0.0.0/99,a.test", "a.test", 443, True),
        ("ex*mple.test", "example.test", 443, False),
    ],
)
def test_no_proxy_excludes_names_addresses_networks_and_ports(listed, host, port, expected):
    assert is_exempt(host, port, listed) is expected
