"""The choice among several sign-ins, and the cases in which none may be used."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in import search
from jumpseat.adapters.github.sign_in.search import FoundSignIns, find_sign_ins
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.chat import AuthenticationError
from jumpseat.system.keyring_storage import BoundedKeyring
from jumpseat.system.secrets import Secret, redact
from tests.environments import environment_with

DOTCOM = github_hosts(provider="copilot")


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "state", keyring=BoundedKeyring(lambda: None))


@pytest.fixture
def everything(tmp_path: Path) -> dict[str, str]:
    """Return an environment with every source except the configuration and jumpseat's store."""
    theirs = tmp_path / "config" / "github-copilot"
    theirs.mkdir(parents=True)
    for name in ("hosts.json", "apps.json"):
        entry = {"user": "octocat", "oauth_token": f"ghu_of_{name}"}
        (theirs / name).write_text(json.dumps({"github.com": entry, "acme.ghe.com": entry}))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\necho gho_of_gh_command "$@" | cut -d" " -f1\n')
    (tools / "gh").chmod(0o755)
    return {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PATH": os.pathsep.join([str(tools), os.defpath]),
        "COPILOT_GITHUB_TOKEN": "gho_of_copilot_variable",
        "GH_TOKEN": "gho_of_gh_variable",
        "GITHUB_TOKEN": "ghu_of_codespace",
        "CODESPACES": "true",
    }


def without(environ: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in names}


def best(found: FoundSignIns) -> tuple[str, str] | None:
    return None if found.best is None else (found.best.source, found.best.token.reveal())


@pytest.mark.skipif(os.name == "nt", reason="the fake `gh` is a script with a #! line")
@pytest.mark.requirement("8:found-sign-ins")
async def test_sources_are_searched_in_order(
    store: TokenStore, everything: dict[str, str], tmp_path: Path
) -> None:
    await store.write(DOTCOM, Secret("ghu_of_our_own_sign_in"), login="me")
    environ, order = dict(everything), []

    order.append(
        await find_sign_ins(
            DOTCOM, store, configured=Secret("ghu_configured"), environment=environment_with(environ)
        )
    )
    order.append(await find_sign_ins(DOTCOM, store, environment_with(environ)))
    environ.pop("COPILOT_GITHUB_TOKEN")
    order.append(await find_sign_ins(DOTCOM, store, environment_with(environ)))
    empty = TokenStore(tmp_path / "empty", keyring=BoundedKeyring(lambda: None))
    order.append(await find_sign_ins(DOTCOM, empty, environment_with(environ)))
    environ.pop("GH_TOKEN")
    order.append(await find_sign_ins(DOTCOM, empty, environment_with(environ)))
    environ.pop("GITHUB_TOKEN")
    order.append(await find_sign_ins(DOTCOM, empty, environment_with(environ)))
    for name in ("hosts.json", "apps.json"):
        (tmp_path / "config" / "github-copilot" / name).unlink()
        order.append(await find_sign_ins(DOTCOM, empty, environment_with(environ)))
    (tmp_path / "bin" / "gh").unlink()
    order.append(await find_sign_ins(DOTCOM, empty, environment_with(environ)))

    assert list(map(best, order)) == [
        ("config", "ghu_configured"),
        ("env:COPILOT_GITHUB_TOKEN", "gho_of_copilot_variable"),
        ("file", "ghu_of_our_own_sign_in"),
        ("env:GH_TOKEN", "gho_of_gh_variable"),
        ("env:GITHUB_TOKEN", "ghu_of_codespace"),
        ("hosts.json", "ghu_of_hosts.json"),
        ("apps.json", "ghu_of_apps.json"),
        ("gh", "gho_of_gh_command"),
        None,
    ]
    ours = order[2].best
    assert ours is not None
    assert (ours.login, ours.is_ours) == ("me", True)


@pytest.mark.skipif(os.name == "nt", reason="the fake `gh` is a script with a #! line")
@pytest.mark.requirement("8:found-sign-ins")
async def test_sign_ins_that_github_has_rejected_are_skipped(
    store: TokenStore, everything: dict[str, str]
) -> None:
    environ = without(everything, "COPILOT_GITHUB_TOKEN")
    rejected: list[str] = []
    order = []
    for _ in range(6):
        found = await find_sign_ins(DOTCOM, store, environment_with(environ), rejected=rejected)
        order.append([each.source for each in found.sign_ins])
        rejected += [each.token.reveal() for each in found.sign_ins[:1]]

    assert order == [
        ["env:GH_TOKEN", "env:GITHUB_TOKEN", "hosts.json", "apps.json"],
        ["env:GITHUB_TOKEN", "hosts.json", "apps.json"],
        ["hosts.json", "apps.json"],
        ["apps.json"],
        ["gh"],
        [],
    ]


async def test_a_token_in_several_sources_is_one_sign_in(
    store: TokenStore, everything: dict[str, str]
) -> None:
    environ = {**without(everything, "COPILOT_GITHUB_TOKEN"), "GH_TOKEN": "ghu_of_apps.json"}

    found = await find_sign_ins(DOTCOM, store, environment_with(environ))

    assert [each.source for each in found.sign_ins] == ["env:GH_TOKEN", "env:GITHUB_TOKEN", "hosts.json"]


