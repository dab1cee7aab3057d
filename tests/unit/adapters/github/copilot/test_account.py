"""Who is signed in to a Copilot provider: several sign-ins, refused ones, changes of the store, statuses."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from jumpseat.adapters.base.account import AuthStatus, Quota
from jumpseat.adapters.github.copilot.account import CopilotAccount
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.token_store import TokenStore
from jumpseat.chat import AuthenticationError, AuthorizationError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.secrets import hidden
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.emulator import CopilotEmulator

EXCHANGE = "/copilot_internal/v2/token"
NOBODY = "ghu_" + "0" * 36


class Person:
    """One provider's identity, what was told of it, and the places where its sign-ins lie."""

    def __init__(self, emulator: CopilotEmulator, home: Path, provider: str = "copilot") -> None:
        self.http = HttpClient()
        self.told: list[AuthStatus] = []
        self.directory = home / "xdg" / "github-copilot"
        self.host = emulator.github_url.removeprefix("http://")
        self.hosts = github_hosts(
            self.host, provider=provider, github_url=emulator.github_url, api_url=emulator.api_url
        )

    def account(self, **table: str) -> CopilotAccount:
        return CopilotAccount(
            self.http,
            self.hosts,
            ProviderConfig(kind="copilot", **table),
            headers=dict,
            on_change=self.told.append,
        )

    def leave(self, name: str, token: str) -> None:
        """Leave a sign-in as an editor does."""
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
    """Puts a `gh` on the path that tells a token; what it returns says how often it was asked."""

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
async def test_a_refused_sign_in_of_an_editors_gives_way_to_the_next_and_is_not_tried_again(
    person: Person, emulator: CopilotEmulator, caplog: pytest.LogCaptureFixture
) -> None:
    person.leave("hosts.json", NOBODY)
    person.leave("apps.json", emulator.issue_token("octocat"))
    account = person.account()

    credentials = [await account.credential() for _ in range(3)]
    status = await account.status()

    assert len({each.token.reveal() for each in credentials}) == 1
    assert (status.state, status.source) == ("signed_in", "apps.json")
    assert len(emulator.requests(path=EXCHANGE)) == 2
    assert "hosts.json is not accepted any more" in caplog.text
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins", "8:expired-sign-in")
async def test_where_all_are_refused_the_last_one_says_so_and_places_are_not_searched_on_and_on(
    person: Person, emulator: CopilotEmulator, fake_gh: Callable[[str], Callable[[], int]]
) -> None:
    gh_asked = fake_gh("")
    person.leave("hosts.json", NOBODY)
    person.leave("apps.json", NOBODY.replace("0", "1"))
    account = person.account()

    with pytest.raises(AuthenticationError, match=r"apps\.json"):
        await account.credential()
    for _ in range(5):
        with pytest.raises(AuthenticationError):
            await account.credential()

    assert len(emulator.requests(path=EXCHANGE)) == 2
    assert gh_asked() == 1
    status = await account.status()
    assert (status.state, status.source) == ("expired", "apps.json")
    assert "Sign in again: `jumpseat login`" in (status.message or "")
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins")
@pytest.mark.parametrize("named", ["config", "env:COPILOT_GITHUB_TOKEN", "file"])
async def test_a_sign_in_that_a_person_made_for_this_is_never_passed_over(
    person: Person, emulator: CopilotEmulator, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    person.leave("hosts.json", emulator.issue_token("octocat"))
    table = {}
    if named == "config":
        table = {"github_token": NOBODY}
    elif named == "file":
        await TokenStore().write(person.hosts, hidden(NOBODY))
    else:
        monkeypatch.setenv("COPILOT_GITHUB_TOKEN", NOBODY)
        monkeypatch.setenv("GH_HOST", person.host)
    account = person.account(**table)

    with pytest.raises(AuthenticationError, match=named):
        await account.credential()

    status = await account.status()
    assert (status.state, status.source) == ("expired", named)
    assert "Sign in again: `jumpseat login`" in (status.message or "")
    assert emulator.exchanges == 0
    await account.aclose()


@pytest.mark.requirement("8:refused-sign-ins")
async def test_an_account_without_a_plan_is_not_passed_over_for_another(
    person: Person, emulator: CopilotEmulator
) -> None:
    emulator.add_account("hubot", blocked="no_copilot_access")
    person.leave("hosts.json", emulator.issue_token("hubot"))
    person.leave("apps.json", emulator.issue_token("octocat"))
    account = person.account()

    with pytest.raises(AuthorizationError):
        await account.credential()
    assert (await account.status()).state == "not_authorized"
    assert emulator.exchanges == 0
    await account.aclose()


@pytest.mark.requirement("4:general-sign-in")
@pytest.mark.parametrize(
    ("source", "for_copilot"), [("hosts.json", True), ("config", True), ("GH_TOKEN", False), ("gh", False)]
)
async def test_a_token_for_all_of_github_is_no_sign_in_to_copilot_and_gh_is_not_asked(
    person: Person,
    emulator: CopilotEmulator,
    monkeypatch: pytest.MonkeyPatch,
    fake_gh: Callable[[str], Callable[[], int]],
    source: str,
    for_copilot: bool,
) -> None:
    token = emulator.issue_token("octocat")
    asked = fake_gh(token)
    table = {}
    if source == "hosts.json":
        person.leave(source, token)
    elif source == "config":
        table = {"github_token": token}
    elif source == "GH_TOKEN":
        monkeypatch.setenv("GH_TOKEN", token)
        monkeypatch.setenv("GH_HOST", person.host)
    account = person.account(**table)

    assert await account.is_for_copilot() is for_copilot
    assert asked() == 0
    status = await account.status()
    assert (status.state, (status.source or "").removeprefix("env:")) == ("signed_in", source)
    assert asked() == (1 if source == "gh" else 0)
    assert await account.is_for_copilot() is for_copilot
    await account.aclose()


@pytest.mark.requirement("8:found-sign-ins")
async def test_fifty_questions_at_once_look_for_sign_ins_once(
    person: Person, emulator: CopilotEmulator, fake_gh: Callable[[str], Callable[[], int]]
) -> None:
    asked = fake_gh(emulator.issue_token("octocat"))
    account = person.account()

    states = [each.state for each in await asyncio.gather(*(account.status() for _ in range(50)))]
    assert (set(states), asked()) == ({"signed_in"}, 1)
    await account.aclose()


@pytest.mark.requirement("8:other-process")
async def test_a_store_that_another_process_has_changed_is_looked_at_again(
    person: Person, emulator: CopilotEmulator
) -> None:
    account = person.account()
    assert (await account.status()).state == "signed_out"
    store = TokenStore()

    await store.write(person.hosts, hidden(emulator.issue_token("octocat")), login="octocat")
    await account.store_changed()
    await account.store_changed()
    await store.delete(person.hosts)
    await account.store_changed()

    assert [each.state for each in person.told] == ["signed_in", "signed_out"]
    assert (person.told[0].login, person.told[0].plan) == ("octocat", "individual")
    await account.aclose()


@pytest.mark.requirement("8:no-token-leaks")
async def test_a_token_that_was_exchanged_while_another_process_signed_out_does_not_stay(
    person: Person, emulator: CopilotEmulator, home: Path
) -> None:
    store = TokenStore()
    await store.write(person.hosts, hidden(emulator.issue_token("octocat")))
    account = person.account()
    await account.credential()
    assert len(list((home / "auth").glob("copilot_token.*.json"))) == 1

    await store.delete(person.hosts)
    await account.store_changed()

    assert list((home / "auth").glob("copilot_token.*.json")) == []
    await account.aclose()


@pytest.mark.requirement("8:other-process")
async def test_another_providers_sign_in_in_the_same_store_is_no_news(
    person: Person, emulator: CopilotEmulator, home: Path
) -> None:
    await TokenStore().write(person.hosts, hidden(emulator.issue_token("octocat")))
    account = person.account()
    await account.credential()
    other = Person(emulator, home, "work")

    await TokenStore().write(other.hosts, hidden(emulator.issue_token("octocat")))
    await account.store_changed()

    assert person.told == []
    assert len(emulator.requests(path=EXCHANGE)) == 1
    await account.aclose()
    await other.http.aclose()


@pytest.mark.requirement("8:other-process")
async def test_a_store_that_nobody_has_asked_about_yet_is_not_looked_at(
    person: Person, emulator: CopilotEmulator
) -> None:
    account = person.account()
    await TokenStore().write(person.hosts, hidden(emulator.issue_token("octocat")))
    await account.store_changed()

    assert (person.told, emulator.seen) == ([], [])
    await account.aclose()


@pytest.mark.requirement("8:auth-status")
async def test_an_account_that_is_not_told_of_is_no_obstacle_where_its_token_is_exchanged(
    upstream: FakeUpstream, home: Path
) -> None:
    upstream.default(Reply.json({"message": "Not Found"}, 404), path="/copilot_internal/user")
    minted = {"token": "tid=canary;exp=1", "refresh_in": 1500, "chat_enabled": True}
    upstream.default(Reply.json(minted), path=EXCHANGE)
    http, told = HttpClient(), list[AuthStatus]()
    urls = dict.fromkeys(("github_url", "api_url", "copilot_url"), upstream.origin)
    table = ProviderConfig(kind="copilot", github_token="ghu_canary1")
    account = CopilotAccount(
        http, github_hosts(provider="copilot", **urls), table, headers=dict, on_change=told.append
    )

    status = await account.status(refresh=True)

    assert (status.state, status.chat_enabled, status.plan) == ("signed_in", True, None)
    upstream.default(Reply.json({"message": "Not Found"}, 404), path=EXCHANGE)
    other = CopilotAccount(
        http,
        github_hosts(provider="copilot", **urls),
        ProviderConfig(kind="copilot", github_token="ghu_canary2"),
        headers=dict,
        on_change=told.append,
    )
    assert (await other.status(refresh=True)).state == "not_authorized"
    for each in (account, other):
        await each.aclose()
    await http.aclose()


@pytest.mark.requirement("8:auth-status")
@pytest.mark.parametrize(
    ("provider", "command"), [("copilot", "`jumpseat login`"), ("work", "`jumpseat login --provider work`")]
)
async def test_who_was_never_signed_in_is_told_to_sign_in_to_that_provider(
    emulator: CopilotEmulator, home: Path, provider: str, command: str
) -> None:
    person = Person(emulator, home, provider)
    status = await person.account().status()

    assert status.state == "signed_out"
    assert (status.message or "").endswith(f"Sign in: {command}.")
    await person.http.aclose()


@pytest.mark.requirement("8:auth-status")
async def test_only_refresh_asks_github_and_an_account_without_chat_is_not_authorized(
    person: Person, emulator: CopilotEmulator
) -> None:
    person.leave("hosts.json", emulator.issue_token("octocat"))
    account = person.account()
    before = await account.status()
    asked = list(emulator.seen)
    emulator.account().blocked = "no_copilot_access"
    refused = await account.status(refresh=True)
    emulator.account().blocked = None
    mended = await account.status(refresh=True)

    assert (before.state, before.plan, asked) == ("signed_in", None, [])
    assert refused.state == "not_authorized"
    assert (mended.state, mended.plan, mended.message) == ("signed_in", "individual", None)
    await account.aclose()


@pytest.mark.requirement("8:quotas")
async def test_a_quota_is_told_when_it_crosses_a_threshold_and_not_with_every_answer(
    person: Person, emulator: CopilotEmulator
) -> None:
    person.leave("hosts.json", emulator.issue_token("octocat"))
    account = person.account()
    await account.credential()
    for left in (50.0, 30.0, 19.0, 18.0, 4.0):
        account.note_quotas([Quota(name="premium_interactions", unlimited=False, percent_remaining=left)])

    told = [quota.percent_remaining for each in person.told for quota in each.quotas or ()]
    assert told == [19.0, 4.0]
    await account.aclose()
