"""The conversion of the Copilot language server's errors to jumpseat errors, with their hints."""

from datetime import UTC, datetime

import pytest

from jumpseat.adapters.github.language_server.errors import is_cut_off, request_error, turn_error
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
)
from jumpseat.wire import RpcError

IDS = " Request ID: e7f3-1 | GitHub Request ID: 2623:1106:BBCD:1B72"
LOGIN = "`jumpseat login helper`"
UPDATE = "`npm install -g @github/copilot-language-server@latest`"
WRAPPED = "Sorry, an error occurred while generating a response. Details: "

REFUSED = [
    (1000, "Not authenticated: NotSignedIn", AuthenticationError, LOGIN),
    (1003, "No GitHub token", AuthenticationError, LOGIN),
    (1001, "Could not log in with device flow", AuthenticationError, LOGIN),
    (1004, "Code flow failed", AuthenticationError, LOGIN),
    (1005, "No browser available", AuthenticationError, LOGIN),
    (1006, "Environment variables conflict", AuthenticationError, LOGIN),
    (1002, "No access to Copilot", AuthorizationError, "seat"),
    (1000, "Not authenticated: No access to GitHub Copilot found", AuthorizationError, "seat"),
    (
        -32603,
        "Request conversation/create failed with message: HTTP 403 Forbidden",
        AuthorizationError,
        "settings",
    ),
    (-32603, "Not signed in", AuthenticationError, LOGIN),
    (
        -32603,
        "Request conversation/create failed with message: A model id is required",
        RequestError,
        "jumpseat models --provider helper",
    ),
    (
        -32603,
        "Request x failed with message: failed: monthly free code completions exhausted",
        QuotaExceededError,
        "budget",
    ),
    (-32603, "failed: token expired or invalid: 401", AuthenticationError, LOGIN),
    (-32603, "failed: token expired or invalid: 403", AuthorizationError, "settings"),
    (
        -32603,
        "failed: client not supported: client version is too old",
        RequestError,
        UPDATE,
    ),
    (-32603, "failed: unhandled status from server: 500 <html>oh</html>", ServerError, None),
    (-32603, "terminated", ConnectionError, "proxy"),
    (-32601, "Method not found: x/y", ProtocolError, UPDATE),
    (-32603, "It is a mystery", ProtocolError, None),
    (1007, "No GitHub repository", ProtocolError, None),
]


@pytest.mark.requirement("language-server:errors")
@pytest.mark.parametrize(("code", "words", "kind", "hint"), REFUSED)
def test_a_refused_request_gets_its_kind_message_and_hint(code, words, kind, hint):
    error = request_error(RpcError(code, words), provider="helper")

    assert type(error) is kind
    assert error.provider == "helper"
    assert error.provider_code == str(code)
    assert (hint in error.hint) if hint else error.hint is None
    assert "<html>" not in error.message
    assert "failed with message" not in error.message


def test_nested_wrappings_of_a_message_are_removed():
    text = "Request x/y failed with message: failed: monthly free code completions exhausted"

    error = request_error(RpcError(-32603, text), provider="h")

    assert error.message == "The allowance of h is used up: monthly free code completions exhausted."


def test_a_request_that_the_server_does_not_retry_yet_reports_why_it_failed():
    error = request_error(RpcError(-32603, "Throttled: connect ECONNREFUSED 127.0.0.1:1"), provider="h")

    assert error.message == "The connection of h to its service failed: connect ECONNREFUSED 127.0.0.1:1."


def test_the_message_of_a_failed_sign_in_is_kept():
    error = request_error(
        RpcError(1001, "Could not log in with device flow on https://x.ghe.com"), provider="h"
    )

    assert error.message == "h could not sign in: Could not log in with device flow on https://x.ghe.com."


@pytest.mark.requirement("language-server:errors", "language-server:sign-in-failures")
@pytest.mark.parametrize(
    ("code", "words", "hint"),
    [
        (
            1001,
            "Could not log in with device flow on https://x.test/: connect ECONNREFUSED",
            "providers.h.proxy",
        ),
        (1006, "Environment variable GH_COPILOT_TOKEN provides a token that is not valid.", "environment"),
        (1001, "The authorization request was denied.", "Run `jumpseat login h` again."),
    ],
)
def test_the_hint_of_a_failed_sign_in_matches_its_cause(code, words, hint):
    error = request_error(RpcError(code, words), provider="h")

    assert hint in error.hint
    assert ("jumpseat login" in error.hint) == ("denied" in words)


def test_a_refusal_does_not_report_the_missing_sign_in_twice():
    error = request_error(RpcError(1000, "Not authenticated: The token was revoked."), provider="h")

    assert error.message == "h is not signed in: The token was revoked."


