"""Every error has its code and its kind on the wire; the text of a defect is not sent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from jumpseat import wire
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatCancelled,
    ChatError,
    ConfigError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    InfillUnsupportedError,
    InvalidRequestError,
    Problem,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
    UnknownModelError,
    errors,
)
from jumpseat.config import ProviderConfig, resolve
from jumpseat.connections.faults import CANCELLED, CODES, RpcFault, WireError, to_wire_error

CONTRACT = [
    (AuthenticationError, 1000, "authentication", False),
    (AuthorizationError, 1001, "authorization", False),
    (RateLimitError, 1002, "rate_limit", True),
    (QuotaExceededError, 1003, "quota_exceeded", False),
    (RequestError, 1004, "request", False),
    (UnknownModelError, 1004, "request", False),
    (InfillUnsupportedError, 1004, "request", False),
    (ContextExceededError, 1005, "context_exceeded", False),
    (ContentFilterError, 1006, "content_filter", False),
    (ServerError, 1007, "server", True),
    (ConnectionError, 1008, "connection", True),
    (ProtocolError, 1009, "protocol", False),
    (ConfigError, 1010, "config", False),
    (ChatCancelled, -32800, "cancelled", False),
    (ChatError, -32603, "internal", False),
]


@pytest.mark.requirement("6:every-error-has-a-code")
@pytest.mark.parametrize(("error", "code", "kind", "retryable"), CONTRACT)
def test_an_error_class_has_its_code_and_its_kind(
    error: type[ChatError], code: int, kind: str, retryable: bool
) -> None:
    assert to_wire_error(error("It failed.")) == WireError(
        code, "It failed.", {"kind": kind, "retryable": retryable}
    )


@pytest.mark.requirement("6:every-error-has-a-code")
def test_every_error_class_has_a_code() -> None:
    classes = {
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ChatError)
    }

    assert classes == set(CODES) == {row[0] for row in CONTRACT} | {InvalidRequestError}


def test_an_error_of_a_plug_in_has_the_code_of_its_base() -> None:
    class ThrottledError(RateLimitError):
        """A plug-in's own."""

    assert to_wire_error(ThrottledError("Slow down.")).code == 1002


@pytest.mark.requirement("6:data")
def test_known_facts_of_an_error_are_encoded_and_others_are_absent() -> None:
    error = RateLimitError(
        "Slow down.",
        status_code=429,
        provider="p",
        provider_code="slow",
        retry_after=2.5,
        reset_at=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
        provider_request_id="r1",
        hint="Wait.",
    )

    assert to_wire_error(error).data == {
        "kind": "rate_limit",
        "provider": "p",
        "statusCode": 429,
        "providerCode": "slow",
        "retryable": True,
        "retryAfter": 2.5,
        "resetAt": "2030-01-02T03:04:05Z",
        "providerRequestId": "r1",
        "hint": "Try again in 3 seconds. Wait.",
    }
    assert to_wire_error(RateLimitError("Slow down.", retry_after=0)).data["retryAfter"] == 0


@pytest.mark.requirement("6:wait")
@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (45, "45 seconds"),
        (91, "2 minutes"),
        (3600, "60 minutes"),
        (7200.5, "3 hours"),
        (200_000, "3 days"),
        (0, None),
        (None, None),
    ],
)
def test_the_hint_of_a_rate_limit_has_the_time_to_wait(seconds: float | None, words: str | None) -> None:
    expected = None if words is None else f"Try again in {words}."
    assert to_wire_error(RateLimitError("Slow down.", retry_after=seconds)).data.get("hint") == expected
    assert "hint" not in to_wire_error(AuthenticationError("Who?", retry_after=seconds)).data


@pytest.mark.requirement("6:wait")
def test_the_hint_has_the_time_until_a_reset_in_the_future() -> None:
    reset = datetime.now(UTC) + timedelta(hours=5, minutes=-1)
    assert to_wire_error(QuotaExceededError("No.", reset_at=reset)).data["hint"] == "Try again in 5 hours."
    past = datetime(2020, 1, 1, tzinfo=UTC)
    assert "hint" not in to_wire_error(QuotaExceededError("No.", reset_at=past)).data


@pytest.mark.requirement("1:invalid-params")
def test_wrong_values_are_listed_with_their_paths() -> None:
    error = InvalidRequestError("Two are wrong.", [Problem("a.0", "is odd"), Problem("b", "is even")])

    assert to_wire_error(error) == WireError(
        -32602,
        "Two are wrong.",
        {
            "kind": "invalid_params",
            "retryable": False,
            "errors": [{"path": "a.0", "message": "is odd"}, {"path": "b", "message": "is even"}],
        },
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (wire.PARSE_ERROR, "parse_error"),
        (wire.INVALID_REQUEST, "invalid_request"),
        (wire.METHOD_NOT_FOUND, "method_not_found"),
        (wire.INVALID_PARAMS, "invalid_params"),
        (wire.SERVER_NOT_INITIALIZED, "not_initialized"),
    ],
)
def test_a_fault_of_the_caller_has_a_kind(code: int, kind: str) -> None:
    assert to_wire_error(RpcFault(code, "No.")) == WireError(code, "No.", {"kind": kind, "retryable": False})


@pytest.mark.requirement("6:internal")
@pytest.mark.parametrize(
    "defect",
    [
        ValueError("sk-canary in /home/me/x.py"),
        KeyError("sk-canary"),
        RuntimeError("sk-canary"),
        OSError(13, "sk-canary"),
        TimeoutError("sk-canary"),
        asyncio.InvalidStateError("sk-canary"),
        ExceptionGroup("sk-canary", [ValueError("sk-canary")]),
    ],
    ids=lambda defect: type(defect).__name__,
)
def test_the_text_of_a_defect_is_not_sent(defect: Exception, caplog: pytest.LogCaptureFixture) -> None:
    error = to_wire_error(defect)

    assert (error.code, error.data) == (-32603, {"kind": "internal", "retryable": False})
    assert "canary" not in str(error.as_dict())
    assert type(defect).__name__ not in error.message
    assert "canary" in caplog.text


@pytest.mark.requirement("6:no-secrets")
def test_secrets_are_removed_from_messages_and_hints() -> None:
    resolve("p", "api_key", "sk-leaked-4711", ProviderConfig())
    error = RequestError("Bad header sk-leaked-4711.", hint="Replace sk-leaked-4711.")

    assert "sk-leaked" not in str(to_wire_error(error).as_dict())
    assert "sk-leaked" not in str(to_wire_error(RpcFault(wire.INVALID_REQUEST, "sk-leaked-4711")).as_dict())


def test_a_cancellation_has_its_code_and_kind() -> None:
    assert CANCELLED.code == -32800
    assert CANCELLED.data["kind"] == "cancelled"
    assert to_wire_error(ChatCancelled("x")).data == CANCELLED.data
