"""Maps HTTP failures (statuses, headers, exceptions) to the errors of `jumpseat.chat`.

Messages show only the host and the port of a URL, because its path or query may contain a credential.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from jumpseat.chat import (
    ChatError,
    ConfigError,
    ConnectionError,
    QuotaExceededError,
    RequestError,
)
from jumpseat.config.table_names import name_key, name_table
from jumpseat.dialects.provider_errors import error_from_fault, read_fault
from jumpseat.http.causes import cause_of
from jumpseat.http.request_trace import ProxyTrace, error_from_proxy

REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-github-request-id",
    "apim-request-id",
    "x-amzn-requestid",
    "x-generation-id",
    "cf-ray",
)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MIN_UNIX_TIME = 1e9
"""In a reset header, a number that is at least this high is a Unix time, not a duration in seconds."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def connection_failures() -> tuple[type[Exception], ...]:
    """Return the classes of the exceptions that opening and using a connection can raise."""
    import httpcore2
    import httpx2

    return (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
        httpx2.InvalidURL,
        OSError,
        UnicodeError,
    )


def host_of(url: str) -> str:
    """Return a URL's host and port for messages: `api.example.com:443`."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "an invalid URL"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{port}" if port else f"{host}"


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of the request, if the headers contain one."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), None)


def error_from_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str,
    url: str,
    now: datetime | None = None,
) -> ChatError:
    """Create the error for an answer with a status of 300 or more.

    Args:
        status: the HTTP status.
        headers: the answer's headers, with names in lower case.
        body: the body, or its beginning.
        provider: the configured provider's id.
        url: the URL of the request, for the message about a redirect.
        now: the time with which dates in headers are compared; the current time by default.
    """
    if status < 400:
        return _redirect_error(status, headers, provider, url)
    now = now or datetime.now(UTC)
    error = error_from_fault(
        read_fault(body),
        provider,
        status=status,
        retry_after=retry_after(headers, now),
        reset_at=_parse_reset_time(headers),
        provider_request_id=request_id_of(headers),
    )
    should_retry = headers.get("x-should-retry")
    if should_retry == "false":
        error.retryable = False
    elif should_retry == "true" and not isinstance(error, QuotaExceededError):
        error.retryable = True
    return error


def _redirect_error(status: int, headers: Mapping[str, str], provider: str, url: str) -> ChatError:
    location = headers.get("location", "")
    where = host_of(location) if "//" in location else host_of(url)
    return RequestError(
        f"{provider} redirects to {where} (HTTP {status}). The redirect is not followed, because a "
        "credential is sent only to the host that it was configured for.",
        provider=provider,
        status_code=status,
        hint=f"Set {name_key(provider, 'base_url')} to the URL that serves the requests.",
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds to wait, from `retry-after-ms`, `retry-after` or the limits that are used up.

    Source: RFC 9110 section 10.2.3 for seconds and dates; OpenAI's SDKs for milliseconds.
    In `x-ratelimit-reset-*`, OpenAI sends Go-like durations, and Azure sends plain seconds. Both replace the
    `*` with `requests` or `tokens`; Mistral and HuggingFace use others (`tokens-minute`, `requests-day`).
    """
    milliseconds = _parse_number(headers.get("retry-after-ms"))
    if milliseconds:
        return milliseconds / 1000
    header = headers.get("retry-after")
    seconds = _parse_number(header)
    if seconds is not None:
        return seconds
    if header and (moment := parse_date(header)) is not None:
        return max(0.0, (moment - now).total_seconds())
    used_up = (
        name.lower().removeprefix("x-ratelimit-remaining-")
        for name, value in headers.items()
        if name.lower().startswith("x-ratelimit-remaining-") and value.strip() == "0"
    )
    waits = [
        wait
        for what in used_up
        if (wait := _parse_duration(headers.get(f"x-ratelimit-reset-{what}", ""))) is not None
    ]
    return max(waits, default=None)


def parse_date(text: str) -> datetime | None:
    """Parse the date in a header (RFC 9110 section 5.6.7); return None if it is not valid."""
    from email.utils import parsedate_to_datetime  # Deferred: a heavy import for rare headers.

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\s*\d{1,15}(\.\d{1,9})?\s*", text) else None


