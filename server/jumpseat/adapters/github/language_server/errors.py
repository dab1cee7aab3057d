"""Converts errors of the Copilot language server to errors of `jumpseat.chat`, with hints. Pure functions.

Sources: responses of `@github/copilot-language-server` 1.539, and the codes in GitHub's own client for Xcode
(`CLSErrorInfo.swift`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jumpseat.adapters.github.hosts import login_command
from jumpseat.adapters.github.language_server.words import clean_text
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
)
from jumpseat.dialects.loose_values import number_in, text_in
from jumpseat.dialects.provider_errors import classify, read_fault
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

UPDATE_COMMAND = "npm install -g @github/copilot-language-server@latest"

MAX_SERVER_WAIT_SECONDS = 30.0
"""If a rate limit's `retryAfter` is at most this, the server itself waits, and retries three times."""

_UPDATE_HINT = f"Update the Copilot language server: `{UPDATE_COMMAND}`."

_SIGNED_OUT = frozenset({1000, 1003})
_SIGN_IN_FAILED = frozenset({1001, 1004, 1005, 1006})
_NO_COPILOT = 1002

_REQUEST_IDS = re.compile(r"\s*(?:GitHub )?Request ID: (\S+)(?:\s*\|\s*GitHub Request ID: (\S+))?\s*$")
_WRAPPING = re.compile(
    r"^(?:Request \S+ failed with message:\s*|Error on conversation request:\s*|failed:\s*|canceled:\s*"
    r"|Throttled:\s*|Oops[,.]\s*|Sorry, an error occurred while generating a response\.\s*(?:Details:\s*)?)"
)
_LEARN_MORE = re.compile(r"\s*\[Learn More\]\([^)]*\)", re.IGNORECASE)
_UNHANDLED = re.compile(r"^unhandled status from server: (\d{3})\s*(.*)$", re.DOTALL | re.IGNORECASE)
_BAD_TOKEN = re.compile(r"^token expired or invalid: (\d{3})", re.IGNORECASE)
_BARE_STATUS = re.compile(r"^HTTP (\d{3})\b")
_UNREACHED = re.compile(r"could not log in with device flow on|ENOTFOUND|ECONNREFUSED|timed? ?out", re.I)
_TOKEN_VARIABLE = re.compile(r"^environment variable \S+ provides", re.I)
_NO_ACCESS = re.compile(r"no access to github copilot", re.IGNORECASE)
_BAD_IMAGE = re.compile(r"could not read image|unsupported image format", re.IGNORECASE)
_RETRY = re.compile(r"\bretry in (\d+) ?s", re.IGNORECASE)
_OUTDATED = re.compile(r"client not supported|plugin is out of date", re.IGNORECASE)

# These patterns classify errors without an HTTP status by their messages. The first match is used.
_BY_WORDS: tuple[tuple[re.Pattern[str], type[ChatError]], ...] = (
    (re.compile(r"token limit exceeded|model_max_prompt_tokens_exceeded", re.I), ContextExceededError),
    (
        re.compile(r"model is not supported|model id is required|no model configuration", re.I),
        RequestError,
    ),
    (_OUTDATED, RequestError),
    (_BAD_IMAGE, RequestError),
    (re.compile(r"completions exhausted|completions limit reached", re.I), QuotaExceededError),
    (re.compile(r"rate[ -]?limit", re.I), RateLimitError),
    (
        re.compile(
            r"not (signed in|authenticated|authorized)|please sign in|failed to get copilot token", re.I
        ),
        AuthenticationError,
    ),
    (re.compile(r"authorization required", re.I), AuthorizationError),
    (re.compile(r"got filtered|responsible ai", re.I), ContentFilterError),
    (re.compile(r"server side error|service is currently unavailable", re.I), ServerError),
    (
        re.compile(
            r"^terminated|fetch failed|socket hang up|network|timed? ?out|other side closed"
            r"|\b(ECONN\w+|ENOTFOUND|EAI_AGAIN|EPIPE|ENETUNREACH|ERR_HTTP2?\w*|UND_ERR\w+)\b",
            re.I,
        ),
        ConnectionError,
    ),
)


