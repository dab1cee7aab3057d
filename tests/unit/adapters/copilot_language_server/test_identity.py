"""Who is signed in to a language server: what it answers, what it notifies, signing in and out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jumpseat.adapters.base import SignInPrompt
from jumpseat.adapters.copilot_language_server.account import read_plan, read_quotas, read_sign_in
from jumpseat.adapters.copilot_language_server.identity import LanguageServerIdentity
from jumpseat.adapters.copilot_language_server.server import LanguageServer
from jumpseat.auth import AuthStatus, Quota
from jumpseat.auth.github_hosts import github_hosts
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ProtocolError,
    RequestError,
)
from jumpseat.config import ProviderConfig, Values
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.attempts import is_quick
from tests.fakes.language_server import NEVER, WAIT_SECONDS, FakeLanguageServer
from tests.fakes.language_server_answers import DEVICE_FLOW, QUOTA

COMMAND = "jumpseat login --provider cls"


class User:
    """One identity over one fake server, and what was told of it."""

    def __init__(self, fake: FakeLanguageServer, *, status_seconds: float = 10.0, **table: Any) -> None:
        config = ProviderConfig(kind="copilot-language-server", command=fake.command, **table)
        self.fake = fake
        self.changes: asyncio.Queue[AuthStatus] = asyncio.Queue()
        self.prompts: list[SignInPrompt] = []
        self._prompted = asyncio.Event()
        self.server = LanguageServer(
            "cls",
            config,
            Values("cls", config),
            who=lambda: None,
            on_notification=lambda method, params: self.identity.notified(method, params),
            on_request=_unasked,
        )
        self.identity = LanguageServerIdentity(
            github_hosts(config.host, provider="cls", github_url=config.github_url),
            self.server,
            on_change=self.changes.put_nowait,
            status_seconds=status_seconds,
        )

    async def status(self, *, refresh: bool = False) -> AuthStatus:
        return await self.identity.status(refresh=refresh)

    async def change(self) -> AuthStatus:
        """The next change that is told."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.changes.get()

    async def settled(self) -> list[AuthStatus]:
        """Every change that follows from what the server has said by now."""
        # Behind what it said before, for its answers come in order.
        await (await self.server.connection()).request("getVersion", seconds=WAIT_SECONDS)
        return [self.changes.get_nowait() for _ in range(self.changes.qsize())]

    async def sign_in(self) -> AuthStatus:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.identity.sign_in(self._show)

    def _show(self, prompt: SignInPrompt) -> None:
        self.prompts.append(prompt)
        self._prompted.set()

    async def prompt(self) -> SignInPrompt:
        """What a person is shown, once they are."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self._prompted.wait()
        return self.prompts[0]

    async def require(self) -> None:
        await self.identity.require(await self.server.connection())

    async def aclose(self) -> None:
        await self.identity.aclose()
        await self.server.aclose()


async def _unasked(method: str, params: Any) -> Any:
    raise AssertionError(f"the server asked for {method}")


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def user(fake: FakeLanguageServer) -> AsyncIterator[User]:
    made = User(fake)
    yield made
    await made.aclose()


def v2(status: str, *, login: str | None = None, **more: Any) -> dict[str, Any]:
    """The params of `didChangeStatus/v2` for the sign-in."""
    result = {"status": status, **({"user": login} if login else {})}
    return {"statuses": [{"category": "auth", "kind": "Normal", "result": result, **more}]}


# -- what it answers


@pytest.mark.requirement("language-server:status")
@pytest.mark.parametrize(
    ("answer", "state", "login"),
    [
        ({"status": "OK", "user": "octocat"}, "signed_in", "octocat"),
        ({"status": "AlreadySignedIn", "user": "octocat"}, "signed_in", "octocat"),
        ({"status": "MaybeOK", "user": "octocat"}, "signed_in", "octocat"),
        ({"status": "OK"}, "signed_in", None),
        ({"status": "MaybeOK"}, "signed_out", None),
        ({"status": "NotSignedIn"}, "signed_out", None),
        ({"status": "NotAuthorized", "user": "octocat"}, "not_authorized", "octocat"),
        ({"status": "FailedToGetToken", "user": "octocat"}, "expired", "octocat"),
        ({"status": "Dreaming"}, "signed_out", None),
        ({"status": ["OK"]}, "signed_out", None),
        ({}, "signed_out", None),
        ("OK", "signed_out", None),
        (None, "signed_out", None),
    ],
)
def test_each_state_that_the_server_tells_has_its_own(answer: Any, state: str, login: str | None) -> None:
    told = read_sign_in(answer)

    assert (told.state, told.login) == (state, login)


@pytest.mark.requirement("language-server:status")
def test_a_state_that_nobody_knows_or_that_names_nobody_says_so() -> None:
    assert "'Dreaming'" in read_sign_in({"status": "Dreaming"}).words
    assert "who is signed in" in read_sign_in({"status": "MaybeOK"}).words


@pytest.mark.requirement("language-server:status", "language-server:no-secrets")
def test_the_servers_words_are_shown_without_what_looks_like_a_token() -> None:
    row = {"message": "\x1b[31mBad token gho_0123456789abcdef.", "askToReSignin": True}

    told = read_sign_in({"status": "NotSignedIn"}, row)

    assert told.state == "expired"
    assert "Bad token" in told.words
    assert "gho_0123456789abcdef" not in told.words
    assert "\x1b" not in told.words


@pytest.mark.requirement("language-server:status")
async def test_somebody_who_is_signed_in_is_told_with_host_and_source(user: User) -> None:
    status = await user.status()

    assert status == AuthStatus(
        provider="cls", state="signed_in", login="octocat", host="github.com", source="language server"
    )
    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}]
    assert "checkQuota" not in user.fake.methods


@pytest.mark.requirement("language-server:status")
async def test_a_status_without_refresh_goes_to_no_network_however_often_it_is_asked(user: User) -> None:
    await user.status()
    await user.status()

    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}] * 2
    assert len(user.fake.starts) == 1


@pytest.mark.requirement("language-server:status", "language-server:quotas")
async def test_a_refresh_tries_the_sign_in_and_asks_for_plan_and_quotas(user: User) -> None:
    status = await user.status(refresh=True)

    assert user.fake.params("checkStatus") == [{"options": {"forceRefresh": True}}]
    assert (status.state, status.plan) == ("signed_in", "individual")
    assert [quota.name for quota in status.quotas or ()] == ["chat", "completions", "premium_interactions"]
    # And they are not forgotten by the next one.
    assert (await user.status()).plan == "individual"


@pytest.mark.requirement("language-server:status", "language-server:quotas")
async def test_a_plan_that_the_server_does_not_know_leaves_the_sign_in_good(user: User) -> None:
    user.fake.on("checkQuota", RpcError(-32603, "Failed to fetch quota info"))

    status = await user.status(refresh=True)

    assert (status.state, status.plan, status.quotas, status.message) == ("signed_in", None, None, None)


@pytest.mark.requirement("language-server:status")
async def test_nobody_is_signed_in_says_how_to(user: User) -> None:
    user.fake.status = {"status": "NotSignedIn"}

    for status in (await user.status(), await user.status(refresh=True)):
        assert (status.state, status.login, status.source) == ("signed_out", None, None)
        assert COMMAND in (status.message or "")
    assert "checkQuota" not in user.fake.methods


@pytest.mark.requirement("language-server:status")
async def test_an_account_without_copilot_is_told_with_its_name(user: User) -> None:
    user.fake.status = {"status": "NotAuthorized", "user": "octocat"}

    status = await user.status()

    assert (status.state, status.login, status.chat_enabled) == ("not_authorized", "octocat", False)
    assert "octocat at github.com may not use Copilot." in (status.message or "")


@pytest.mark.requirement("language-server:status")
async def test_a_refresh_that_github_does_not_answer_keeps_what_is_known_and_says_why(user: User) -> None:
    user.fake.on(
        "checkStatus",
        lambda params: (
            RpcError(-32603, "getaddrinfo ENOTFOUND api.github.com")
            if "forceRefresh" in params["options"]
            else {"status": "MaybeOK", "user": "octocat"}
        ),
    )

    status = await user.status(refresh=True)

    assert (status.state, status.login) == ("signed_in", "octocat")
    assert "ENOTFOUND" in (status.message or "")


@pytest.mark.requirement("language-server:status", "language-server:command")
async def test_a_server_that_is_not_installed_is_signed_out_with_the_line_that_installs_it(
    fake: FakeLanguageServer, tmp_path: Any
) -> None:
    user = User(fake)
    user.server._config.command = [str(tmp_path / "nothing")]

    status = await user.status()
    await user.aclose()

    assert status.state == "signed_out"
    assert "npm install -g @github/copilot-language-server" in (status.message or "")


@pytest.mark.requirement("language-server:status")
async def test_a_server_that_does_not_answer_in_time_is_signed_out_until_it_does(
    fake: FakeLanguageServer,
) -> None:
    opened = asyncio.Event()

    async def when_opened(params: Any) -> Any:
        await opened.wait()
        return {"status": "OK", "user": "octocat"}

    fake.on("checkStatus", when_opened)
    user = User(fake, status_seconds=0.05)

    status = await user.status()
    await fake.wait_for("checkStatus")
    opened.set()
    later = await user.change()
    await user.aclose()

    assert status.state == "signed_out"
    assert (status.message or "").startswith("The language server has not answered within 0.05 s")
    assert (later.state, later.login) == ("signed_in", "octocat")
    assert len(fake.params("checkStatus")) == 1, "the question goes on, and is not asked anew"


@pytest.mark.requirement("language-server:status")
async def test_a_server_that_stays_silent_is_waited_for_once_and_not_by_each_who_asks(
    fake: FakeLanguageServer,
) -> None:
    fake.on("checkStatus", NEVER)
    user = User(fake, status_seconds=1.0)
    await user.status()
    await fake.wait_for("checkStatus")

    async def seconds_until_ten_are_told() -> float:
        began = asyncio.get_running_loop().time()
        statuses = [await user.status() for _ in range(10)]
        assert {status.state for status in statuses} == {"signed_out"}
        return asyncio.get_running_loop().time() - began

    # It is less than one of them would wait.
    await is_quick(seconds_until_ten_are_told, within=1.0)
    await user.aclose()

    assert len(fake.params("checkStatus")) == 1


@pytest.mark.requirement("language-server:status")
async def test_a_server_that_was_silent_once_is_waited_for_again_when_it_is_asked_anew(
    fake: FakeLanguageServer,
) -> None:
    opened = asyncio.Event()

    async def when_opened(params: Any) -> Any:
        await opened.wait()
        return {"status": "OK", "user": "octocat"}

    fake.on("checkStatus", when_opened)
    user = User(fake, status_seconds=0.05)
    await user.status()
    opened.set()
    await user.change()
    user.identity._status_seconds = WAIT_SECONDS

    status = await user.status()
    await user.aclose()

    assert (status.state, status.message) == ("signed_in", None)
    assert len(fake.params("checkStatus")) == 2


@pytest.mark.requirement("language-server:status")
async def test_the_constructor_starts_nothing_and_closing_what_never_ran_starts_nothing(
    fake: FakeLanguageServer,
) -> None:
    await User(fake).aclose()

    assert fake.starts == []


@pytest.mark.requirement("language-server:status")
async def test_a_status_under_way_ends_with_the_daemon(user: User) -> None:
    user.fake.on("checkStatus", NEVER)
    asking = asyncio.ensure_future(user.status())
    await user.fake.wait_for("checkStatus")

    await user.aclose()

    async with asyncio.timeout(WAIT_SECONDS):
        with suppress(asyncio.CancelledError):
            assert (await asking).state == "signed_out"


# -- before a chat


@pytest.mark.requirement("language-server:not-ready")
async def test_a_chat_asks_once_whether_somebody_is_signed_in(user: User) -> None:
    await user.require()
    await user.require()

    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}]


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ({"status": "NotSignedIn"}, AuthenticationError, "Nobody is signed in to github.com"),
        ({"status": "MaybeOK"}, AuthenticationError, "cannot say who is signed in"),
        ({"status": "FailedToGetToken"}, AuthenticationError, "has run out"),
        ({"status": "NotAuthorized", "user": "octocat"}, AuthorizationError, "may not use Copilot"),
    ],
)
async def test_a_chat_that_cannot_begin_says_what_to_do(
    user: User, status: dict[str, Any], kind: type[ChatError], words: str
) -> None:
    user.fake.status = status

    with pytest.raises(AuthenticationError, match=words) as caught:
        await user.require()

    assert type(caught.value) is kind
    assert f"`{COMMAND}`" in (caught.value.hint or "")
    assert caught.value.provider == "cls"


@pytest.mark.requirement("language-server:not-ready")
async def test_a_failure_is_looked_into_again_before_a_chat_is_refused(user: User) -> None:
    user.fake.on(
        "checkStatus",
        {"status": "NotAuthorized", "user": "octocat"},
        {"status": "MaybeOK", "user": "octocat"},
        {"status": "OK", "user": "octocat"},
    )
    assert (await user.status(refresh=True)).state == "not_authorized"

    await user.require()

    assert user.fake.params("checkStatus")[1:] == [
        {"options": {"localChecksOnly": True}},
        {"options": {"forceRefresh": True}},
    ]


@pytest.mark.requirement("language-server:not-ready")
async def test_a_look_at_the_disk_does_not_undo_what_github_refused(user: User) -> None:
    user.fake.on(
        "checkStatus",
        {"status": "NotAuthorized", "user": "octocat"},
        {"status": "MaybeOK", "user": "octocat"},
        {"status": "MaybeOK", "user": "hubot"},
    )
    await user.status(refresh=True)

    assert (await user.status()).state == "not_authorized"
    assert (await user.status()).state == "signed_in", "somebody else is signed in now"


@pytest.mark.requirement("language-server:not-ready")
async def test_a_server_that_cannot_find_out_lets_the_chat_find_out(user: User) -> None:
    user.fake.on("checkStatus", RpcError(-32603, "getaddrinfo ENOTFOUND"))

    await user.require()


@pytest.mark.requirement("language-server:not-ready", "language-server:restart")
async def test_a_server_that_was_started_again_is_asked_again(user: User) -> None:
    await user.require()
    user.fake.kill()
    await user.fake.current.ended()
    first = user.server.running
    if first is not None:
        await first.ended()
    user.fake.status = {"status": "NotSignedIn"}

    with pytest.raises(AuthenticationError):
        await user.require()
    assert len(user.fake.starts) == 2


# -- what it notifies


@pytest.mark.requirement("language-server:did-change")
async def test_a_notification_tells_of_a_change_and_asks_nothing(user: User) -> None:
    await user.status()
    asked = len(user.fake.params("checkStatus"))

    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message="You are not signed into GitHub."))
    (out,) = await user.settled()
    user.fake.notify("didChangeStatus/v2", v2("OK", login="hubot"))
    (back,) = await user.settled()

    assert (out.state, out.login) == ("signed_out", None)
    told = "Nobody is signed in to github.com in the language server."
    assert out.message == f"{told} Sign in: `{COMMAND}`.", "the server's words say no more"
    assert (back.state, back.login, back.message) == ("signed_in", "hubot", None)
    assert len(user.fake.params("checkStatus")) == asked


@pytest.mark.requirement("language-server:did-change")
async def test_what_comes_with_every_answer_is_told_once_and_never_asked_about(user: User) -> None:
    def answer(params: Any) -> Any:
        user.fake.notify("statusNotification", {"kind": "Normal", "status": "Normal", "busy": False})
        user.fake.notify("didChangeStatus", {"kind": "Normal", "busy": False})
        user.fake.notify("didChangeStatus/v2", v2("MaybeOK", login="octocat"))
        return {"status": "MaybeOK", "user": "octocat"}

    user.fake.on("checkStatus", answer)

    await user.status()
    await user.status()

    assert await user.settled() == []
    assert len(user.fake.params("checkStatus")) == 2


@pytest.mark.requirement("language-server:did-change")
async def test_a_sign_in_that_has_run_out_is_told_as_that_and_stays_so(user: User) -> None:
    await user.status()
    words = "The organization has revoked the token."
    user.fake.status = {"status": "NotSignedIn", "user": "octocat"}

    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message=words, askToReSignin=True))
    (expired,) = await user.settled()

    assert expired.state == "expired"
    assert words in (expired.message or "")
    assert (await user.status()).state == "expired"


@pytest.mark.requirement("language-server:status")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("NotSignedIn", "You are not signed into GitHub."),
        ("NotSignedIn", "Your GitHub Copilot session has expired. You have been signed out. Please sign in."),
        ("NotAuthorized", "No access to GitHub Copilot found. You are currently logged in as octocat."),
    ],
)
def test_words_of_the_server_that_only_repeat_the_state_are_left_out(status: str, words: str) -> None:
    assert read_sign_in({"status": status}, {"message": words}).words == ""


@pytest.mark.requirement("language-server:did-change")
@pytest.mark.parametrize(
    "params",
    [
        {"statuses": [{"category": "cls", "kind": "Normal"}, {"category": "completion", "busy": True}]},
        {"statuses": [{"category": "auth", "kind": "Warning", "message": "fetch failed"}]},
        {"statuses": [{"category": "cls", "kind": "Error", "result": {"status": "NotSignedIn"}}]},
        {"statuses": [7, None]},
        {"statuses": "all"},
        {},
        [1],
        None,
    ],
)
async def test_a_notification_about_something_else_changes_nothing(
    user: User, caplog: pytest.LogCaptureFixture, params: Any
) -> None:
    before = await user.status()
    user.fake.notify("didChangeStatus/v2", params)

    assert await user.settled() == []
    assert await user.status() == before
    # A handler that fails changes nothing either.
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.requirement("language-server:did-change")
@pytest.mark.parametrize("method", ["didChangeStatus", "statusNotification"])
async def test_an_older_servers_notification_has_the_sign_in_asked_for(user: User, method: str) -> None:
    await user.status()
    user.fake.status = {"status": "NotSignedIn"}

    key = "kind" if method == "didChangeStatus" else "status"
    user.fake.notify(method, {key: "Error", "message": "You are not signed into GitHub.", "busy": False})

    assert (await user.change()).state == "signed_out"
    asked = len(user.fake.params("checkStatus"))
    # The same again is no news, and neither is that it works.
    user.fake.notify(method, {key: "Error", "message": "You are not signed into GitHub.", "busy": False})
    user.fake.notify(method, {key: "InProgress", "busy": True})
    assert await user.settled() == []
    # A question that this had begun would be on its way by now.
    assert await user.settled() == []
    assert len(user.fake.params("checkStatus")) == asked


@pytest.mark.requirement("language-server:quotas", "language-server:did-change")
async def test_a_quota_that_crosses_a_threshold_is_told_once(user: User) -> None:
    await user.status(refresh=True)
    await user.settled()

    def told(percent: float) -> dict[str, Any]:
        premium = {"percentRemaining": percent, "unlimited": False, "quota": 300, "used": 300 - 3 * percent}
        return {"premium_interactions": premium, "copilotPlan": "individual"}

    for percent in (50, 19, 18):
        user.fake.notify("copilot/quotaChange", told(percent))
    (crossed,) = await user.settled()

    (premium,) = (quota for quota in crossed.quotas or () if quota.name == "premium_interactions")
    assert (premium.percent_remaining, premium.entitlement, premium.remaining) == (19.0, 300.0, 57.0)
    assert next(quota.name for quota in crossed.quotas or ()) == "chat", "what was not told anew is kept"


@pytest.mark.requirement("language-server:quotas")
async def test_plan_and_quotas_of_somebody_else_are_forgotten(user: User) -> None:
    await user.status(refresh=True)
    user.fake.notify("didChangeStatus/v2", v2("OK", login="hubot"))
    await user.settled()

    status = await user.status()

    assert (status.login, status.plan, status.quotas) == ("octocat", None, None)


@pytest.mark.requirement("language-server:quotas")
def test_quotas_have_copilots_own_names_in_both_spellings() -> None:
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    asked = read_quotas(QUOTA)
    heard = read_quotas(
        {
            "premium_interactions": {
                "quota": 300,
                "used": 30,
                "percentRemaining": 90,
                "unlimited": False,
                "overageEnabled": True,
            }
        }
    )

    assert asked[2] == Quota(
        name="premium_interactions",
        unlimited=False,
        percent_remaining=82.5,
        overage_permitted=False,
        reset_at=reset,
    )
    assert asked[0] == Quota(
        name="chat", unlimited=True, percent_remaining=100.0, overage_permitted=False, reset_at=reset
    )
    assert heard == [
        Quota(
            name="premium_interactions",
            unlimited=False,
            percent_remaining=90.0,
            entitlement=300.0,
            remaining=270.0,
            overage_permitted=True,
        )
    ]


@pytest.mark.requirement("language-server:quotas")
def test_the_numbers_of_an_unlimited_quota_are_no_amounts() -> None:
    (chat,) = read_quotas({"chat": {"unlimited": True, "percentRemaining": 0, "quota": 0, "used": 12}})

    assert chat == Quota(name="chat", unlimited=True, percent_remaining=100.0)


@pytest.mark.requirement("language-server:quotas")
@pytest.mark.parametrize(
    "told",
    [
        {},
        {"chat": None},
        {"chat": {"percentRemaining": "much"}},
        {"chat": {"percentRemaining": True}},
        {"resetDate": "soon", "chat": 5},
        {"copilotPlan": 7},
    ],
)
def test_a_quota_that_cannot_be_read_is_left_out(told: dict[str, Any]) -> None:
    assert read_quotas(told) == []
    assert read_plan(told) is None


# -- signing in


DEVICE = {"userCode": "ABCD-1234", "verificationUri": "https://github.com/login/device", "expiresIn": 899}


def device_flow(fake: FakeLanguageServer, done: Any, **code: Any) -> None:
    """Have the server sign in as 1.539 does: the code as a notification, `done` or its result at the end."""

    async def flow(params: Any) -> Any:
        fake.notify("signInWithDeviceFlowProgress", {**DEVICE, **code})
        if isinstance(done, asyncio.Event):
            await done.wait()
            fake.status = {"status": "OK", "user": "octocat"}
            return fake.status
        return done

    fake.on("signInWithDeviceFlow", flow)


@pytest.fixture
def signed_out(user: User) -> User:
    user.fake.status = {"status": "NotSignedIn"}
    return user


@pytest.mark.requirement("language-server:sign-in")
async def test_a_person_is_shown_the_code_and_signed_in(signed_out: User) -> None:
    user, approved = signed_out, asyncio.Event()
    device_flow(user.fake, approved)
    before = datetime.now(UTC)
    signing_in = asyncio.ensure_future(user.sign_in())
    prompt = await user.prompt()
    approved.set()

    status = await signing_in

    assert (prompt.user_code, prompt.verification_uri) == ("ABCD-1234", "https://github.com/login/device")
    assert abs(prompt.expires_at - before - timedelta(seconds=899)) < timedelta(seconds=60)
    assert prompt.interval_seconds == 5.0
    assert (status.state, status.login, status.plan) == ("signed_in", "octocat", "individual")
    changes = await user.settled()
    assert (changes[-1].state, changes[-1].plan) == ("signed_in", "individual")
    assert "signIn" not in user.fake.methods
    assert "workspace/executeCommand" not in user.fake.methods


@pytest.mark.requirement("language-server:sign-in")
async def test_an_older_server_signs_in_by_a_code_and_a_wait(signed_out: User) -> None:
    status = await signed_out.sign_in()

    assert [prompt.user_code for prompt in signed_out.prompts] == ["ABCD-1234"]
    assert signed_out.fake.params("signInConfirm") == [{"userCode": "ABCD-1234"}]
    assert (status.state, status.login) == ("signed_in", "octocat")
    # That command opens a browser of the server's own choice.
    assert "workspace/executeCommand" not in signed_out.fake.methods


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize("method", ["signInWithDeviceFlow", "signIn"])
async def test_somebody_who_is_signed_in_already_is_asked_for_nothing(user: User, method: str) -> None:
    user.fake.on(method, {"status": "AlreadySignedIn", "user": "octocat"})

    status = await user.sign_in()

    assert (user.prompts, status.state, status.login) == ([], "signed_in", "octocat")


@pytest.mark.requirement("language-server:sign-in")
async def test_a_sign_in_that_is_cancelled_is_taken_back_from_the_server(signed_out: User) -> None:
    user = signed_out
    device_flow(user.fake, asyncio.Event())
    signing_in = asyncio.ensure_future(user.sign_in())
    await user.prompt()

    signing_in.cancel()
    with pytest.raises(asyncio.CancelledError):
        await signing_in

    await user.fake.wait_for("$/cancelRequest")
    # And the next one may begin.
    user.fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})
    assert (await user.sign_in()).state == "signed_in"


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize(
    "page",
    [
        "https://github.evil.example/login/device",
        "https://github.com.evil.example/login/device",
        "https://github.com@evil.example/login/device",
        "https://github.com:444/login/device",
        "http://github.com/login/device",
        "https://github.com\\@evil.example/login/device",
        "https://github.com/login device",
        "https://[github.com/",
        "javascript:alert(1)",
        "",
        None,
        7,
    ],
)
@pytest.mark.parametrize("older", [False, True])
async def test_a_page_that_is_not_the_configured_githubs_is_never_shown(
    signed_out: User, page: Any, older: bool
) -> None:
    user = signed_out
    if older:
        user.fake.on("signIn", {**DEVICE_FLOW, "verificationUri": page})
        user.fake.on("signInConfirm", NEVER)
    else:
        device_flow(user.fake, asyncio.Event(), verificationUri=page)

    with pytest.raises(ProtocolError, match=r"is not github\.com's"):
        await user.sign_in()

    assert user.prompts == []
    if not older:
        await user.fake.wait_for("$/cancelRequest")
    assert "signInConfirm" not in user.fake.methods


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize(
    ("table", "page"),
    [
        ({"host": "acme.ghe.com"}, "https://acme.ghe.com/login/device"),
        ({"host": "https://acme.ghe.com/"}, "https://ACME.ghe.com/login/device"),
        ({"host": "127.0.0.1:8080"}, "http://127.0.0.1:8080/login/device"),
        ({"github_url": "http://127.0.0.1:8080"}, "http://127.0.0.1:8080/login/device"),
    ],
)
async def test_a_page_of_the_configured_github_is_shown_over_http_on_loopback_alone(
    fake: FakeLanguageServer, table: dict[str, Any], page: str
) -> None:
    fake.status = {"status": "NotSignedIn"}
    fake.on("signIn", {**DEVICE_FLOW, "verificationUri": page})
    user = User(fake, **table)

    await user.sign_in()
    await user.aclose()

    assert [prompt.verification_uri for prompt in user.prompts] == [page]


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize("code", [None, "", 7, "AB CD", "A" * 33, "\x1b[2J"])
async def test_a_code_that_is_none_is_never_shown(signed_out: User, code: Any) -> None:
    device_flow(signed_out.fake, asyncio.Event(), userCode=code)

    with pytest.raises(ProtocolError, match="without a code"):
        await signed_out.sign_in()
    assert signed_out.prompts == []


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize(
    "words",
    ["DeviceFlowError: The authorization request was denied.", "DeviceFlowError: This code has expired."],
)
async def test_a_sign_in_that_the_person_did_not_finish_is_told_in_the_servers_words(
    signed_out: User, older: bool, words: str
) -> None:
    if older:
        signed_out.fake.on("signInConfirm", RpcError(1001, words))
    else:
        device_flow(signed_out.fake, RpcError(1001, words))

    with pytest.raises(AuthenticationError) as caught:
        await signed_out.sign_in()

    assert words.removeprefix("DeviceFlowError: ").rstrip(".") in caught.value.message
    assert COMMAND in (caught.value.hint or "")


@pytest.mark.requirement("language-server:sign-in")
async def test_a_sign_in_that_brings_an_account_without_copilot_says_so(signed_out: User) -> None:
    device_flow(signed_out.fake, {"status": "NotAuthorized", "user": "octocat"})

    with pytest.raises(AuthorizationError, match=r"octocat at github\.com may not use Copilot"):
        await signed_out.sign_in()


@pytest.mark.requirement("language-server:sign-in")
async def test_a_second_sign_in_is_refused_while_the_first_waits(signed_out: User) -> None:
    user = signed_out
    device_flow(user.fake, asyncio.Event())
    first = asyncio.ensure_future(user.sign_in())
    await user.prompt()

    with pytest.raises(RequestError, match="under way"):
        await user.sign_in()

    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.requirement("language-server:sign-in")
async def test_of_two_sign_ins_at_the_same_moment_one_is_refused_though_the_server_still_starts(
    signed_out: User,
) -> None:
    user, approved = signed_out, asyncio.Event()
    device_flow(user.fake, approved)
    assert user.server.running is None

    both = [asyncio.ensure_future(user.sign_in()) for _ in range(2)]
    ((refused,), (accepted,)) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    approved.set()

    with pytest.raises(RequestError, match="under way"):
        await refused
    assert (await accepted).state == "signed_in"
    assert len(user.fake.params("signInWithDeviceFlow")) == 1


@pytest.mark.requirement("language-server:sign-in")
async def test_whoever_cancels_a_sign_in_may_begin_another_in_the_same_breath(signed_out: User) -> None:
    device_flow(signed_out.fake, asyncio.Event())
    first = asyncio.ensure_future(signed_out.sign_in())
    await signed_out.prompt()
    signed_out.fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})

    first.cancel()
    status = await signed_out.sign_in()

    assert status.state == "signed_in"
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.requirement("language-server:sign-in")
async def test_a_server_that_cannot_be_started_leaves_the_next_sign_in_free(
    fake: FakeLanguageServer, tmp_path: Any
) -> None:
    user = User(fake)
    command, user.server._config.command = user.server._config.command, [str(tmp_path / "nothing")]
    with pytest.raises(ChatError):
        await user.sign_in()
    user.server._config.command = command
    fake.on("signInWithDeviceFlow", {"status": "OK", "user": "octocat"})

    assert (await user.sign_in()).state == "signed_in"
    await user.aclose()


@pytest.mark.requirement("language-server:sign-in")
@pytest.mark.parametrize("is_shown", [True, False])
async def test_the_code_of_a_sign_in_given_up_a_moment_ago_does_not_stand_for_the_next_ones(
    signed_out: User, is_shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    user, approved = signed_out, asyncio.Event()

    def tell(**code: str) -> None:
        user.fake.notify("signInWithDeviceFlowProgress", {**DEVICE, **code})

    async def flow(params: Any) -> Any:
        # The first code is of the sign-in before, which was cancelled while the server fetched it.
        tell(userCode="DEAD-0000")
        if is_shown:
            await user.prompt()
        tell(userCode="GOOD-1111")
        if is_shown:
            tell(verificationUri="https://evil.test/")
        await approved.wait()
        return {"status": "OK", "user": "octocat"}

    user.fake.on("signInWithDeviceFlow", flow)
    signing_in = asyncio.ensure_future(user.sign_in())
    await user.prompt()
    await user.settled()
    approved.set()
    status = await signing_in

    assert user.prompts[-1].user_code == "GOOD-1111"
    assert {prompt.verification_uri for prompt in user.prompts} == {DEVICE["verificationUri"]}
    logged = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message for message in logged if "a second code" not in message] == []
    assert bool(logged) == is_shown
    assert status.state == "signed_in"


@pytest.mark.requirement("language-server:sign-in")
async def test_a_server_that_cannot_sign_in_at_all_says_to_update_it(signed_out: User) -> None:
    signed_out.fake.on("signIn", RpcError(METHOD_NOT_FOUND, "Method not found"))

    with pytest.raises(ProtocolError) as caught:
        await signed_out.sign_in()
    assert "Update" in (caught.value.hint or "")


@pytest.mark.requirement("language-server:sign-in", "language-server:crash")
async def test_a_server_that_dies_while_a_person_signs_in_ends_the_wait(signed_out: User) -> None:
    user = signed_out
    device_flow(user.fake, asyncio.Event())
    signing_in = asyncio.ensure_future(user.sign_in())
    await user.prompt()

    user.fake.kill()

    with pytest.raises(ProtocolError):
        await signing_in


@pytest.mark.requirement("language-server:sign-in")
async def test_a_code_that_nobody_gives_is_not_waited_for(
    signed_out: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumpseat.adapters.copilot_language_server.sign_in.CODE_SECONDS", 0.05)
    signed_out.fake.on("signInWithDeviceFlow", NEVER)

    with pytest.raises(ChatError, match="no code"):
        await signed_out.sign_in()
    await signed_out.fake.wait_for("$/cancelRequest")


@pytest.mark.requirement("language-server:sign-in")
async def test_a_server_that_forgets_its_code_does_not_keep_the_person_waiting(
    signed_out: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumpseat.adapters.copilot_language_server.sign_in.MARGIN_SECONDS", 0.0)
    device_flow(signed_out.fake, asyncio.Event(), expiresIn=0.05)

    with pytest.raises(AuthenticationError, match="has expired") as caught:
        await signed_out.sign_in()
    assert COMMAND in (caught.value.hint or "")


# -- signing out


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_out_is_the_servers_and_is_told(user: User) -> None:
    await user.status(refresh=True)
    await user.settled()

    status = await user.identity.sign_out()

    assert user.fake.params("signOut") == [{}]
    assert (status.state, status.login, status.plan) == ("signed_out", None, None)
    assert [change.state for change in await user.settled()] == ["signed_out"]


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_in_of_its_environment_stays_and_is_told(user: User) -> None:
    user.fake.on("signOut", {"status": "OK", "user": "octocat"})

    status = await user.identity.sign_out()

    assert status.state == "signed_in"
    assert "GH_COPILOT_TOKEN" in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_in_of_its_environment_that_may_not_use_copilot_stays_and_is_told(user: User) -> None:
    user.fake.on("signOut", {"status": "NotAuthorized", "user": "octocat"})

    status = await user.identity.sign_out()

    assert status.state == "not_authorized"
    assert "GH_COPILOT_TOKEN" in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_whoever_signs_out_of_a_sign_in_that_has_run_out_is_signed_out(user: User) -> None:
    user.fake.status = {"status": "NotSignedIn", "user": "octocat"}
    await user.status()
    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message="Over.", askToReSignin=True))
    await user.settled()

    status = await user.identity.sign_out()

    assert status.state == "signed_out"
    assert "run out" not in (status.message or "")


@pytest.mark.requirement("language-server:sign-out")
async def test_a_sign_out_that_fails_is_an_error(user: User) -> None:
    user.fake.on("signOut", RpcError(-32603, "The database is locked"))

    with pytest.raises(ProtocolError, match="The database is locked"):
        await user.identity.sign_out()
