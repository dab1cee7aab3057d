"""The sign-in of a language server: its status on request, and the check before a chat."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from jumpseat.adapters.base.account import AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError
from jumpseat.wire import RpcError
from tests.attempts import assert_quick
from tests.fakes.language_server import NEVER, WAIT_SECONDS, FakeLanguageServer
from tests.unit.adapters.github.language_server.users import COMMAND, User, Users


@pytest.fixture
def opened(fake: FakeLanguageServer) -> asyncio.Event:
    """Make the server wait for the event before it answers that a user is signed in."""
    event = asyncio.Event()

    async def when_opened(params: Any) -> Any:
        await event.wait()
        return {"status": "OK", "user": "octocat"}

    fake.on("checkStatus", when_opened)
    return event


# -- the status


@pytest.mark.requirement("language-server:status")
async def test_a_signed_in_user_is_reported_with_host_and_source(user: User) -> None:
    status = await user.status()

    assert status == AuthStatus(
        provider="cls", state="signed_in", login="octocat", host="github.com", source="language server"
    )
    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}]
    assert "checkQuota" not in user.fake.methods


@pytest.mark.requirement("language-server:status-lazy")
async def test_a_status_without_refresh_makes_only_local_checks(user: User) -> None:
    await user.status()
    await user.status()

    assert user.fake.params("checkStatus") == [{"options": {"localChecksOnly": True}}] * 2
    assert len(user.fake.starts) == 1


@pytest.mark.requirement("language-server:status", "language-server:quotas")
async def test_a_refresh_checks_the_sign_in_and_fetches_plan_and_quotas(user: User) -> None:
    status = await user.status(refresh=True)

    assert user.fake.params("checkStatus") == [{"options": {"forceRefresh": True}}]
    assert (status.state, status.plan) == ("signed_in", "individual")
    assert [quota.name for quota in status.quotas or ()] == ["chat", "completions", "premium_interactions"]
    # The next status still has the plan.
    assert (await user.status()).plan == "individual"


@pytest.mark.requirement("language-server:status", "language-server:quotas")
async def test_an_unknown_plan_does_not_change_the_sign_in(user: User) -> None:
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
async def test_a_failed_refresh_keeps_the_last_status_and_reports_why(user: User) -> None:
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
async def test_a_missing_server_is_signed_out_with_the_command_that_installs_it(
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
    assert len(fake.params("checkStatus")) == 1, "a second request was sent instead of waiting for the first"


@pytest.mark.requirement("language-server:status-silence")
async def test_only_the_first_status_waits_for_a_silent_server(
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

    # All ten together take less time than waiting for one.
    await assert_quick(seconds_until_ten_are_reported, within=1.0)
    await user.aclose()

    assert len(fake.params("checkStatus")) == 1


@pytest.mark.requirement("language-server:status-silence")
async def test_a_status_waits_again_for_a_server_that_has_answered(
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
async def test_creating_and_closing_an_identity_does_not_start_the_server(
    fake: FakeLanguageServer, user: User
) -> None:
    await user.aclose()

    assert fake.starts == []


@pytest.mark.requirement("language-server:status-silence")
async def test_closing_ends_a_pending_status(user: User) -> None:
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
        ({"status": "MaybeOK"}, AuthenticationError, "does not report an account"),
        ({"status": "FailedToGetToken"}, AuthenticationError, "has expired"),
        ({"status": "NotAuthorized", "user": "octocat"}, AuthorizationError, "may not use Copilot"),
    ],
)
async def test_a_chat_without_a_sign_in_is_refused_with_a_hint(
    user: User, status: dict[str, Any], kind: type[ChatError], words: str
) -> None:
    user.fake.status = status

    with pytest.raises(AuthenticationError, match=words) as caught:
        await user.require()

    assert type(caught.value) is kind
    assert f"`{COMMAND}`" in (caught.value.hint or "")
    assert caught.value.provider == "cls"


@pytest.mark.requirement("language-server:not-ready")
async def test_a_failed_sign_in_is_checked_again_before_a_chat_is_refused(user: User) -> None:
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
async def test_a_local_check_does_not_override_githubs_refusal(user: User) -> None:
    user.fake.on(
        "checkStatus",
        {"status": "NotAuthorized", "user": "octocat"},
        {"status": "MaybeOK", "user": "octocat"},
        {"status": "MaybeOK", "user": "hubot"},
    )
    await user.status(refresh=True)

    assert (await user.status()).state == "not_authorized"
    assert (await user.status()).state == "signed_in", "the refusal of octocat was applied to hubot"


@pytest.mark.requirement("language-server:not-ready")
async def test_a_failed_check_does_not_refuse_a_chat(user: User) -> None:
    user.fake.on("checkStatus", RpcError(-32603, "getaddrinfo ENOTFOUND"))

    await user.require()

    assert "checkStatus" in user.fake.methods


@pytest.mark.requirement("language-server:not-ready", "language-server:restart")
async def test_a_restarted_server_is_checked_again(user: User) -> None:
    await user.require()
    user.fake.kill()
    await user.fake.current.wait_until_ended()
    first = user.server.running_connection
    if first is not None:
        await first.wait_until_ended()
    user.fake.status = {"status": "NotSignedIn"}

    with pytest.raises(AuthenticationError):
        await user.require()
    assert len(user.fake.starts) == 2
