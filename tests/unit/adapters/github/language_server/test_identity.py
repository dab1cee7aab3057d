"""Who is signed in to a language server: what it answers when it is asked, and before a chat."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from jumpseat.adapters.base.account import AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError
from jumpseat.wire import RpcError
from tests.attempts import is_quick
from tests.fakes.language_server import NEVER, WAIT_SECONDS, FakeLanguageServer
from tests.unit.adapters.github.language_server.users import COMMAND, User, Users


@pytest.fixture
def opened(fake: FakeLanguageServer) -> asyncio.Event:
    """Have the server keep its answer about the sign-in, a good one, until this is set."""
    event = asyncio.Event()

    async def when_opened(params: Any) -> Any:
        await event.wait()
        return {"status": "OK", "user": "octocat"}

    fake.on("checkStatus", when_opened)
    return event


# -- what it answers


@pytest.mark.requirement("language-server:status")
async def test_a_signed_in_user_is_reported_with_host_and_source(user: User) -> None:
    status = await user.status()

    assert status == AuthStatus(
        provider="cls", state="signed_in", login="octocat", host="github.com", source="language server"
    )
    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}]
    assert "checkQuota" not in user.fake.methods


@pytest.mark.requirement("language-server:status-lazy")
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
async def test_the_signed_out_state_says_how_to_sign_in(user: User) -> None:
    user.fake.status = {"status": "NotSignedIn"}

    for status in (await user.status(), await user.status(refresh=True)):
        assert (status.state, status.login, status.source) == ("signed_out", None, None)
        assert COMMAND in (status.message or "")
    assert "checkQuota" not in user.fake.methods


@pytest.mark.requirement("language-server:status")
async def test_an_account_without_copilot_is_reported_with_its_name(user: User) -> None:
    user.fake.status = {"status": "NotAuthorized", "user": "octocat"}

    status = await user.status()

    assert (status.state, status.login, status.chat_enabled) == ("not_authorized", "octocat", False)
    assert "octocat at github.com may not use Copilot." in (status.message or "")


@pytest.mark.requirement("language-server:status-silence")
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
    users: Users, tmp_path: Any
) -> None:
    status = await users.make(command=[str(tmp_path / "nothing")]).status()

    assert status.state == "signed_out"
    assert "npm install -g @github/copilot-language-server" in (status.message or "")


@pytest.mark.requirement("language-server:status-silence")
async def test_a_server_that_does_not_answer_in_time_is_signed_out_until_it_does(
    fake: FakeLanguageServer, users: Users, opened: asyncio.Event
) -> None:
    user = users.make(status_seconds=0.05)

    status = await user.status()
    await fake.wait_for("checkStatus")
    opened.set()
    later = await user.change()
    await user.aclose()

    assert status.state == "signed_out"
    assert (status.message or "").startswith("The language server has not answered within 0.05 s")
    assert (later.state, later.login) == ("signed_in", "octocat")
    assert len(fake.params("checkStatus")) == 1, "the first request goes on; no second one is sent"


@pytest.mark.requirement("language-server:status-silence")
async def test_a_server_that_stays_silent_is_waited_for_once_and_not_by_each_who_asks(
    fake: FakeLanguageServer, users: Users
) -> None:
    fake.on("checkStatus", NEVER)
    user = users.make(status_seconds=1.0)
    await user.status()
    await fake.wait_for("checkStatus")

    async def seconds_until_ten_are_reported() -> float:
        began = asyncio.get_running_loop().time()
        statuses = [await user.status() for _ in range(10)]
        assert {status.state for status in statuses} == {"signed_out"}
        return asyncio.get_running_loop().time() - began

    # It is less than one of them would wait.
    await is_quick(seconds_until_ten_are_reported, within=1.0)
    await user.aclose()

    assert len(fake.params("checkStatus")) == 1


@pytest.mark.requirement("language-server:status-silence")
async def test_a_server_that_was_silent_once_is_waited_for_again_at_the_next_request(
    fake: FakeLanguageServer, users: Users, opened: asyncio.Event
) -> None:
    user = users.make(status_seconds=0.05)
    await user.status()
    opened.set()
    await user.change()
    user.identity._status_seconds = WAIT_SECONDS

    status = await user.status()

    assert (status.state, status.message) == ("signed_in", None)
    assert len(fake.params("checkStatus")) == 2


@pytest.mark.requirement("language-server:status-lazy")
async def test_the_constructor_starts_nothing_and_closing_what_never_ran_starts_nothing(
    fake: FakeLanguageServer, user: User
) -> None:
    await user.aclose()

    assert fake.starts == []


@pytest.mark.requirement("language-server:status-silence")
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
async def test_a_chat_asks_once_for_the_sign_in(user: User) -> None:
    await user.require()
    await user.require()

    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}]


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ({"status": "NotSignedIn"}, AuthenticationError, "not signed in to github.com"),
        ({"status": "MaybeOK"}, AuthenticationError, "cannot say who is signed in"),
        ({"status": "FailedToGetToken"}, AuthenticationError, "has expired"),
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
    assert (await user.status()).state == "signed_in", "another user is signed in now"


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