def request_error(error: RpcError, *, provider: str, model: str | None = None) -> ChatError:
    """Return the error for a request that the server refused.

    Args:
        error: the server's error response.
        provider: the configured provider's id.
        model: the model of the request, if it has one.
    """
    parsed = _parse(error.message)
    said = parsed.words
    status = _status(error.code)
    reason = text_in(error.data.get("reason")) if status and isinstance(error.data, Mapping) else ""
    facts: dict[str, Any] = {
        "provider": provider,
        "provider_code": reason or str(error.code),
        "provider_request_id": parsed.request_id,
        "status_code": status or parsed.status,
    }
    if error.code in _SIGNED_OUT:
        said = said.removeprefix("Not authenticated:").strip()
    if error.code == _NO_COPILOT or _NO_ACCESS.search(said):
        message = _sentence(f"The account at {provider} may not use Copilot", said)
        hint = "Check the plan, or ask the organization for a seat, on the Copilot page of GitHub's settings."
        return AuthorizationError(message, hint=hint, **facts)
    if error.code in _SIGNED_OUT:
        message = _sentence(f"{provider} is not signed in", said)
        return AuthenticationError(message, hint=_sign_in_hint(provider), **facts)
    if error.code in _SIGN_IN_FAILED:
        message = _sentence(f"{provider} could not sign in", said)
        hint = f"Run `{login_command(provider)}` again."
        if _UNREACHED.search(said):
            keys = f"providers.{provider}.host and providers.{provider}.proxy"
            hint = f"Check the network, {keys}, and try again."
        elif _TOKEN_VARIABLE.search(said):
            places = f"the environment of your editor or shell, or in providers.{provider}.env"
            hint = f"The variable is set in {places}."
        return AuthenticationError(message, hint=hint, **facts)
    kind = _kind(facts["status_code"], reason, said, filtered=False)
    if kind is None:
        update = _UPDATE_HINT if error.code == METHOD_NOT_FOUND else None
        message = _sentence(f"{provider} could not answer the request", said)
        return ProtocolError(message, hint=update, **facts)
    if kind is RateLimitError:
        facts["retry_after"] = parsed.retry_after
    return _make_error(kind, said, provider, model, facts)


def turn_error(
    error: Mapping[str, Any],
    *,
    provider: str,
    model: str | None = None,
    reset_at: datetime | None = None,
    is_limited: bool = False,
) -> ChatError:
    """Return the error for a turn that the server ended with an error.

    Args:
        error: `{message, code?, reason?, retryAfter?, responseIsIncomplete?, responseIsFiltered?}`; `code` is
            an HTTP status or one of the server's own codes, and `retryAfter` is in seconds.
        provider: the configured provider's id.
        model: the model of the request.
        reset_at: the end of the rate limit, from a notice; used if the error itself does not name a delay.
        is_limited: whether a notice with `reset_at` arrived in this turn. If so, an error of unknown cause
            is treated as a rate limit.
    """
    parsed = _parse(text_in(error.get("message")))
    said, reason, code = parsed.words, text_in(error.get("reason")), error.get("code")
    if isinstance(code, int) and code in {*_SIGNED_OUT, *_SIGN_IN_FAILED, _NO_COPILOT}:
        return request_error(RpcError(code, text_in(error.get("message"))), provider=provider, model=model)
    status = _status(code) or parsed.status
    facts: dict[str, Any] = {
        "provider": provider,
        "provider_code": reason or None,
        "provider_request_id": parsed.request_id,
        "status_code": status,
    }
    kind = _kind(status, reason, said, filtered=error.get("responseIsFiltered") is True)
    if kind is None and is_limited:
        kind = RateLimitError
    if kind is None:
        return ProtocolError(_sentence(f"{provider} could not finish the answer", said), **facts)
    if kind is RateLimitError:
        seconds = _seconds(error.get("retryAfter"))
        facts["retry_after"] = parsed.retry_after if seconds is None else seconds
        facts["reset_at"] = reset_at if facts["retry_after"] is None else None
    failure = _make_error(kind, said, provider, model, facts)
    failure.forbids_retry = (
        kind is RateLimitError
        and failure.retry_after is not None
        and failure.retry_after <= MAX_SERVER_WAIT_SECONDS
    )
    return failure


def is_cut_off(error: Mapping[str, Any]) -> bool:
    """Whether a turn's error means that the answer reached the model's limit of output tokens."""
    return "response got too long" in text_in(error.get("message"))


