"""GitHub's refusals: their errors and hints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumpseat.adapters.github.errors import (
    ExchangeClosedError,
    error_from_github,
    exchange_error,
    not_signed_in_error,
)
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    RateLimitError,
    ServerError,
)
from jumpseat.http import HttpAnswer

HOSTS = github_hosts(provider="copilot")
SIGN_UP = "https://github.com/github-copilot/signup?editor={EDITOR}"

NO_SEAT_IDS = (
    "no_copilot_access", "not_signed_up", "subscription_ended", "expired_coupon", "revoked_coupon",
    "enterprise_managed_user_account", "feature_flag_blocked", "billing_locked", "trade_restricted",
    "trade_restricted_country", "codespaces_demo_inactive", "snippy_not_configured", "spammy_user",
    "access_revoked", "go_http_client", "programmatic_token_generation", "something_new",
)  # fmt: skip


def error(status: int, body: Any, host: str = "github.com", **headers: str) -> ChatError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = HttpAnswer(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)
    hosts = github_hosts(host, provider="copilot")
    return error_from_github(answer, hosts, url=f"{hosts.api}/x", source="gh")


def no_seat(notification: str, **details: Any) -> dict[str, Any]:
    return {
        "can_signup_for_limited": False,
        "error_details": {
            "url": SIGN_UP,
            "message": "No access to GitHub Copilot found. You are currently logged in as octocat.",
            "title": "Signup for GitHub Copilot",
            "notification_id": notification,
            **details,
        },
        "message": "Resource not accessible by integration",
    }


@pytest.mark.requirement("8:sign-in-errors")
def test_the_hint_of_bad_credentials_is_a_new_sign_in() -> None:
    body = {
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    }

    found = error(401, body, x_github_request_id="AB:12")

    assert type(found) is AuthenticationError
    assert "gh" in found.message
    assert "jumpseat login" in (found.hint or "")
    assert (found.status_code, found.provider, found.provider_request_id) == (401, "copilot", "AB:12")


@pytest.mark.requirement("8:sign-in-errors")
@pytest.mark.parametrize("notification", NO_SEAT_IDS)
def test_each_reason_for_no_access_has_a_hint_and_githubs_page(notification: str) -> None:
    found = error(403, no_seat(notification))

    assert type(found) is AuthorizationError
    assert found.message.startswith("No access to GitHub Copilot found.")
    assert found.provider_code == notification
    assert found.hint is not None
    assert "https://github.com/github-copilot/signup?editor=jumpseat" in found.hint
    assert "{" not in found.hint
    assert not found.retryable


def test_the_reasons_have_different_hints() -> None:
    hints = {error(403, no_seat(notification)).hint for notification in NO_SEAT_IDS}

    assert len(hints) >= 10  # Some related reasons share a hint.


@pytest.mark.requirement("8:sign-in-errors")
def test_a_failure_of_github_is_retryable() -> None:
    found = error(403, no_seat("server_error"))

    assert type(found) is ServerError
    assert found.retryable


@pytest.mark.requirement("8:sign-in-errors")
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "http://github.com/x",
        "https://github.com@evil.example",
        "javascript:x",
        7,
        None,
    ],
)
def test_a_page_on_another_host_is_not_shown(url: object) -> None:
    found = error(403, no_seat("no_copilot_access", url=url))

    assert "evil" not in f"{found.message}{found.hint}"
    assert "page about it" not in (found.hint or "")


def test_a_tenant_is_not_sent_to_the_public_sign_up_page() -> None:
    found = error(403, no_seat("no_copilot_access"), host="acme.ghe.com")

    assert "https://github.com" not in (found.hint or "")
    assert "https://acme.ghe.com" in (found.hint or "")


@pytest.mark.requirement("8:sign-in-errors")
@pytest.mark.parametrize("status", [403, 429])
def test_a_rate_limit_of_the_rest_api_is_not_a_lack_of_access(status: int) -> None:
    found = error(status, {"message": "API rate limit exceeded for user ID 1234."}, retry_after="7")

    assert type(found) is RateLimitError
    assert (found.retry_after, found.retryable) == (7.0, True)


@pytest.mark.requirement("8:token-kinds")
@pytest.mark.parametrize(
    ("status", "body", "closed"),
    [
        (404, {"message": "Not Found"}, True),
        (403, {"message": "Resource not accessible by personal access token"}, True),
        (403, no_seat("no_copilot_access"), False),
        (401, {"message": "Bad credentials"}, False),
        (403, "text", False),
    ],
)
def test_only_a_refused_kind_of_token_closes_the_exchange(status: int, body: Any, closed: bool) -> None:
    answer = HttpAnswer(status, {}, json.dumps(body).encode())
    url = f"{HOSTS.api}/x"
    found = exchange_error(answer, HOSTS, url=url, source="gh")
    general = error_from_github(answer, HOSTS, url=url, source="gh")

    assert isinstance(found, ExchangeClosedError) is closed
    assert (found.message, found.hint) == (general.message, general.hint)
    assert isinstance(found, type(general))


@pytest.mark.parametrize(
    ("status", "kind"),
    [(403, AuthorizationError), (404, AuthorizationError), (500, ServerError), (503, ServerError)],
)
def test_a_page_of_html_is_never_shown(status: int, kind: type[ChatError]) -> None:
    found = error(status, b"<!DOCTYPE html><title>Unicorn!</title>")

    assert type(found) is kind
    assert "<" not in found.message
    assert found.message.endswith(".")


def test_githubs_message_is_sanitized() -> None:
    details = {"message": "Pay\x1b]0;evil\x07 <b>now</b>\nor never " + "x" * 900}

    found = error(403, no_seat("billing_locked", **details))

    assert found.message.startswith("Pay now or never")
    assert len(found.message) < 300
    assert "\x1b" not in found.message


@pytest.mark.parametrize("details", [{"error_details": "text"}, {"error_details": []}, {}])
def test_a_refusal_without_details_has_a_hint(details: dict[str, Any]) -> None:
    found = error(403, {"message": "Resource not accessible by integration", **details})

    assert type(found) is AuthorizationError
    assert "settings/copilot" in (found.hint or "")


def test_a_missing_sign_in_is_an_error_with_a_hint() -> None:
    found = not_signed_in_error(HOSTS, ["A note.", "Another."])

    assert found.message == "No account is signed in to github.com. A note. Another."
    assert "jumpseat login" in (found.hint or "")
