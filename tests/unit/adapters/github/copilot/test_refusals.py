"""Copilot's refusals by status, code and message: their errors and hints."""

from __future__ import annotations

import json

import pytest

from jumpseat.adapters.github.copilot.refusals import AccountDeniedError, RefusalContext, explain, find_cure
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ConfigError,
    ContentFilterError,
    ContextExceededError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
    UnknownModelError,
)
from jumpseat.dialects import read_fault
from jumpseat.http import error_from_response

CONTEXT = RefusalContext(provider="copilot", model="m", site="https://github.com", fallback="gpt-4.1")


def refusal(status, body, **headers):
    """Return the fault and the general error from the HTTP layer, with a misleading content type."""
    raw = body.encode() if isinstance(body, str) else json.dumps({"error": body}).encode()
    sent = {"content-type": "text/plain; charset=utf-8", **headers}
    return read_fault(raw), error_from_response(
        status, sent, raw, provider="copilot", url="https://api.githubcopilot.com/x"
    )


CASES = [
    (401, "unauthorized: AuthenticateToken authentication failed\n", AuthenticationError, "login"),
    (
        401,
        "unauthorized: Personal Access Token does not have Copilot Requests permission",
        AuthenticationError,
        '"Copilot Requests"',
    ),
    (
        400,
        "checking third-party user token: bad request: Personal Access Tokens are not supported for this "
        "endpoint",
        AuthenticationError,
        '"Copilot Requests"',
    ),
    (402, {"message": "You have no quota", "code": "quota_exceeded"}, QuotaExceededError, "copilot:gpt-4.1"),
    (402, "quota exceeded\n", QuotaExceededError, "billing"),
    (429, {"message": "x", "code": "overage_limit_reached"}, QuotaExceededError, "billing"),
    (403, "unauthorized: not authorized to use this Copilot feature\n", AccountDeniedError, "seat"),
    (403, "forbidden: access denied\n", AuthorizationError, "settings/copilot"),
    (
        403,
        "Access to this endpoint is forbidden. Please review our [Terms of Service](https://docs.github.com/x).",
        AccountDeniedError,
        "Support",
    ),
    (
        403,
        "You are not authorized to use this Copilot feature, it requires an enterprise or organization "
        "policy to be enabled.",
        AuthorizationError,
        "administrator",
    ),
    (403, {"message": "API rate limit exceeded for user ID 1", "code": ""}, RateLimitError, "Wait"),
    (429, {"message": "rate limit exceeded", "code": "rate_limited"}, RateLimitError, "Wait"),
    (429, {"message": "x", "code": "user_model_rate_limited:pro_plus"}, RateLimitError, "Another model"),
    (429, {"message": "x", "code": "user_weekly_rate_limited"}, RateLimitError, "week"),
    (429, {"message": "x", "code": "integration_rate_limited"}, RateLimitError, "share the limit"),
    (422, "filtered by the responsible AI service\n", ContentFilterError, "wording"),
    (
        400,
        {"message": "prompt token count of 138898 exceeds the limit of 64000", "code": ""},
        ContextExceededError,
        "remove parts",
    ),
    (400, {"message": "x", "code": "model_max_prompt_tokens_exceeded"}, ContextExceededError, "remove"),
    (400, {"message": "The requested model is not supported.", "code": "model_not_supported"},
     UnknownModelError, "jumpseat models"),
    (400, {"message": "x", "code": "model_not_available_for_integrator"}, RequestError, "integration_id"),
    (400, "bad request: unknown Editor-Version header for IDE auth", ConfigError, "editor_version"),
    (413, {"message": "failed to parse request", "code": ""}, RequestError, "Send fewer"),
    (466, "client too old", RequestError, "Update"),
]  # fmt: skip


