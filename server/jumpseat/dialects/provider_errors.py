"""Parses a provider's error bodies, classifies them, and writes the error message.

`http/failures.py` uses this module for HTTP error bodies, and adds statuses and headers. The decoders use it
for errors in mid-stream. Source of shapes and patterns: `tests/dialect_rows/chat_completions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConnectionError,
    ContentFilterError,
    ContextExceededError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
)
from jumpseat.system.secrets import redact
from jumpseat.wire import read_json

MAX_TEXT = 240
"""The maximum length, in characters, of a provider's text in a message, which must fit into an echo area."""

_CONTEXT = re.compile(
    r"prompt is too long|exceeds? the context (window|length)|context_length_exceeded|context_window_exceeded"
    r"|maximum context length|exceeds the available context size|exceed_context_size"
    r"|greater than the context length|exceeded max context length|too_many_prompt_tokens"
    r"|total length of all messages is too long|reduce the length of the messages"
    r"|maximum prompt length is|exceeds the limit of \d+|input token count.*exceeds"
    r"|input is too long|context length exceeded|model_max_prompt_tokens_exceeded",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"exceeded your current quota|quota (is |was |has been )?exceeded"
    r"|insufficient (balance|credits?|funds|quota)"
    r"|spend(ing)?[ _]limit|credit balance is too low|out of credits|run out of .{0,30}credits",
    re.IGNORECASE,
)
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "quota_exceeded", "billing_hard_limit_reached", "insufficient_balance",
     "billing_not_active", "billing_error", "insufficient_credits"}
)  # fmt: skip
_FILTER = re.compile(
    r"content[_ ]?filter|content_policy_violation|content management policy|responsible ?ai ?policy"
    r"|data_inspection_failed|moderation_blocked|requires moderation|was flagged|been flagged",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"(incorrect|invalid|malformed|missing|wrong|expired|no) api[ _-]?key|api[ _-]?key[^.]{0,40}"
    r"(not valid|invalid|incorrect|not found|expired|missing)|invalid_api_key|api_key_invalid",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[ _-]?limit|too many requests", re.IGNORECASE)

# An error in mid-stream does not have a status, so one is derived from its code, type or message.
_STATUS_OF_WORD: tuple[tuple[re.Pattern[str], int], ...] = (
    (_RATE, 429),
    (re.compile(r"authentication|unauthorized|invalid_api_key", re.IGNORECASE), 401),
    (re.compile(r"permission|forbidden", re.IGNORECASE), 403),
    (re.compile(r"overloaded|server_error|unavailable|internal|timeout", re.IGNORECASE), 500),
    (re.compile(r"invalid_(request|argument|prompt)|image_|_image", re.IGNORECASE), 400),
    (re.compile(r"not_found|too_large|unsupported|bad request", re.IGNORECASE), 400),
)

_PAGE = re.compile(r"^\s*<|<(!doctype|html|body|head)\b", re.IGNORECASE)
# This matches the first line of a stack trace of Python, JavaScript, Java, Go or Rust.
_STACK = re.compile(
    r"Traceback \(most recent call last\)|^\s*File \"[^\"\n]{1,300}\", line \d"
    r"|^\s+at [^\n]{1,300}[:(][^\n]{0,300}\)?$|\bgoroutine \d+ \[|\bthread '[^'\n]{0,80}' panicked at",
    re.MULTILINE,
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_ESCAPE = re.compile(r"(\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(\x07|\x1b\\|$)", re.DOTALL)
# This matches the control characters (C0 and C1), and the characters that reorder or break a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class ProviderFault:
    """A parsed error body. Fields other than `message` are None if they are absent from the body."""

    message: str = ""
    code: str | None = None
    type: str | None = None
    param: str | None = None

    @property
    def words(self) -> str:
        """The text that may identify the failure."""
        return " ".join(filter(None, (self.code, self.type, self.message)))


def read_fault(body: bytes | Any) -> ProviderFault:
    """Parse an error body of any known shape; the texts in an unknown shape become the message.

    Args:
        body: the bytes of an answer, or parsed JSON.
    """
    if isinstance(body, bytes | bytearray):
        try:
            body = read_json(bytes(body))
        except ValueError:
            return ProviderFault(bytes(body[:16_384]).decode("utf-8", "replace"))
    if isinstance(body, list) and body:
        body = body[0]  # Gemini's compatible endpoint wraps the object in an array.
    if not isinstance(body, dict):
        return ProviderFault("" if body is None else str(body))
    inner = body.get("error")
    if not isinstance(inner, dict):
        # Ollama, xAI and Venice send `error` as text; Mistral sends `message` without `error`.
        text = inner if isinstance(inner, str) else body.get("message")
        if text is None:  # Mistral's 401 and FastAPI servers have `detail`.
            text = _read_detail(body.get("detail"))
        return _parse_fault(body, text)
    text = inner.get("message")
    metadata = inner.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        # OpenRouter's message is only "Provider returned error"; the upstream body contains the cause.
        upstream = read_fault(metadata["raw"].encode())
        text = f"{text}: {upstream.message}" if upstream.message else text
    nested = inner.get("innererror")
    if isinstance(nested, dict) and nested.get("code"):
        return _parse_fault({**inner, "type": nested["code"]}, text)
    return _parse_fault(inner, text if text is not None else inner.get("type"))


def _parse_fault(source: dict[str, Any], text: Any) -> ProviderFault:
    def word(key: str) -> str | None:
        value = source.get(key)
        # llama.cpp, OpenRouter and Perplexity send an integer.
        return str(value) if isinstance(value, str | int) and value != "" else None

    code = word("code")
    details = source.get("details")
    if code is None and isinstance(details, dict) and isinstance(details.get("error_code"), str):
        code = details["error_code"]  # Anthropic's code is more exact than its type.
    fault = ProviderFault("" if text is None else str(text), code, word("type"), word("param"))
    # The texts of an unknown shape are more informative than a status alone.
    return fault if fault.words else replace(fault, message="\n".join(_texts_in(source)))


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        # The recursion is safe, because the parser limits the depth.
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)


def _read_detail(detail: Any) -> str | None:
    if isinstance(detail, list) and detail:
        detail = detail[0]
    if isinstance(detail, dict):
        detail = detail.get("msg") or detail.get("message")
    return detail if isinstance(detail, str) else None


def clean_message(text: str) -> str:
    """Clean up a text for a message: one line without markup, stack trace, control characters or secrets.

    The result has at most `MAX_TEXT` characters, and is empty for an HTML page.
    """
    if _PAGE.search(text):
        return ""
    if stack := _STACK.search(text):
        text = text[: stack.start()]
    text = _CONTROL.sub(" ", _ESCAPE.sub("", text))
    text = " ".join(redact(_TAG.sub("", text)).split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1].rstrip() + "…"


def classify(fault: ProviderFault, status: int | None, *, may_retry_soon: bool = False) -> type[ChatError]:
    """Return the class of the error.

    Args:
        fault: the parsed body.
        status: the HTTP status; None for an error in mid-stream.
        may_retry_soon: whether the answer names a time to wait, so that "quota" in its text means a rate
            limit.
    """
    words = fault.words
    if status is None:
        status = _implied_status(fault)
    if status == 402 or fault.code in _QUOTA_CODES or fault.type in _QUOTA_CODES:
        return QuotaExceededError
    if status in (400, 403, 429) and _QUOTA.search(words) and not may_retry_soon:
        return QuotaExceededError
    if status in (400, 413, 422, 500) and _CONTEXT.search(words):
        return ContextExceededError
    if status in (400, 403, 422) and _FILTER.search(words):
        return ContentFilterError
    # xAI answers a bad key with 400.
    if status == 401 or (status == 400 and _BAD_KEY.search(words)):
        return AuthenticationError
    if status == 429 or (status == 403 and _RATE.search(words)):
        return RateLimitError
    if status == 403:
        return AuthorizationError
    if status in (408, 421):
        return ConnectionError
    if status == 424 or status >= 500:
        return ServerError
    return RequestError


def _implied_status(fault: ProviderFault) -> int:
    if fault.code is not None and fault.code.isdecimal() and 400 <= int(fault.code[:4]) < 600:
        return int(fault.code)
    words = fault.words
    if _CONTEXT.search(words) or _FILTER.search(words) or _BAD_KEY.search(words):
        return 400
    if _QUOTA.search(words):
        return 429
    named = " ".join(filter(None, (fault.code, fault.type)))
    for text in (named, fault.message):
        for pattern, status in _STATUS_OF_WORD:
            if pattern.search(text):
                return status
    return 500


def error_from_fault(
    fault: ProviderFault, provider: str, *, status: int | None = None, **facts: Any
) -> ChatError:
    """Create the error to raise for an error body.

    Args:
        fault: the parsed body.
        provider: the configured provider's id.
        status: the HTTP status; None for an error in mid-stream.
        facts: further keyword arguments of `ChatError`.
    """
    kind = classify(fault, status, may_retry_soon=facts.get("retry_after") is not None)
    lead = _lead(kind, provider) + (f" (HTTP {status})" if status is not None else "")
    words = clean_message(fault.message)
    message = f"{lead}: {words}" if words else lead
    if message[-1] not in ".!?…":
        message += "."
    if kind is AuthenticationError:
        facts.setdefault("hint", f"Check the key under providers.{provider}.api_key in the configuration.")
    return kind(message, provider=provider, status_code=status, provider_code=fault.code, **facts)


def _lead(kind: type[ChatError], provider: str) -> str:
    leads: dict[type[ChatError], str] = {
        AuthenticationError: f"{provider} does not accept the credential",
        AuthorizationError: f"{provider} does not allow this",
        RateLimitError: f"{provider} is limiting requests for now",
        QuotaExceededError: f"The quota at {provider} is used up",
        ContextExceededError: f"The conversation is too long for the model at {provider}",
        ContentFilterError: f"The content filter of {provider} blocked the prompt",
        ConnectionError: f"{provider} timed out waiting for the request",
        ServerError: f"{provider} failed",
    }
    return leads.get(kind, f"{provider} refused the request")