@pytest.mark.parametrize("codespaces", [None, "", "false"])
async def test_github_token_is_used_only_in_a_codespace(store: TokenStore, codespaces: str | None) -> None:
    environ = {"GITHUB_TOKEN": "ghu_of_some_build"}
    if codespaces is not None:
        environ["CODESPACES"] = codespaces

    assert (await find_sign_ins(DOTCOM, store, environment_with(environ))).best is None


@pytest.mark.requirement("8:found-sign-ins")
async def test_after_a_sign_out_only_the_variable_for_copilot_is_used(
    store: TokenStore, everything: dict[str, str]
) -> None:
    await store.write(DOTCOM, Secret("ghu_of_our_own_sign_in"))
    await store.delete(DOTCOM)

    found = await find_sign_ins(DOTCOM, store, environment_with(without(everything, "COPILOT_GITHUB_TOKEN")))
    assert found.best is None
    named = await find_sign_ins(DOTCOM, store, environment_with(everything))
    assert best(named) == ("env:COPILOT_GITHUB_TOKEN", "gho_of_copilot_variable")


@pytest.mark.requirement("8:credential-host")
@pytest.mark.parametrize(
    "hosts",
    [
        github_hosts(provider="evil", is_the_users_own=False, api_url="https://evil.example"),
        github_hosts(provider="evil", is_the_users_own=False, copilot_url="https://evil.example"),
        github_hosts(
            provider="evil",
            is_the_users_own=False,
            github_url="https://evil.example",
            api_url="https://evil.example",
        ),
        github_hosts(provider="evil", is_the_users_own=False, api_url="http://127.0.0.1:9"),
        github_hosts("git.evil.example", provider="evil"),
    ],
)
async def test_found_sign_ins_go_only_to_hosts_of_their_github(
    store: TokenStore, everything: dict[str, str], hosts: GitHubHosts
) -> None:
    await store.write(DOTCOM, Secret("ghu_of_our_own_sign_in"))
    environ = {**everything, "PATH": ""}  # This removes the fake `gh`, which answers for any host.

    assert (await find_sign_ins(hosts, store, environment_with(environ))).best is None


@pytest.mark.requirement("8:credential-host")
async def test_variables_are_used_for_the_host_that_gh_host_names(
    store: TokenStore, everything: dict[str, str]
) -> None:
    tenant = github_hosts("acme.ghe.com", provider="copilot")

    found = await find_sign_ins(tenant, store, environment_with(everything))
    assert best(found) == ("hosts.json", "ghu_of_hosts.json")
    named = await find_sign_ins(tenant, store, environment_with({**everything, "GH_HOST": "acme.ghe.com"}))
    assert best(named) == ("env:COPILOT_GITHUB_TOKEN", "gho_of_copilot_variable")
    elsewhere = await find_sign_ins(
        DOTCOM, store, environment_with({**everything, "GH_HOST": "acme.ghe.com"})
    )
    assert best(elsewhere) == ("hosts.json", "ghu_of_hosts.json")


@pytest.mark.requirement("8:token-kinds")
async def test_an_unusable_kind_of_token_in_a_general_variable_gives_a_note(store: TokenStore) -> None:
    found = await find_sign_ins(DOTCOM, store, environment_with({"GH_TOKEN": "ghp_canary0815"}))

    assert found.best is None
    assert found.notes == ["env:GH_TOKEN has a kind of token that Copilot does not accept."]


@pytest.mark.requirement("8:token-kinds")
async def test_an_unusable_kind_of_token_that_the_user_chose_is_an_error(store: TokenStore) -> None:
    with pytest.raises(AuthenticationError, match="env:COPILOT_GITHUB_TOKEN is a classic"):
        await find_sign_ins(DOTCOM, store, environment_with({"COPILOT_GITHUB_TOKEN": "ghp_canary0815"}))
    with pytest.raises(AuthenticationError, match="config is a classic"):
        await find_sign_ins(
            DOTCOM, store, configured=Secret("ghp_canary0815"), environment=environment_with({})
        )
    await store.write(DOTCOM, Secret("ghp_canary0815"))
    with pytest.raises(AuthenticationError, match="file is a classic"):
        await find_sign_ins(DOTCOM, store, environment_with({}))


@pytest.mark.requirement("6:no-secrets")
async def test_a_found_token_is_redacted(store: TokenStore, everything: dict[str, str]) -> None:
    for environ in (everything, without(everything, "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")):
        found = await find_sign_ins(DOTCOM, store, environment_with(environ))

        assert found.best is not None
        token = found.best.token.reveal()
        assert redact(f"x {token} y") == "x *** y"
        assert token not in repr(found)


@pytest.mark.requirement("8:sign-ins-of-editors")
async def test_editors_files_that_cannot_be_read_in_time_give_a_note(
    store: TokenStore, everything: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = without(everything, "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "PATH")
    assert (await find_sign_ins(DOTCOM, store, environment_with(environ))).best is not None
    monkeypatch.setattr(search, "EDITORS_SECONDS", 0)

    found = await find_sign_ins(DOTCOM, store, environment_with(environ))

    assert found.best is None
    assert any("could not be read in time" in note for note in found.notes)
