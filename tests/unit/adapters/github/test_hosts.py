"""The hosts of a GitHub instance's three services ("planes"). No other host receives its credentials."""

from __future__ import annotations

import pytest

from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.chat import ConfigError


@pytest.mark.requirement("8:hosts")
@pytest.mark.parametrize(
    ("host", "github", "api", "copilot"),
    [
        ("github.com", "https://github.com", "https://api.github.com", "https://api.githubcopilot.com"),
        ("https://GitHub.com/", "https://github.com", "https://api.github.com", "https://api.githubcopilot.com"),
        ("acme.ghe.com", "https://acme.ghe.com", "https://api.acme.ghe.com", "https://copilot-api.acme.ghe.com"),
        ("git.acme.example", "https://git.acme.example", "https://git.acme.example/api/v3",
         "https://copilot-api.git.acme.example"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/api/v3", "http://127.0.0.1:8080"),
    ],
)  # fmt: skip
def test_a_host_has_three_planes(host: str, github: str, api: str, copilot: str) -> None:
    hosts = github_hosts(host, provider="copilot")

    assert (hosts.github, hosts.api, hosts.copilot) == (github, api, copilot)
    assert hosts.trusts_found_sign_ins


@pytest.mark.requirement("8:hosts")
def test_each_plane_can_be_moved() -> None:
    hosts = github_hosts(
        "acme.ghe.com",
        provider="copilot",
        github_url="https://Login.Example/",
        api_url="https://rest.example/v3/",
        copilot_url="http://[::1]:9000",
    )

    assert (hosts.github, hosts.api, hosts.copilot) == (
        "https://login.example", "https://rest.example/v3", "http://[::1]:9000",
    )  # fmt: skip
    assert hosts.authority == "acme.ghe.com"


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize(
    "url",
    [
        "http://github.com", "http://10.0.0.1", "http://localhost.example.com", "ftp://github.com",
        "github.com",
        "https://", "https://user@github.com", "https://user:word@github.com", "https://github.com?x=1",
        "https://github.com/#x", "https://github.com:0", "https://github.com:99999", "https://git hub.com",
        "https://github.com\\@evil.example", "https://gíthub.com", "https://github.com\n.evil.example",
        "https://[::1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["github_url", "api_url", "copilot_url"])
def test_an_unsafe_address_for_a_credential_is_refused(url: str, key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^providers\.mine\.{key} ") as caught:
        github_hosts(provider="mine", **{key: url})
    assert caught.value.provider == "mine"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "git hub",
        "github.com/path",
        "u@github.com",
        "http://github.com",
        "-x-",
        "github.com:0",
        "127.0.0.1:99999",
        "acme.ghe.com:65536",
    ],
)
def test_an_invalid_host_name_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"providers\.mine\.host"):
        github_hosts(host, provider="mine")


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize(
    ("host", "endpoint"),
    [
        ("github.com", "https://api.business.githubcopilot.com"),
        ("github.com", "https://api.githubcopilot.com/"),
        ("acme.ghe.com", "https://copilot-api.acme.ghe.com"),
        ("acme.ghe.com", "https://api.enterprise.githubcopilot.com"),
        ("127.0.0.1:8080", "http://127.0.0.1:9090"),
        ("127.0.0.1:8080", "http://localhost:9090/data"),
    ],
)
def test_a_data_host_of_the_same_github_is_used(host: str, endpoint: str) -> None:
    assert github_hosts(host, provider="copilot").data_host(endpoint) == endpoint.rstrip("/")


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize(
    ("host", "endpoint"),
    [
        ("github.com", "https://evil.example"),
        ("github.com", "http://api.githubcopilot.com"),
        ("github.com", "https://api.githubcopilot.com.evil.example"),
        ("github.com", "https://evilgithubcopilot.com"),
        ("github.com", "https://api.githubcopilot.com@evil.example"),
        ("github.com", "https://api.githubcopilot.com:8443"),
        ("github.com", "https://copilot-api.acme.ghe.com"),
        ("github.com", "http://127.0.0.1:9090"),
        ("acme.ghe.com", "https://copilot-api.other.ghe.com"),
        ("127.0.0.1:8080", "https://evil.example"),
        ("github.com", "nonsense"),
    ],
)
def test_any_other_data_host_is_refused(host: str, endpoint: str) -> None:
    with pytest.raises(ConfigError, match="not belong to this GitHub") as caught:
        github_hosts(host, provider="copilot").data_host(endpoint)
    assert "copilot_url" in (caught.value.hint or "")


def test_a_configured_data_host_takes_precedence_over_the_answers() -> None:
    hosts = github_hosts(provider="copilot", copilot_url="https://proxy.example")

    assert hosts.data_host("https://evil.example") == "https://proxy.example"


@pytest.mark.parametrize("endpoint", [None, "", 7, {}])
def test_without_a_data_host_in_the_answer_the_default_is_used(endpoint: object) -> None:
    assert github_hosts(provider="copilot").data_host(endpoint) == "https://api.githubcopilot.com"


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize(
    "moved",
    [
        {"api_url": "https://evil.example"},
        {"copilot_url": "https://evil.example"},
        {"api_url": "http://127.0.0.1:1"},
        {"github_url": "https://evil.example", "api_url": "https://api.github.com"},
        {"copilot_url": "https://api.githubcopilot.com:444"},
    ],
)
def test_found_sign_ins_are_not_used_for_a_workspaces_provider_with_a_moved_plane(
    moved: dict[str, str],
) -> None:
    theirs = github_hosts(provider="copilot", is_the_users_own=False, **moved)
    own = github_hosts(provider="copilot", **moved)

    assert not theirs.trusts_found_sign_ins
    assert own.trusts_found_sign_ins
    assert github_hosts(provider="copilot", is_the_users_own=False).trusts_found_sign_ins
    assert own.key == theirs.key != github_hosts(provider="copilot").key


def test_a_data_host_on_the_machine_of_a_configured_plane_is_used() -> None:
    hosts = github_hosts(provider="copilot", github_url="http://127.0.0.1:1", api_url="http://127.0.0.1:2")

    assert hosts.authority == "github.com"
    assert hosts.data_host("http://127.0.0.1:3") == "http://127.0.0.1:3"
    assert (
        hosts.data_host("https://api.business.githubcopilot.com") == "https://api.business.githubcopilot.com"
    )
