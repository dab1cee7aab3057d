"""The mapping of HTTP failures to our errors."""

import inspect
import json
import socket
import ssl
from datetime import UTC, datetime

import httpcore2
import pytest

from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConfigError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
)
from jumpseat.config import ProviderConfig, resolve
from jumpseat.http.failures import error_from_exception, error_from_response, host_of

URL = "https://api.example.com/v1/chat/completions?key=canary-in-the-query"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def from_response(status, body=b"", **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_response(status, named, body, provider="acme", url=URL, now=NOW)


def openai_error(message, code=None, type_="invalid_request_error", **more):
    return {"error": {"message": message, "type": type_, "param": None, "code": code, **more}}


STATUSES = {
    (401, b""): AuthenticationError,
    (403, b""): AuthorizationError,
    (403, b'{"error":{"message":"API rate limit exceeded"}}'): RateLimitError,
    (402, b""): QuotaExceededError,
    (429, b""): RateLimitError,
    (429, b"quota exceeded"): QuotaExceededError,
    (408, b""): ConnectionError,
    (421, b""): ConnectionError,
    (400, b""): RequestError,
    (404, b""): RequestError,
    (409, b""): RequestError,
    (413, b""): RequestError,
    (422, b""): RequestError,
    (418, b""): RequestError,
    (424, b""): ServerError,
    (500, b""): ServerError,
    (503, b""): ServerError,
    (529, b""): ServerError,
    (302, b""): RequestError,
}


@pytest.mark.requirement("chat:error-statuses")
@pytest.mark.parametrize(("status", "body"), STATUSES)
def test_each_status_has_its_error_class(status, body):
    error = from_response(status, body)
    assert type(error) is STATUSES[status, body]
    assert (error.status_code, error.provider) == (status, "acme")
    assert error.message.endswith(".")


SHAPES = [
    (openai_error("Bad things", "bad_code"), "bad_code"),
    ({"error": {"code": 400, "message": "Bad things"}}, "400"),
    ({"error": "Bad things"}, None),
    ({"code": "invalid-argument", "error": "Bad things"}, "invalid-argument"),
    ({"code": 400, "message": "Bad things", "type": "Bad Request"}, "400"),
    ({"detail": "Bad things"}, None),
    ({"detail": [{"loc": ["body"], "msg": "Bad things"}]}, None),
    ({"object": "error", "message": "Bad things", "type": "x", "param": None, "code": "3280"}, "3280"),
    (b"Bad things", None),
    ([{"error": {"code": 400, "message": "Bad things"}}], "400"),
    ({"fault": {"what": "Bad things", "level": 3}}, None),
    ({"error": {"reason": ["Bad", "things"]}}, None),
    ({"error": True, "why": "Bad things", "more": None}, None),
]


@pytest.mark.requirement(
    "chat:shape-openai",
    "chat:shape-integer-code",
    "chat:shape-error-text",
    "chat:shape-code-and-text",
    "chat:shape-bare-message",
    "chat:shape-detail",
    "chat:shape-object-error",
    "chat:shape-text",
)
@pytest.mark.parametrize(("body", "code"), SHAPES)
def test_every_shape_of_error_body_gives_its_message_and_its_code(body, code):
    error = from_response(400, body)
    assert error.message == "acme refused the request (HTTP 400): Bad things."
    assert error.provider_code == code


STACKS = [
    "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in run\nKeyError: 'canary'",
    '  File "/srv/app.py", line 3, in run\n    return canary',
    "TypeError: x is not a function\n    at canary (/srv/app.js:3:7)\n    at node:internal/x:1:1",
    "java.lang.IllegalStateException: no\n\tat com.example.Canary.run(Canary.java:7)",
    "panic: no\n\ngoroutine 1 [running]:\nmain.canary()",
    "thread 'main' panicked at src/canary.rs:7:5",
]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_stack_trace_is_never_shown(stack, as_json):
    reported = f"It broke.\n{stack}\n"
    body = json.dumps({"error": {"message": reported}}) if as_json else reported
    message = error_from_response(500, {}, body.encode(), provider="acme", url=URL).message
    assert message.startswith("acme failed (HTTP 500): It broke.")
    # `anary` is a part of `canary` and of `Canary`.
    for part in ("anary", "Traceback", "/srv", "line 3", "goroutine"):
        assert part not in message


@pytest.mark.requirement("chat:shape-text")
@pytest.mark.parametrize("body", [b"", b"null", b"<html><body>nginx</body></html>", b"  <!DOCTYPE html><p>x"])
def test_a_body_without_a_message_gives_a_plain_sentence(body):
    assert from_response(502, body).message == "acme failed (HTTP 502)."


WORDS = [
    (400, openai_error("Incorrect API key provided: xa***ey."), AuthenticationError),
    (400, {"code": "invalid-argument", "error": "Incorrect API key provided"}, AuthenticationError),
    (400, openai_error("API key not valid. Please pass a valid API key."), AuthenticationError),
    (429, openai_error("You exceeded your current quota", "insufficient_quota"), QuotaExceededError),
    (403, openai_error("Your team has reached its monthly spending limit"), QuotaExceededError),
    (400, openai_error("Your credit balance is too low to access the API"), QuotaExceededError),
    (400, openai_error("too long", "context_length_exceeded"), ContextExceededError),
    (400, openai_error("This model's maximum context length is 8192 tokens"), ContextExceededError),
    (400, openai_error("prompt is too long: 1 tokens > 0 maximum"), ContextExceededError),
    (
        400,
        {"error": {"code": 400, "message": "x", "type": "exceed_context_size_error"}},
        ContextExceededError,
    ),
    (400, openai_error("Please reduce the length of the messages or completion."), ContextExceededError),
    (413, openai_error("prompt token count of 9 exceeds the limit of 8"), ContextExceededError),
    (400, openai_error("no", "content_filter"), ContentFilterError),
    (400, openai_error("no", None, innererror={"code": "ResponsibleAIPolicyViolation"}), ContentFilterError),
    (
        403,
        openai_error("Your chosen model requires moderation and your input was flagged"),
        ContentFilterError,
    ),
    (400, openai_error("The tool named content is unknown"), RequestError),
    (400, openai_error("Expected a value <= 2", "decimal_above_max_value"), RequestError),
]


OVERFLOWS = [
    "prompt is too long: 9 tokens > 8 maximum",
    "Your input exceeds the context window of this model",
    "context_length_exceeded",
    "This model's maximum context length is 8192 tokens",
    "the request exceeds the available context size",
    "The number of tokens to keep is greater than the context length",
    "prompt too long; exceeded max context length by 4 tokens",
    "too_many_prompt_tokens",
    "The total length of all messages is too long",
    "Please reduce the length of the messages or completion",
    "This model's maximum prompt length is 131072",
    "prompt token count of 9 exceeds the limit of 8",
    "The input token count (9) exceeds the maximum number of tokens allowed (8)",
]


@pytest.mark.requirement("chat:context-overflow")
@pytest.mark.parametrize("words", OVERFLOWS)
def test_every_wording_of_a_too_long_prompt_is_recognised(words):
    for status in (400, 413):
        assert type(from_response(status, openai_error(words))) is ContextExceededError
    assert type(from_response(400, words.encode())) is ContextExceededError


@pytest.mark.requirement("chat:error-codes", "chat:shape-code-and-text")
@pytest.mark.parametrize(("status", "body", "kind"), WORDS)
def test_the_message_refines_the_status(status, body, kind):
    assert type(from_response(status, body)) is kind


def test_a_quota_that_names_a_time_to_wait_is_a_rate_limit():
    body = openai_error("You exceeded your current quota")
    assert type(from_response(429, body, retry_after="20")) is RateLimitError
    assert type(from_response(429, body)) is QuotaExceededError


@pytest.mark.requirement("chat:retry-after", "chat:rate-limit-headers")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry_after": "3"}, 3.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "1"}, 0.25),
        ({"retry_after_ms": "0", "retry_after": "1"}, 1.0),
        ({"retry_after": "Thu, 01 Jan 2026 00:01:00 GMT"}, 60.0),
        ({"retry_after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0.0),
        ({"retry_after": "Wed, 31 Dec 2025 00:00:00 -0000"}, 0.0),
        ({"retry_after": f"Wed, 31 Dec 2025 00:00:00 +{'9' * 20}"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "nan"}, None),
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m30s"}, 90.0),
        ({"x_ratelimit_remaining_tokens": "5", "x_ratelimit_reset_tokens": "6ms"}, None),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6ms"}, 0.006),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "0s"}, 0.0),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "7"}, 7.0),
        ({"x_ratelimit_remaining_tokens": "-1", "x_ratelimit_reset_tokens": "7"}, None),
        ({"x_ratelimit_remaining_tokens": "0"}, None),
        ({"x_ratelimit_remaining_tokens_minute": "0", "x_ratelimit_reset_tokens_minute": "21"}, 21.0),
        ({"x_ratelimit_remaining_requests_day": "0", "x_ratelimit_reset_requests_day": "8h"}, 28800.0),
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1754667660000"}, None),
    ],
)
def test_the_time_to_wait_is_read_in_every_format(headers, expected):
    assert from_response(429, b"", **headers).retry_after == pytest.approx(expected)


@pytest.mark.requirement("chat:rate-limit-epoch")
def test_a_reset_time_in_unix_milliseconds_is_reported():
    error = from_response(429, b"", x_ratelimit_reset="1754667660000")
    assert error.reset_at == datetime(2025, 8, 8, 15, 41, tzinfo=UTC)


@pytest.mark.requirement("chat:should-retry")
def test_x_should_retry_takes_precedence_but_a_quota_is_never_retried():
    assert from_response(500, b"", x_should_retry="false").retryable is False
    assert from_response(400, b"", x_should_retry="true").retryable is True
    assert from_response(402, b"", x_should_retry="true").retryable is False
    assert (from_response(500).retryable, from_response(400).retryable) == (True, False)


@pytest.mark.requirement("chat:request-id")
@pytest.mark.parametrize("name", ["x_request_id", "request_id", "x_github_request_id", "cf_ray"])
def test_the_request_id_is_kept(name):
    assert from_response(500, b"", **{name: "req_1"}).provider_request_id == "req_1"


def test_a_redirect_names_the_other_host_and_never_its_query():
    error = from_response(307, b"", location="https://evil.example:8443/x?token=canary")
    assert "evil.example:8443" in error.message
    assert "canary" not in error.message


def test_a_message_is_one_bounded_line_without_markup_control_characters_or_secrets():
    resolve("acme", "api_key", "sk-canary-secret", ProviderConfig())
    words = "a\r\nb\x1b[31mred\x1b[0m \x9b5m<b>bold</b>\x07\u202e sk-canary-secret " + "long " * 200
    message = from_response(400, openai_error(words)).message
    assert message.startswith("acme refused the request (HTTP 400): a bred bold *** long")
    assert len(message) < 300
    assert message.isprintable()


@pytest.mark.requirement("chat:error-of-upstream")
def test_the_upstreams_message_is_taken_from_a_routers_error():
    raw = json.dumps(openai_error("The real cause"))
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    assert "Provider returned error: The real cause." in from_response(400, body).message


def every_exception_of_httpcore2():
    found = {
        value for _, value in inspect.getmembers(httpcore2, inspect.isclass) if issubclass(value, Exception)
    }
    # The pool handles this exception itself.
    found.discard(httpcore2.ConnectionNotAvailable)
    return sorted(found, key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", every_exception_of_httpcore2(), ids=lambda cls: cls.__name__)
def test_every_exception_of_httpcore2_is_mapped(cls):
    from jumpseat.http.failures import EXCEPTIONS, connection_failures

    assert any(base.__name__ in EXCEPTIONS for base in cls.__mro__) or cls is httpcore2.ProtocolError
    assert issubclass(cls, connection_failures())
    failure = cls.__new__(cls)
    error = error_from_exception(failure, provider="acme", url=URL, idle_seconds=5)
    assert isinstance(error, ChatError)
    assert "acme" in error.message
    assert error.message.endswith(".")
    assert "canary" not in error.message


def make_failure(cause):
    failure = httpcore2.ConnectError("canary")
    failure.__cause__ = cause
    return failure


EXCEPTION_CASES = [
    (httpcore2.ReadTimeout(""), ConnectionError, "acme (api.example.com:443) sent nothing for 5 s."),
    (
        make_failure(socket.gaierror(-2, "x")),
        ConnectionError,
        "cannot be reached: its name cannot be resolved.",
    ),
    (
        make_failure(ConnectionRefusedError()),
        ConnectionError,
        "api.example.com:443 cannot be reached: connection refused.",
    ),
    (make_failure(ssl.SSLCertVerificationError()), ConnectionError, "certificate is not trusted"),
    (httpcore2.ProxyError("x"), ConnectionError, "the proxy refused to connect to api.example.com:443."),
    (httpcore2.UnsupportedProtocol("x"), ConfigError, "base_url"),
    (httpcore2.LocalProtocolError("x"), ConfigError, "header"),
    (UnicodeEncodeError("ascii", "ž", 0, 1, "x"), ConfigError, "not ASCII"),
    (TimeoutError(), ConnectionError, "connection to api.example.com:443 broke"),
]


@pytest.mark.parametrize(("failure", "kind", "words"), EXCEPTION_CASES)
def test_an_exception_becomes_a_sentence_about_the_host(failure, kind, words):
    error = error_from_exception(failure, provider="acme", url=URL, idle_seconds=5)
    assert type(error) is kind
    assert words in error.message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://user:canary@h/x", "h:80"),
        ("http://[::1]:1234/", "[::1]:1234"),
        ("https://h:99999/", "an invalid URL"),
    ],
)
def test_a_host_is_named_without_credentials(url, expected):
    assert host_of(url) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-01-01T00:05:00Z",
                "anthropic-ratelimit-requests-remaining": "9",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:09:00Z",
            },
            datetime(2026, 1, 1, 0, 5, tzinfo=UTC),
        ),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "soon",
            },
            None,
        ),
        ({"anthropic-ratelimit-tokens-remaining": "0"}, None),
    ],
)
def test_the_reset_of_the_limit_that_is_used_up_is_reported(headers, expected):
    error = error_from_response(429, headers, b"{}", provider="acme", url="https://a.example/")
    assert error.reset_at == expected
