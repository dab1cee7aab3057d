"""The account of a Copilot provider: its sign-ins, changes of the store, and statuses."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from jumpseat.adapters.base.account import AuthStatus, Quota
from jumpseat.adapters.github.copilot.account import CopilotAccount
from jumpseat.adapters.github.copilot.catalogue import CopilotCatalogue
from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.store import token_store_of
from jumpseat.adapters.http.shared_answers import SharedAnswers
from jumpseat.chat import AuthenticationError, AuthorizationError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.secrets import register_secret
from jumpseat.system.shared import Shared
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.emulator import CopilotEmulator
from tests.environments import here

EXCHANGE = "/copilot_internal/v2/token"
UNKNOWN_TOKEN = "ghu_" + "0" * 36


async def refuse_request(*_: object) -> None:
    raise AssertionError("no list of models is needed")


def account_of(http: HttpClient, hosts: GitHubHosts, **table: str) -> CopilotAccount:
    answers = SharedAnswers(Shared(), lambda: None)
    catalogue = CopilotCatalogue(hosts.provider, refuse_request, answers, refuse_request)
    config = ProviderConfig(kind="copilot", **table).set_environment(here())
    return CopilotAccount(http, hosts, config, headers=dict, catalogue=catalogue)


class Person:
    """Creates accounts of one provider, records their reported statuses, and writes editors' sign-ins."""

    def __init__(self, emulator: CopilotEmulator, home: Path, provider: str = "copilot") -> None:
        self.http = HttpClient()
        self.reported: list[AuthStatus] = []
        self.directory = home / "xdg" / "github-copilot"
        self.host = emulator.github_url.removeprefix("http://")
        self.hosts = github_hosts(
            self.host, provider=provider, github_url=emulator.github_url, api_url=emulator.api_url
        )

    def account(self, **table: str) -> CopilotAccount:
        account = account_of(self.http, self.hosts, **table)
        account.on_auth_change = self.reported.append
        return account

    def write_sign_in(self, name: str, token: str) -> None:
        """Write a sign-in as an editor does."""
        self.directory.mkdir(parents=True, exist_ok=True)
        key = self.host if name == "hosts.json" else f"{self.host}:Iv1.x"
        (self.directory / name).write_text(json.dumps({key: {"user": name, "oauth_token": token}}), "utf-8")


@pytest.fixture
async def person(emulator: CopilotEmulator, home: Path) -> AsyncIterator[Person]:
    person = Person(emulator, home)
    yield person
    await person.http.aclose()


@pytest.fixture
def fake_gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable[[], int]]:
    """Return a function that puts a `gh` with a token on the PATH, and returns a counter of its runs."""

    def install(token: str) -> Callable[[], int]:
        if sys.platform == "win32":
            pytest.skip("the fake gh is a shell script")
        log, directory = tmp_path / "gh.log", tmp_path / "bin"
        directory.mkdir()
        command = directory / "gh"
        command.write_text(f"#!/bin/sh\necho asked >> {log}\necho {token}\n", "utf-8")
        command.chmod(0o755)
        monkeypatch.setenv("PATH", str(directory))
        return lambda: len(log.read_text("utf-8").splitlines()) if log.exists() else 0

    return install