@pytest.mark.requirement("copilot:errors")
@pytest.mark.parametrize(("status", "body", "kind", "hint"), CASES)
def test_each_refusal_has_its_class_and_hint(status, body, kind, hint):
    fault, error = refusal(status, body)

    explanation = explain(fault, error, CONTEXT)

    assert type(explanation) is kind
    assert hint in (explanation.hint or "")
    assert explanation.status_code == status
    assert explanation.provider == "copilot"
    assert explanation.message.endswith((".", "!", "?", "…"))
    assert explanation.retryable == (kind is RateLimitError)


@pytest.mark.requirement("copilot:terms-not-accepted")
def test_a_model_with_unaccepted_terms_is_refused_with_the_command_that_accepts_them():
    fault, error = refusal(
        400, {"message": "The requested model is not supported.", "code": "model_not_supported"}
    )
    plans = " Plans that include it: pro, max."
    context = RefusalContext(
        provider="copilot", model="m", site="https://acme.ghe.com", policy="disabled", plans=plans
    )

    explanation = explain(fault, error, context)

    assert type(explanation) is AuthorizationError
    assert explanation.hint.endswith(plans)
    assert "jumpseat accept-terms copilot:m" in explanation.hint
    assert "https://acme.ghe.com/settings/copilot" in explanation.hint


@pytest.mark.requirement("copilot:errors")
def test_a_refusal_outside_a_chat_does_not_name_a_model():
    words = "You are not authorized to use this Copilot feature, it requires a policy to be enabled."
    error = explain(*refusal(403, words), RefusalContext(provider="copilot", site="https://github.com"))

    assert isinstance(error, AuthorizationError)
    assert "accept-terms" not in error.hint
    assert "administrator" in error.hint
    assert "None" not in f"{error.message} {error.hint}"


def test_a_redirect_names_the_key_to_configure():
    error = explain(*refusal(302, "", location="https://elsewhere.example/models"), CONTEXT)

    assert "providers.copilot.copilot_url" in error.hint
    assert "elsewhere.example" in error.message


def test_a_host_of_another_plan_is_reported_as_such():
    error = explain(*refusal(421, "Misdirected Request\n"), CONTEXT)

    assert error.message == ("copilot says that this account is served by another host: Misdirected Request.")
    assert error.retryable
    assert "copilot_url" in error.hint


def test_the_delay_and_the_id_of_a_refusal_are_kept():
    fault, error = refusal(
        429, {"message": "x", "code": "rate_limited"}, **{"retry-after": "7", "x-request-id": "abc"}
    )

    explanation = explain(fault, error, CONTEXT)

    assert (explanation.retry_after, explanation.provider_request_id, explanation.provider_code) == (
        7,
        "abc",
        "rate_limited",
    )


def test_a_used_up_model_is_not_proposed_as_its_own_fallback():
    fault, error = refusal(402, {"message": "x", "code": "quota_exceeded"})
    context = RefusalContext(
        provider="copilot", model="gpt-4.1", site="https://github.com", fallback="gpt-4.1"
    )

    assert "gpt-4.1" not in explain(fault, error, context).hint


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_failure_of_the_service_is_not_changed(status):
    fault, error = refusal(status, "<html>oops</html>")

    assert explain(fault, error, CONTEXT) is error
    assert isinstance(error, ServerError)


@pytest.mark.requirement("copilot:cures")
@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, "IDE token expired: unauthorized: token expired\n", "expired_token"),
        (421, "Misdirected Request", "wrong_host"),
        (400, {"message": "x", "code": "unsupported_api_for_model"}, "wrong_endpoint"),
        (
            400,
            {
                "message": "model gpt-5.3-codex is not accessible via the /chat/completions endpoint",
                "code": "",
            },
            "wrong_endpoint",
        ),
        (
            400,
            {"message": "input item ID does not belong to this connection", "code": ""},
            "unknown_item_ids",
        ),
        (400, {"message": "something else", "code": "invalid_request_body"}, None),
        (402, "quota exceeded\n", None),
        (403, "forbidden: access denied\n", None),
        (429, {"message": "x", "code": "rate_limited"}, None),
    ],
)
def test_only_refusals_that_a_changed_request_fixes_have_a_cure(status, body, expected):
    assert find_cure(*refusal(status, body)) == expected