def _parse_duration(text: str) -> float | None:
    seconds = _parse_number(text)
    if seconds is not None:
        return seconds if seconds < _MIN_UNIX_TIME else None
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _parse_reset_time(headers: Mapping[str, str]) -> datetime | None:
    """Return the time in `x-ratelimit-reset`, which is in Unix milliseconds (OpenRouter) or seconds.

    Anthropic instead reports a time for each limit. In that case, return the latest time among the limits
    that are used up.
    """
    value = _parse_number(headers.get("x-ratelimit-reset"))
    if value is None or value < _MIN_UNIX_TIME:
        moments = [
            moment
            for what in ("requests", "tokens", "input-tokens", "output-tokens")
            if headers.get(f"anthropic-ratelimit-{what}-remaining") == "0"
            and (moment := _parse_time(headers.get(f"anthropic-ratelimit-{what}-reset", ""))) is not None
        ]
        return max(moments, default=None)
    try:
        return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _parse_time(text: str) -> datetime | None:
    """Parse an RFC 3339 time; return None if it is invalid or has no time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


# The keys are names of classes, so that this module does not import httpcore2. The first class in an
# exception's MRO that has an entry decides. A test fails if a class of httpcore2 has no entry.
EXCEPTIONS: dict[str, tuple[type[ChatError], str]] = {
    "ConnectTimeout": (ConnectionError, "{host} did not accept a connection in time"),
    "TooSlowError": (ConnectionError, "{provider} ({host}) did not start an answer within {idle} s"),
    "ReadTimeout": (ConnectionError, "{provider} ({host}) sent nothing for {idle} s"),
    "WriteTimeout": (ConnectionError, "{provider} ({host}) did not accept the request in time"),
    "PoolTimeout": (ConnectionError, "no connection to {host} was free in time"),
    "TimeoutException": (ConnectionError, "{provider} ({host}) did not answer in time"),
    "ConnectError": (ConnectionError, "{host} cannot be reached{cause}"),
    "NetworkError": (ConnectionError, "the connection to {host} broke{cause}"),
    "ProxyError": (ConnectionError, "the proxy refused to connect to {host}"),
    "RemoteProtocolError": (ConnectionError, "{host} closed the connection or does not speak HTTP"),
    "LocalProtocolError": (
        ConfigError,
        "the request to {host} cannot be sent: a header under {table} is not valid in HTTP",
    ),
    "UnsupportedProtocol": (ConfigError, "{table}.base_url is not an http or https URL"),
    "InvalidURL": (ConfigError, "{table}.base_url is not a valid URL"),
    "UnicodeError": (
        ConfigError,
        "the request to {host} cannot be sent: a header under {table} is not ASCII",
    ),
    "OSError": (ConnectionError, "the connection to {host} broke{cause}"),
}


def error_from_exception(
    failure: BaseException,
    *,
    provider: str,
    url: str,
    idle_seconds: float | None = None,
    proxy_trace: ProxyTrace | None = None,
) -> ChatError:
    """Create the error for an exception that httpcore2 or a socket raised.

    Args:
        failure: the exception.
        provider: the configured provider's id.
        url: the URL of the request; the message shows only its host and port.
        idle_seconds: the read timeout.
        proxy_trace: the trace of the request; None if it did not go through a proxy.
    """
    kind, sentence = next(
        EXCEPTIONS[cls.__name__] for cls in (*type(failure).__mro__, OSError) if cls.__name__ in EXCEPTIONS
    )
    host = host_of(url)
    if proxy_trace is not None and type(failure) is TimeoutError:  # The trace's time limit has passed.
        sentence = "{host} did not connect in time"
    if proxy_trace is not None and type(failure).__name__ == "ProxyError":
        return error_from_proxy(proxy_trace.proxy, _leading_status(failure), provider=provider, host=host)
    cause = cause_of(failure, provider, host)
    hint = cause.hint
    if proxy_trace is not None and proxy_trace.at_proxy:
        host = f"the proxy {proxy_trace.proxy.address}"
        hint = hint or f"Check {proxy_trace.proxy.named_by}."
    elif proxy_trace is not None:
        host = f"{host} (through the proxy {proxy_trace.proxy.address})"
    facts: dict[str, Any] = {
        "host": host,
        "provider": provider,
        "table": name_table(provider),
        "idle": f"{idle_seconds:g}" if idle_seconds is not None else "too many",
        "cause": cause.words,
    }
    message = sentence.format(**facts)
    if "{provider}" not in sentence:
        message = f"The request to {provider} failed: {message}"
    return kind(f"{message}.", provider=provider, hint=hint, retryable=cause.retryable)


def _leading_status(failure: BaseException) -> int | None:
    """Return the status at the start of httpcore2's message: `407 Proxy Authentication Required`."""
    match = re.match(r"\d{3}\b", str(failure))
    return int(match[0]) if match else None