def _kind(status: int | None, reason: str, said: str, *, filtered: bool) -> type[ChatError] | None:
    if reason == "model_max_prompt_tokens_exceeded":
        return ContextExceededError
    if reason == "model_not_supported":
        return RequestError
    if filtered or status == 422:
        return ContentFilterError
    if status is not None:
        return classify(read_fault({"message": said, "code": reason or None}), status)
    return _kind_by_words(said)


def _kind_by_words(said: str) -> type[ChatError] | None:
    return next((kind for pattern, kind in _BY_WORDS if pattern.search(said)), None)


def _make_error(
    kind: type[ChatError], said: str, provider: str, model: str | None, facts: Mapping[str, Any]
) -> ChatError:
    """Return an error of a known kind, with its message and hint."""
    status = facts["status_code"]
    what = f"the model {model!r}" if model else "the model"
    lead = f"{provider} refused the request"
    hint: str | None = None
    if kind is QuotaExceededError:
        lead = f"The allowance of {provider} is used up"
        hint = "Wait for the reset, choose a model that the plan includes, or raise GitHub's budget."
    elif kind is RateLimitError:
        lead = f"{provider} limits requests for now"
        hint = "Wait, and send fewer requests, or use another model or provider."
    elif kind is AuthorizationError:
        lead = f"{provider} does not allow this"
        hint = "Check what the account may use, on the Copilot page of GitHub's settings."
    elif kind is AuthenticationError:
        lead, hint = f"{provider} does not accept the sign-in", _sign_in_hint(provider)
    elif kind is ContentFilterError:
        lead, hint = f"The content filter of {provider} blocked this", "Change the wording, and try again."
    elif kind is ContextExceededError:
        lead = f"The conversation is too long for {model or 'the model'} at {provider}"
        hint = "Start a new conversation, or remove parts of this one."
    elif kind is ServerError:
        lead = f"The service behind {provider} failed"
    elif kind is ConnectionError:
        lead = f"The connection of {provider} to its service failed"
        hint = "Check the network and the proxy of this provider, and try again."
    elif status == 466 or _OUTDATED.search(said):
        lead, hint = f"GitHub no longer supports this version of the server of {provider}", _UPDATE_HINT
    elif _BAD_IMAGE.search(said):
        hint = "Attach images as PNG, JPEG, GIF or WebP."
    elif facts["provider_code"] == "model_not_supported" or _kind_by_words(said) is RequestError:
        lead = f"{provider} does not offer {what} to this account"
        hint = f"Run `jumpseat models --provider {provider} --refresh` to see what it offers."
    return kind(_sentence(lead, said), hint=hint, **facts)


def _sign_in_hint(provider: str) -> str:
    return f"Run `{login_command(provider)}`."


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The parts of an error message of the server."""

    words: str
    request_id: str | None = None
    status: int | None = None
    retry_after: float | None = None


def _parse(message: str) -> _Parsed:
    """Parse a message, and remove the parts that are meant for GitHub's own plug-ins."""
    request_id: str | None = None
    status: int | None = None
    if ids := _REQUEST_IDS.search(message):
        # The server assigns the first id, and GitHub the second one.
        request_id = ids[2] or ids[1]
        message = message[: ids.start()]
    while (bare := _WRAPPING.sub("", message)) != message:
        message = bare
    words = _LEARN_MORE.sub("", message).strip()
    if unhandled := _UNHANDLED.match(words):
        status, words = int(unhandled[1]), read_fault(unhandled[2].strip().encode()).message
    elif refused := _BAD_TOKEN.match(words) or _BARE_STATUS.match(words):
        status = int(refused[1])
    retry = _RETRY.search(words)
    return _Parsed(words, request_id, status, float(retry[1]) if retry else None)


def _sentence(lead: str, said: str) -> str:
    words = clean_text(said)
    sentence = f"{lead}: {words}" if words else lead
    return sentence if sentence[-1] in ".!?…" else f"{sentence}."


def _status(code: Any) -> int | None:
    """Return the code if it is an HTTP error status (400 to 599), which the server's own codes never are."""
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    return code if is_status else None


def _seconds(value: Any) -> float | None:
    seconds = number_in(value)
    return seconds if seconds is not None and 0 <= seconds < 1e9 else None