ENDED = [
    ({"message": f"You've reached your monthly quota.{IDS}", "code": 402}, QuotaExceededError, 402, "budget"),
    (
        {"message": "Oops, the model is not supported.", "code": 400, "reason": "model_not_supported"},
        RequestError,
        400,
        "jumpseat models --provider helper",
    ),
    (
        {"message": "Oops.", "code": 400, "reason": "model_max_prompt_tokens_exceeded"},
        ContextExceededError,
        400,
        "Start a new conversation",
    ),
    (
        {"message": "Oops, the token limit exceeded. Try to shorten it."},
        ContextExceededError,
        None,
        "Start a new conversation",
    ),
    ({"message": "Sorry, your request was rate-limited.", "code": 429}, RateLimitError, 429, "Wait"),
    ({"message": "You've hit your session rate limit."}, RateLimitError, None, "Wait"),
    (
        {"message": f"{WRAPPED}token expired or invalid: 403{IDS}", "code": 403},
        AuthorizationError,
        403,
        "settings",
    ),
    (
        {"message": f"Oops, you are not authorized. Please sign in.{IDS}", "code": 401},
        AuthenticationError,
        401,
        LOGIN,
    ),
    (
        {"message": "Failed to get copilot token due to 401 status. Please sign out and try again."},
        AuthenticationError,
        None,
        LOGIN,
    ),
    ({"message": "Authorization required"}, AuthorizationError, None, "settings"),
    (
        {"message": f"{WRAPPED}Response was filtered by the Responsible AI Service{IDS}", "code": 422},
        ContentFilterError,
        422,
        "wording",
    ),
    (
        {"message": "Oops, your response got filtered.", "responseIsFiltered": True},
        ContentFilterError,
        None,
        "wording",
    ),
    (
        {"message": f"Oops, your plugin is out of date. Please update it.{IDS}", "code": 466},
        RequestError,
        466,
        UPDATE,
    ),
    ({"message": f"Oops, your request is too large.{IDS}", "code": 413}, RequestError, 413, None),
    ({"message": "Oops, the service is currently unavailable.", "code": 503}, ServerError, 503, None),
    ({"message": f"{WRAPPED}unhandled status from server: 502 <html>no</html>{IDS}"}, ServerError, 502, None),
    ({"message": "Unknown server side error occurred. Please try again."}, ServerError, None, None),
    ({"message": "Error on conversation request: terminated"}, ConnectionError, None, "proxy"),
    ({"message": "getaddrinfo ENOTFOUND api.githubcopilot.com", "code": -1}, ConnectionError, None, "proxy"),
    (
        {"message": "No model configuration found for id 'x'.", "code": -1},
        RequestError,
        None,
        "jumpseat models",
    ),
    ({"message": "Oops, unexpected end of stream.", "responseIsIncomplete": True}, ProtocolError, None, None),
    ({"message": "Oops, no choices received from the server."}, ProtocolError, None, None),
    ({"message": "Something new", "code": 10000}, ProtocolError, None, None),
    (
        {"message": "No.", "reason": "model_max_prompt_tokens_exceeded"},
        ContextExceededError,
        None,
        "Start a new conversation",
    ),
    ({"message": "No.", "reason": "model_not_supported"}, RequestError, None, "jumpseat models"),
    ({"message": "No.", "responseIsFiltered": True}, ContentFilterError, None, "wording"),
    ({"message": "No.", "code": 466}, RequestError, 466, UPDATE),
    ({"message": "No.", "code": 7}, ProtocolError, None, None),
    ({}, ProtocolError, None, None),
    ({"message": 7, "code": "7", "reason": []}, ProtocolError, None, None),
]


@pytest.mark.requirement("language-server:errors-of-turns")
@pytest.mark.parametrize(("raw", "kind", "status", "hint"), ENDED)
def test_the_error_of_a_turn_gets_its_kind_status_and_hint(raw, kind, status, hint):
    error = turn_error(raw, provider="helper", model="m")

    assert type(error) is kind
    assert (error.provider, error.status_code) == ("helper", status)
    assert (hint in error.hint) if hint else error.hint is None
    assert error.message[-1] in ".!?"
    for noise in ("Oops", "Sorry, an error", "Request ID", "<html>"):
        assert noise not in error.message


@pytest.mark.requirement("language-server:errors")
def test_an_unknown_error_keeps_the_servers_message_without_its_request_id():
    error = turn_error({"message": f"Oops, something new.{IDS}"}, provider="helper")

    assert error.message == "helper could not finish the answer: something new."
    assert error.provider_request_id == "2623:1106:BBCD:1B72"
    assert (
        turn_error({"message": "Oops. Request ID: only-one"}, provider="h").provider_request_id == "only-one"
    )


def test_the_message_is_read_from_the_json_of_a_refusal():
    body = '{"error":{"code":"invalid_request_body","message":"whatever"}}'
    raw = {"message": f"{WRAPPED}unhandled status from server: 400 {body}\n{IDS}", "code": 400}

    error = turn_error(raw, provider="helper")

    assert error.message == "helper refused the request: whatever."


