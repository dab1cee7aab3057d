"""The single map from failures of HTTP to the errors of `jumpseat.chat`.

Owns what statuses, headers and exceptions mean. Words in a body are read by
`dialects/provider_errors.py`, below; `exchange.py`, above, is the only caller. A message names host and
port and never more of a URL: a path or a query may hold a credential.
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
    ProtocolError,
    QuotaExceededError,
    RequestError,
)
from jumpseat.dialects.provider_errors import error_from_fault, read_fault
from jumpseat.http.causes import cause_of
from jumpseat.http.passage import Passage, refused_by_proxy

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
_EPOCH = 1e9
"""A reset of more seconds than this is a moment since 1970."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def httpx2_failures() -> tuple[type[Exception], ...]:
    """What opening a connection or reading from it may raise."""
    import httpx2

    return (
        httpx2.HTTPError,
        httpx2.InvalidURL,
        httpx2.StreamError,
        httpx2.CookieConflict,
        OSError,
        UnicodeError,
    )


def host_of(url: str) -> str:
    """Host and port of a URL, for messages: `api.example.com:443`."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "an unreadable address"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{port}" if port else f"{host}"


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The id under which the provider knows the request, where it told one."""
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
    """The error that an answer with a status of 300 or more stands for.

    Args:
        status: the HTTP status.
        headers: the answer's headers; looked up in lower case.
        body: the body, or the beginning of it.
        provider: the configured provider's id.
        url: what was asked, for a redirect's message.
        now: the time that dates in headers are compared with.
    """
    if status < 400:
        return _redirected(status, headers, provider, url)
    now = now or datetime.now(UTC)
    error = error_from_fault(
        read_fault(body),
        provider,
        status=status,
        retry_after=retry_after(headers, now),
        reset_at=_reset_at(headers),
        provider_request_id=request_id_of(headers),
    )
    told = headers.get("x-should-retry")
    if told == "false":
        error.retryable = False
    elif told == "true" and not isinstance(error, QuotaExceededError):
        error.retryable = True
    return error