@pytest.mark.requirement("8:refused-sign-ins")
async def test_a_rejected_sign_in_of_an_editor_is_skipped_from_then_on(
    person: Person, emulator: CopilotEmulator, caplog: pytest.LogCaptureFixture
) -> None:
    person.write_sign_in("hosts.json", UNKNOWN_TOKEN)
    person.write_sign_in("apps.json", emulator.issue_token("octocat"))
    account = person.account()

    credentials = [await account.get_bearer() for _ in range(3)]
    status = await account.auth_status()

    assert len({each.token.reveal() for each, _ in credentials}) == 1
    assert (status.state, status.source) == ("signed_in", "apps.json")
    assert len(emulator.requests(path=EXCHANGE)) == 2
    assert "hosts.json is no longer accepted" in caplog.text
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins", "8:expired-sign-in")
async def test_if_all_sign_ins_are_rejected_the_last_is_reported_without_another_search(
    person: Person, emulator: CopilotEmulator, fake_gh: Callable[[str], Callable[[], int]]
) -> None:
    gh_runs = fake_gh("")
    person.write_sign_in("hosts.json", UNKNOWN_TOKEN)
    person.write_sign_in("apps.json", UNKNOWN_TOKEN.replace("0", "1"))
    account = person.account()

    with pytest.raises(AuthenticationError, match=r"apps\.json"):
        await account.get_bearer()
    for _ in range(5):
        with pytest.raises(AuthenticationError):
            await account.get_bearer()

    assert len(emulator.requests(path=EXCHANGE)) == 2
    assert gh_runs() == 1
    status = await account.auth_status()
    assert (status.state, status.source) == ("expired", "apps.json")
    assert "Run `jumpseat login` again" in (status.message or "")
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins")
@pytest.mark.parametrize("named", ["config", "env:COPILOT_GITHUB_TOKEN", "file"])
async def test_a_sign_in_that_the_user_named_for_copilot_is_never_skipped(
    person: Person, emulator: CopilotEmulator, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    person.write_sign_in("hosts.json", emulator.issue_token("octocat"))
    table = {}
    if named == "config":
        table = {"github_token": UNKNOWN_TOKEN}
    elif named == "file":
        await token_store_of(here()).write(person.hosts, register_secret(UNKNOWN_TOKEN))
    else:
        monkeypatch.setenv("COPILOT_GITHUB_TOKEN", UNKNOWN_TOKEN)
        monkeypatch.setenv("GH_HOST", person.host)
    account = person.account(**table)

    with pytest.raises(AuthenticationError, match=named):
        await account.get_bearer()

    status = await account.auth_status()
    assert (status.state, status.source) == ("expired", named)
    assert "Run `jumpseat login` again" in (status.message or "")
    assert emulator.exchanges == 0
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins")
async def test_an_account_without_a_plan_is_not_skipped_for_another(
    person: Person, emulator: CopilotEmulator
) -> None:
    emulator.add_account("hubot", blocked="no_copilot_access")
    person.write_sign_in("hosts.json", emulator.issue_token("hubot"))
    person.write_sign_in("apps.json", emulator.issue_token("octocat"))
    account = person.account()

    with pytest.raises(AuthorizationError):
        await account.get_bearer()
    assert (await account.auth_status()).state == "not_authorized"
    assert emulator.exchanges == 0
    await account.aclose()


@pytest.mark.requirement("4:general-sign-in")
@pytest.mark.parametrize(
    ("source", "for_copilot"), [("hosts.json", True), ("config", True), ("GH_TOKEN", False), ("gh", False)]
)
async def test_a_general_github_token_does_not_count_as_a_sign_in_for_copilot(
    person: Person,
    emulator: CopilotEmulator,
    monkeypatch: pytest.MonkeyPatch,
    fake_gh: Callable[[str], Callable[[], int]],
    source: str,
    for_copilot: bool,
) -> None:
    token = emulator.issue_token("octocat")
    gh_runs = fake_gh(token)
    table = {}
    if source == "hosts.json":
        person.write_sign_in(source, token)
    elif source == "config":
        table = {"github_token": token}
    elif source == "GH_TOKEN":
        monkeypatch.setenv("GH_TOKEN", token)
        monkeypatch.setenv("GH_HOST", person.host)
    account = person.account(**table)

    assert await account.is_signed_in_for_this() is for_copilot
    assert gh_runs() == 0
    status = await account.auth_status()
    assert (status.state, (status.source or "").removeprefix("env:")) == ("signed_in", source)
    assert gh_runs() == (1 if source == "gh" else 0)
    assert await account.is_signed_in_for_this() is for_copilot
    await account.aclose()


@pytest.mark.requirement("8:found-sign-ins")
async def test_fifty_simultaneous_callers_cause_one_search_for_sign_ins(
    person: Person, emulator: CopilotEmulator, fake_gh: Callable[[str], Callable[[], int]]
) -> None:
    gh_runs = fake_gh(emulator.issue_token("octocat"))
    account = person.account()

    states = [each.state for each in await asyncio.gather(*(account.auth_status() for _ in range(50)))]
    assert (set(states), gh_runs()) == ({"signed_in"}, 1)
    await account.aclose()


@pytest.mark.requirement("4:general-sign-in")
async def test_a_sign_in_for_copilot_is_remembered_until_a_file_changes(
    person: Person, emulator: CopilotEmulator
) -> None:
    person.write_sign_in("hosts.json", emulator.issue_token("octocat"))
    account = person.account()
    assert await account.is_signed_in_for_this()

    file = person.directory / "hosts.json"
    file.unlink()
    assert await account.is_signed_in_for_this()
    assert file in account.watched_files()
    await account.handle_file_change()

    assert not await account.is_signed_in_for_this()
    await account.aclose()


@pytest.mark.requirement("8:other-process")
async def test_a_sign_in_and_a_sign_out_in_an_editor_are_reported(
    person: Person, emulator: CopilotEmulator
) -> None:
    account = person.account()
    assert (await account.auth_status()).state == "signed_out"

    person.write_sign_in("apps.json", emulator.issue_token("octocat"))
    await account.handle_file_change()
    (person.directory / "apps.json").unlink()
    await account.handle_file_change()

    assert [(each.state, each.source) for each in person.reported] == [
        ("signed_in", "apps.json"),
        ("signed_out", None),
    ]
    await account.aclose()


@pytest.mark.requirement("8:other-process")
async def test_a_store_that_another_process_changed_is_read_again(
    person: Person, emulator: CopilotEmulator
) -> None:
    account = person.account()
    assert (await account.auth_status()).state == "signed_out"
    store = token_store_of(here())

    await store.write(person.hosts, register_secret(emulator.issue_token("octocat")), login="octocat")
    await account.handle_file_change()
    await account.handle_file_change()
    await store.delete(person.hosts)
    await account.handle_file_change()

    assert [each.state for each in person.reported] == ["signed_in", "signed_out"]
    assert (person.reported[0].login, person.reported[0].plan) == ("octocat", "individual")
    await account.aclose()


@pytest.mark.requirement("8:no-token-leaks")
async def test_an_exchanged_token_is_deleted_after_another_process_has_signed_out(
    person: Person, emulator: CopilotEmulator, home: Path
) -> None:
    store = token_store_of(here())
    await store.write(person.hosts, register_secret(emulator.issue_token("octocat")))
    account = person.account()
    await account.get_bearer()
    assert len(list((home / "auth").glob("copilot_token.*.json"))) == 1

    await store.delete(person.hosts)
    await account.handle_file_change()

    assert list((home / "auth").glob("copilot_token.*.json")) == []
    await account.aclose()


@pytest.mark.requirement("8:other-process")
async def test_another_providers_sign_in_in_the_same_store_is_not_reported(
    person: Person, emulator: CopilotEmulator, home: Path
) -> None:
    await token_store_of(here()).write(person.hosts, register_secret(emulator.issue_token("octocat")))
    account = person.account()
    await account.get_bearer()
    other = Person(emulator, home, "work")

    await token_store_of(here()).write(other.hosts, register_secret(emulator.issue_token("octocat")))
    await account.handle_file_change()

    assert person.reported == []
    assert len(emulator.requests(path=EXCHANGE)) == 1
    await account.aclose()
    await other.http.aclose()


@pytest.mark.requirement("8:other-process")
async def test_a_change_of_an_unused_store_does_not_cause_a_search(
    person: Person, emulator: CopilotEmulator
) -> None:
    account = person.account()
    await token_store_of(here()).write(person.hosts, register_secret(emulator.issue_token("octocat")))
    await account.handle_file_change()

    assert (person.reported, emulator.seen) == ([], [])
    await account.aclose()


@pytest.mark.requirement("8:auth-status")
async def test_an_unknown_account_is_signed_in_if_its_token_is_exchanged(
    upstream: FakeUpstream, home: Path
) -> None:
    upstream.default(Reply.json({"message": "Not Found"}, 404), path="/copilot_internal/user")
    minted = {"token": "tid=canary;exp=1", "refresh_in": 1500, "chat_enabled": True}
    upstream.default(Reply.json(minted), path=EXCHANGE)
    http = HttpClient()
    urls = dict.fromkeys(("github_url", "api_url", "copilot_url"), upstream.origin)
    hosts = github_hosts(provider="copilot", **urls)
    account = account_of(http, hosts, github_token="ghu_canary1")

    status = await account.auth_status(refresh=True)

    assert (status.state, status.chat_enabled, status.plan) == ("signed_in", True, None)
    upstream.default(Reply.json({"message": "Not Found"}, 404), path=EXCHANGE)
    other = account_of(http, hosts, github_token="ghu_canary2")
    assert (await other.auth_status(refresh=True)).state == "not_authorized"
    for each in (account, other):
        await each.aclose()
    await http.aclose()


@pytest.mark.requirement("8:auth-status")
@pytest.mark.parametrize(
    ("provider", "command"), [("copilot", "`jumpseat login`"), ("work", "`jumpseat login work`")]
)
async def test_a_missing_sign_in_is_reported_with_the_command_for_that_provider(
    emulator: CopilotEmulator, home: Path, provider: str, command: str
) -> None:
    person = Person(emulator, home, provider)
    status = await person.account().auth_status()

    assert status.state == "signed_out"
    assert (status.message or "").endswith(f"Run {command}.")
    await person.http.aclose()


@pytest.mark.requirement("8:auth-status")
async def test_only_a_refresh_asks_github_and_an_account_without_chat_is_not_authorized(
    person: Person, emulator: CopilotEmulator
) -> None:
    person.write_sign_in("hosts.json", emulator.issue_token("octocat"))
    account = person.account()
    before = await account.auth_status()
    requests = list(emulator.seen)
    emulator.account().blocked = "no_copilot_access"
    refused = await account.auth_status(refresh=True)
    emulator.account().blocked = None
    fixed = await account.auth_status(refresh=True)

    assert (before.state, before.plan, requests) == ("signed_in", None, [])
    assert refused.state == "not_authorized"
    assert (fixed.state, fixed.plan, fixed.message) == ("signed_in", "individual", None)
    await account.aclose()


@pytest.mark.requirement("8:quotas")
async def test_a_quota_is_reported_when_it_crosses_a_threshold_and_not_with_every_answer(
    person: Person, emulator: CopilotEmulator
) -> None:
    person.write_sign_in("hosts.json", emulator.issue_token("octocat"))
    account = person.account()
    _, tokens = await account.get_bearer()
    for left in (50.0, 30.0, 19.0, 18.0, 4.0):
        tokens.record_served([Quota(name="premium_interactions", unlimited=False, percent_remaining=left)])

    percents = [quota.percent_remaining for each in person.reported for quota in each.quotas or ()]
    assert percents == [19.0, 4.0]
    await account.aclose()