@pytest.mark.requirement("language-server:limits")
def test_a_rate_limit_has_its_wait_and_its_reset_time():
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    link = " [Learn More](https://aka.ms/x)"
    raw = {"message": f"You've reached your weekly rate limit.{link}{IDS}", "code": 429}

    waiting = turn_error(raw | {"retryAfter": 400}, provider="helper", reset_at=reset)
    without_wait = turn_error(raw, provider="helper", reset_at=reset)
    refused = request_error(
        RpcError(-32603, "failed: Rate limited by server. Retry in 40s."), provider="helper"
    )

    assert (waiting.retry_after, waiting.reset_at, waiting.retryable) == (400, None, True)
    assert (without_wait.retry_after, without_wait.reset_at) == (None, reset)
    assert without_wait.message == "helper limits requests for now: You've reached your weekly rate limit."
    assert (type(refused), refused.retry_after) == (RateLimitError, 40)


@pytest.mark.requirement("language-server:limits")
def test_an_error_without_a_kind_after_a_used_up_limit_is_a_rate_limit():
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    facts = {"provider": "h", "reset_at": reset, "is_limited": True}

    assert turn_error({"message": "Oops."}, **facts).reset_at == reset
    assert type(turn_error({"message": "Oops."}, **facts)) is RateLimitError
    assert type(turn_error({"message": "Oops."}, **(facts | {"is_limited": False}))) is ProtocolError
    assert type(turn_error({"message": "x", "code": 500}, **facts)) is ServerError


@pytest.mark.requirement("language-server:limits")
@pytest.mark.parametrize(
    ("code", "seconds", "waited"), [(429, 0, True), (429, 30, True), (429, 31, False), (429, None, False)]
)
def test_a_wait_that_the_server_has_done_is_not_repeated(code, seconds, waited):
    error = turn_error({"message": "Slow down.", "code": code, "retryAfter": seconds}, provider="h")

    assert (error.forbids_retry, error.retryable) == (waited, True)
    assert turn_error({"code": 500, "retryAfter": 1}, provider="h").forbids_retry is False


@pytest.mark.requirement("language-server:errors-of-turns")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1000, AuthenticationError),
        (1003, AuthenticationError),
        (1001, AuthenticationError),
        (1006, AuthenticationError),
        (1002, AuthorizationError),
    ],
)
def test_sign_in_codes_mean_the_same_at_the_end_of_a_turn(code, kind):
    at_the_end = turn_error({"message": "No token.", "code": code}, provider="helper")
    refused = request_error(RpcError(code, "No token.", {"reason": "x"}), provider="helper")

    assert type(at_the_end) is type(refused) is kind
    assert at_the_end.provider_code == refused.provider_code == str(code)
    assert at_the_end.message == refused.message


@pytest.mark.requirement("language-server:errors")
@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (402, None, QuotaExceededError),
        (429, None, RateLimitError),
        (400, None, RequestError),
        (400, "model_not_supported", RequestError),
        (400, "model_max_prompt_tokens_exceeded", ContextExceededError),
    ],
)
def test_the_status_and_reason_of_a_refused_request_decide_its_error(code, reason, kind):
    error = request_error(RpcError(code, "No.", {"reason": reason}), provider="helper", model="m")

    assert (type(error), error.status_code) == (kind, code)
    assert error.provider_code == (reason or str(code))
    assert ("does not offer the model 'm'" in error.message) is (reason == "model_not_supported")


@pytest.mark.requirement("language-server:errors-of-images")
@pytest.mark.parametrize(
    "words", ["Could not read image: invalid base64 image string", "Unsupported image format"]
)
def test_an_unreadable_image_is_a_request_error(words):
    error = turn_error({"message": words, "responseIsIncomplete": True}, provider="h", model="m")

    assert type(error) is RequestError
    assert error.message == f"h refused the request: {words}."
    assert "PNG" in error.hint


@pytest.mark.parametrize("seconds", [True, -1, "soon", None, 1e12])
def test_an_invalid_wait_is_dropped(seconds):
    assert turn_error({"code": 429, "retryAfter": seconds}, provider="h").retry_after is None


def test_only_the_output_limit_truncates_an_answer():
    assert is_cut_off({"message": "Oops, the response got too long. Try to reformulate your question."})
    assert not is_cut_off({"message": "Oops, your request is too large."})
    assert not is_cut_off({})


@pytest.mark.requirement("language-server:no-secrets")
@pytest.mark.parametrize("code", [None, 402, 429, 500])
def test_errors_of_a_turn_do_not_show_tokens(code):
    raw = {"message": "Oops, bad token gho_abcdefghijklmnop1234 and Bearer tid=0815;x", "code": code}

    error = turn_error(raw, provider="h")

    assert "gho_" not in error.message
    assert "0815" not in error.message
    assert "bad token ***" in error.message