def _redirected(status: int, headers: Mapping[str, str], provider: str, url: str) -> ChatError:
    location = headers.get("location", "")
    where = host_of(location) if "//" in location else host_of(url)
    return RequestError(
        f"{provider} redirects to {where} (HTTP {status}), which is not followed, because a credential is "
        "only sent to the host it was configured for.",
        provider=provider,
        status_code=status,
        hint=f"Set providers.{provider}.base_url to the address that really serves the requests.",
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, as the provider asked: `retry-after-ms`, then `retry-after`, then used-up limits.

    Source: RFC 9110 section 10.2.3 for seconds and dates; the openai-chat reference, "Errors", for the
    rest, among it `x-ratelimit-reset-*`: Go-like durations at OpenAI, plain seconds at Azure, with other
    windows than `requests` and `tokens` at Mistral and HuggingFace (`tokens-minute`, `requests-day`).
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds:
        return milliseconds / 1000
    told = headers.get("retry-after")
    seconds = _number(told)
    if seconds is not None:
        return seconds
    if told:
        from email.utils import parsedate_to_datetime  # Deferred: a heavy import for a rare header.

        try:
            moment = parsedate_to_datetime(told)
        except ValueError:
            pass
        else:
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return max(0.0, (moment - now).total_seconds())
    used_up = (
        name.lower().removeprefix("x-ratelimit-remaining-")
        for name, value in headers.items()
        if name.lower().startswith("x-ratelimit-remaining-") and value.strip() == "0"
    )
    waits = [
        wait
        for what in used_up
        if (wait := _duration(headers.get(f"x-ratelimit-reset-{what}", ""))) is not None
    ]
    return max(waits, default=None)


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\s*\d{1,15}(\.\d{1,9})?\s*", text) else None


def _duration(text: str) -> float | None:
    seconds = _number(text)
    if seconds is not None:
        return seconds if seconds < _EPOCH else None  # Beyond that it is a moment, not a duration.
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _reset_at(headers: Mapping[str, str]) -> datetime | None:
    """`x-ratelimit-reset` where it is a moment: epoch milliseconds (OpenRouter) or epoch seconds.

    Anthropic tells the moment for each of its limits; that of the one that is used up counts.
    """
    value = _number(headers.get("x-ratelimit-reset"))
    if value is None or value < _EPOCH:
        moments = [
            moment
            for what in ("requests", "tokens", "input-tokens", "output-tokens")
            if headers.get(f"anthropic-ratelimit-{what}-remaining") == "0"
            and (moment := _moment(headers.get(f"anthropic-ratelimit-{what}-reset", ""))) is not None
        ]
        return max(moments, default=None)
    try:
        return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _moment(text: str) -> datetime | None:
    """A moment of RFC 3339; None where it is not one, or says no time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


# Class names of httpx2, most special first along each class's ancestry, so that this module needs no
# import of it. A test fails if httpx2 gains a class that no entry covers.
EXCEPTIONS: dict[str, tuple[type[ChatError], str]] = {
    "ConnectTimeout": (ConnectionError, "{host} did not accept a connection in time"),
    "ReadTimeout": (ConnectionError, "{provider} ({host}) went silent for {idle} s"),
    "WriteTimeout": (ConnectionError, "{provider} ({host}) did not take the request in time"),
    "PoolTimeout": (ConnectionError, "no connection to {host} was free in time"),
    "TimeoutException": (ConnectionError, "{provider} ({host}) did not answer in time"),
    "ConnectError": (ConnectionError, "{host} cannot be reached{cause}"),
    "NetworkError": (ConnectionError, "the connection to {host} broke{cause}"),
    "ProxyError": (ConnectionError, "the proxy would not connect to {host}"),
    "RemoteProtocolError": (ConnectionError, "{host} closed the connection or does not speak HTTP"),
    "LocalProtocolError": (
        ConfigError,
        "the request to {host} cannot be sent: a header under providers.{provider} is not legal in HTTP",
    ),
    "UnsupportedProtocol": (ConfigError, "providers.{provider}.base_url is not an http or https address"),
    "InvalidURL": (ConfigError, "providers.{provider}.base_url is not a valid address"),
    "UnicodeError": (
        ConfigError,
        "the request to {host} cannot be sent: a header under providers.{provider} is not ASCII",
    ),
    "TooManyRedirects": (RequestError, "{host} redirects without end"),
    "DecodingError": (ProtocolError, "{provider} sent an answer that cannot be decompressed"),
    "SSEError": (ProtocolError, "{provider} sent a broken event stream"),
    "HTTPError": (ConnectionError, "the exchange with {host} failed{cause}"),
    "CookieConflict": (ProtocolError, "{provider} sent cookies that contradict each other"),
    "StreamError": (ConnectionError, "the answer of {host} was closed before it was read"),
    "OSError": (ConnectionError, "the connection to {host} broke{cause}"),
}


def error_from_exception(
    failure: BaseException,
    *,
    provider: str,
    url: str,
    idle_seconds: float | None = None,
    passage: Passage | None = None,
) -> ChatError:
    """The error that an exception of httpx2, or of the sockets below it, stands for.

    Args:
        failure: what was raised.
        provider: the configured provider's id.
        url: what was asked; only host and port are told.
        idle_seconds: the read timeout in force.
        passage: how far the request had come, where it went by a proxy.
    """
    kind, sentence = next(
        EXCEPTIONS[cls.__name__] for cls in (*type(failure).__mro__, OSError) if cls.__name__ in EXCEPTIONS
    )
    host = host_of(url)
    if passage is not None and type(failure) is TimeoutError:  # Its own limit, and none of httpx2's.
        sentence = "{host} did not connect in time"
    if passage is not None and type(failure).__name__ == "ProxyError":
        return refused_by_proxy(passage.proxy, _leading_status(failure), provider=provider, host=host)
    cause = cause_of(failure, provider, host)
    hint = cause.hint
    if passage is not None and passage.at_proxy:
        host = f"the proxy {passage.proxy.address}"
        hint = hint or f"Check {passage.proxy.named_by}."
    elif passage is not None:
        host = f"{host} (by way of the proxy {passage.proxy.address})"
    facts: dict[str, Any] = {
        "host": host,
        "provider": provider,
        "idle": f"{idle_seconds:g}" if idle_seconds is not None else "too many",
        "cause": cause.words,
    }
    message = sentence.format(**facts)
    if "{provider}" not in sentence:
        message = f"{provider} cannot be asked: {message}"
    return kind(f"{message}.", provider=provider, hint=hint, retryable=cause.retryable)


def _leading_status(failure: BaseException) -> int | None:
    """The status that httpx2 puts before the proxy's reason: `407 Proxy Authentication Required`."""
    found = re.match(r"\d{3}\b", str(failure))
    return int(found[0]) if found else None
