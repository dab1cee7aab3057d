"""The sign-in of a language server: its notifications."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.unit.adapters.github.language_server.users import COMMAND, User, v2

# -- the sign-in


@pytest.mark.requirement("language-server:did-change")
async def test_a_notification_reports_a_change_without_a_request(user: User) -> None:
    await user.status()
    checks = len(user.fake.params("checkStatus"))

    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message="You are not signed into GitHub."))
    (out,) = await user.wait_until_settled()
    user.fake.notify("didChangeStatus/v2", v2("OK", login="hubot"))
    (back,) = await user.wait_until_settled()

    assert (out.state, out.login) == ("signed_out", None)
    reason = "The language server is not signed in to github.com."
    assert out.message == f"{reason} Run `{COMMAND}`.", (
        "the server's own message, which adds nothing, is shown"
    )
    assert (back.state, back.login, back.message) == ("signed_in", "hubot", None)
    assert len(user.fake.params("checkStatus")) == checks


@pytest.mark.requirement("language-server:did-change")
async def test_repeated_notifications_are_not_reported_and_do_not_cause_requests(user: User) -> None:
    def answer(params: Any) -> Any:
        user.fake.notify("statusNotification", {"kind": "Normal", "status": "Normal", "busy": False})
        user.fake.notify("didChangeStatus", {"kind": "Normal", "busy": False})
        user.fake.notify("didChangeStatus/v2", v2("MaybeOK", login="octocat"))
        return {"status": "MaybeOK", "user": "octocat"}

    user.fake.on("checkStatus", answer)

    await user.status()
    await user.status()

    assert await user.wait_until_settled() == []
    assert len(user.fake.params("checkStatus")) == 2


@pytest.mark.requirement("language-server:did-change")
async def test_an_expired_sign_in_is_reported_and_stays_expired(user: User) -> None:
    await user.status()
    words = "The organization has revoked the token."
    user.fake.status = {"status": "NotSignedIn", "user": "octocat"}

    user.fake.notify("didChangeStatus/v2", v2("NotSignedIn", message=words, askToReSignin=True))
    (expired,) = await user.wait_until_settled()

    assert expired.state == "expired"
    assert words in (expired.message or "")
    assert (await user.status()).state == "expired"


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
async def test_an_unrelated_notification_is_ignored(
    user: User, caplog: pytest.LogCaptureFixture, params: Any
) -> None:
    before = await user.status()
    user.fake.notify("didChangeStatus/v2", params)

    assert await user.wait_until_settled() == []
    assert await user.status() == before
    # A handler that failed would have logged a warning.
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.requirement("language-server:did-change")
@pytest.mark.parametrize("method", ["didChangeStatus", "statusNotification"])
async def test_an_older_servers_notification_causes_a_check_of_the_sign_in(user: User, method: str) -> None:
    await user.status()
    user.fake.status = {"status": "NotSignedIn"}

    key = "kind" if method == "didChangeStatus" else "status"
    user.fake.notify(method, {key: "Error", "message": "You are not signed into GitHub.", "busy": False})

    assert (await user.change()).state == "signed_out"
    checks = len(user.fake.params("checkStatus"))
    # A repeated notification is not a change, and progress is not a change either.
    user.fake.notify(method, {key: "Error", "message": "You are not signed into GitHub.", "busy": False})
    user.fake.notify(method, {key: "InProgress", "busy": True})
    assert await user.wait_until_settled() == []
    # If these notifications caused a check, it would have arrived by now.
    assert await user.wait_until_settled() == []
    assert len(user.fake.params("checkStatus")) == checks


@pytest.mark.requirement("language-server:quotas", "language-server:did-change")
async def test_a_quota_that_crosses_a_threshold_is_reported_once(user: User) -> None:
    await user.status(refresh=True)
    await user.wait_until_settled()

    def change(percent: float) -> dict[str, Any]:
        premium = {"percentRemaining": percent, "unlimited": False, "quota": 300, "used": 300 - 3 * percent}
        return {"premium_interactions": premium, "copilotPlan": "individual"}

    for percent in (50, 19, 18):
        user.fake.notify("copilot/quotaChange", change(percent))
    (crossed,) = await user.wait_until_settled()

    (premium,) = (quota for quota in crossed.quotas or () if quota.name == "premium_interactions")
    assert (premium.percent_remaining, premium.entitlement, premium.remaining) == (19.0, 300.0, 57.0)
    assert next(quota.name for quota in crossed.quotas or ()) == "chat", (
        "a quota that the change omits was lost"
    )


@pytest.mark.requirement("language-server:quotas")
async def test_a_changed_user_drops_the_plan_and_quotas_of_the_previous_user(user: User) -> None:
    await user.status(refresh=True)
    user.fake.notify("didChangeStatus/v2", v2("OK", login="hubot"))
    await user.wait_until_settled()

    status = await user.status()

    # The fake server still answers checks with octocat, whose plan is no longer known.
    assert (status.login, status.plan, status.quotas) == ("octocat", None, None)
