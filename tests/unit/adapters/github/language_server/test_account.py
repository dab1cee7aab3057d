"""The sign-in, the plan and the quotas in a language server's responses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jumpseat.adapters.base.account import Quota
from jumpseat.adapters.github.language_server.account import read_plan, read_quotas, read_sign_in
from tests.fakes.language_server_answers import QUOTA

# -- the sign-in


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
def test_each_state_of_the_server_maps_to_one_of_ours(answer: Any, state: str, login: str | None) -> None:
    status = read_sign_in(answer)

    assert (status.state, status.login) == (state, login)


@pytest.mark.requirement("language-server:status")
def test_an_unknown_state_or_one_without_a_user_is_reported() -> None:
    assert "'Dreaming'" in read_sign_in({"status": "Dreaming"}).words
    assert "does not report an account" in read_sign_in({"status": "MaybeOK"}).words


@pytest.mark.requirement("language-server:status", "language-server:no-secrets")
def test_the_servers_message_is_shown_without_tokens() -> None:
    row = {"message": "\x1b[31mBad token gho_0123456789abcdef.", "askToReSignin": True}

    status = read_sign_in({"status": "NotSignedIn"}, row)

    assert status.state == "expired"
    assert "Bad token" in status.words
    assert "gho_0123456789abcdef" not in status.words
    assert "\x1b" not in status.words


@pytest.mark.requirement("language-server:status")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("NotSignedIn", "You are not signed into GitHub."),
        ("NotSignedIn", "Your GitHub Copilot session has expired. You have been signed out. Please sign in."),
        ("NotAuthorized", "No access to GitHub Copilot found. You are currently logged in as octocat."),
    ],
)
def test_a_message_of_the_server_that_only_repeats_the_state_is_dropped(status: str, words: str) -> None:
    assert read_sign_in({"status": status}, {"message": words}).words == ""


# -- plan and quotas


@pytest.mark.requirement("language-server:quotas")
def test_quotas_get_copilots_names_from_both_spellings() -> None:
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    requested = read_quotas(QUOTA)
    notified = read_quotas(
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

    assert requested[2] == Quota(
        name="premium_interactions",
        unlimited=False,
        percent_remaining=82.5,
        overage_permitted=False,
        reset_at=reset,
    )
    assert requested[0] == Quota(
        name="chat", unlimited=True, percent_remaining=100.0, overage_permitted=False, reset_at=reset
    )
    assert notified == [
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
def test_the_numbers_of_an_unlimited_quota_are_ignored() -> None:
    (chat,) = read_quotas({"chat": {"unlimited": True, "percentRemaining": 0, "quota": 0, "used": 12}})

    assert chat == Quota(name="chat", unlimited=True, percent_remaining=100.0)


@pytest.mark.requirement("language-server:quotas")
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"chat": None},
        {"chat": {"percentRemaining": "much"}},
        {"chat": {"percentRemaining": True}},
        {"resetDate": "soon", "chat": 5},
        {"copilotPlan": 7},
    ],
)
def test_a_malformed_quota_is_dropped(answer: dict[str, Any]) -> None:
    assert read_quotas(answer) == []
    assert read_plan(answer) is None
