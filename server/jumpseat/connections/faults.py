"""Maps exceptions to wire errors, without the texts of unexpected exceptions. No other module does this.

`docs/protocol/errors.md` lists the codes and shapes.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

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
)
from jumpseat.system.secrets import redact
from jumpseat.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    SERVER_NOT_INITIALIZED,
)

logger = logging.getLogger(__name__)

CODES: Mapping[type[ChatError], int] = {
    AuthenticationError: 1000,
    AuthorizationError: 1001,
    RateLimitError: 1002,
    QuotaExceededError: 1003,
    RequestError: 1004,
    UnknownModelError: 1004,
    InfillUnsupportedError: 1004,
    ContextExceededError: 1005,
    ContentFilterError: 1006,
    ServerError: 1007,
    ConnectionError: 1008,
    ProtocolError: 1009,
    ConfigError: 1010,
    InvalidRequestError: INVALID_PARAMS,
    ChatCancelled: REQUEST_CANCELLED,
    ChatError: INTERNAL_ERROR,
}

_KINDS = {
    PARSE_ERROR: "parse_error",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    INTERNAL_ERROR: "internal",
    SERVER_NOT_INITIALIZED: "not_initialized",
    REQUEST_CANCELLED: "cancelled",
}


class RpcFault(Exception):  # noqa: N818 - an error of the client's request, not of the daemon
    """A message that breaks the rules of JSON-RPC, of the lifecycle, or of a method's params."""

    def __init__(self, code: int, message: str, problems: Sequence[Problem] = ()) -> None:
        """
        Args:
            code: a JSON-RPC or LSP code in `_KINDS`.
            message: one plain sentence.
            problems: the problem with each invalid value of the params.
        """
        super().__init__(message)
        self.code = code
        self.message = message
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class WireError:
    """The `error` member of a response."""

    code: int
    message: str
    data: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the member as a JSON object."""
        return {"code": self.code, "message": self.message, "data": self.data}


CANCELLED = WireError(
    REQUEST_CANCELLED, "The request was cancelled.", {"kind": "cancelled", "retryable": False}
)


def to_wire_error(exception: BaseException) -> WireError:
    """Return the wire error for any exception, without `data.partial`, which the caller adds."""
    match exception:
        case RpcFault():
            return _make_error(exception.code, exception.message, exception.problems)
        case InvalidRequestError():
            return _make_error(INVALID_PARAMS, exception.message, exception.problems)
        case ValidationError():
            problems = _list_problems(exception)
            first = problems[0]
            return _make_error(INVALID_PARAMS, f"{first.path or 'params'}: {first.message}", problems)
        case ChatError():
            return _encode_chat_error(exception)
        case _:
            logger.error("a request failed because of a bug in the daemon", exc_info=exception)
            return _make_error(
                INTERNAL_ERROR, "The daemon failed on this request; its log has the details.", ()
            )


def _make_error(code: int, message: str, problems: Sequence[Problem]) -> WireError:
    data: dict[str, Any] = {"kind": _KINDS[code], "retryable": False}
    if problems:
        data["errors"] = [{"path": problem.path, "message": problem.message} for problem in problems]
    return WireError(code, redact(message), data)


def _list_problems(error: ValidationError) -> list[Problem]:
    """Return the problems in a pydantic error, one for each path, without input values."""
    problems: dict[str, Problem] = {}
    for each in error.errors(include_url=False, include_input=False):
        path = _format_path(each["loc"], is_tag_error=each["type"].startswith("union_tag"))
        problems.setdefault(path, Problem(path, _describe_problem(each)))
    # If a value may have several shapes, report only the deepest problem: the others come from shapes that
    # the client did not intend.
    outer = {path[:at] for path in problems for at, character in enumerate(path) if character == "."}
    return [each for path, each in problems.items() if path not in outer]


_KEY = re.compile(r"[a-z][A-Za-z0-9]*|$")
"""Matches the keys of params. Most names of union branches, such as the names of classes, do not match."""

_UNION_BRANCHES = frozenset({"str", "int", "bool", "list", "dict"})
"""The names of union branches that look like keys."""


def _format_path(location: Sequence[int | str], *, is_tag_error: bool) -> str:
    """Return the dotted path in the client's params, without the union branches that pydantic adds.

    Args:
        location: the path in a pydantic error.
        is_tag_error: whether the error concerns the `type` of the object at the path.
    """
    parts: list[str] = []
    for index, part in enumerate(location):
        # pydantic puts the type of a block after its index in `content`.
        is_block = parts[-2:-1] == ["content"] and isinstance(location[index - 1], int)
        if isinstance(part, str) and (is_block or part in _UNION_BRANCHES or not _KEY.fullmatch(part)):
            continue
        parts.append(str(part))
    return ".".join([*parts, "type"] if is_tag_error else parts)


_SENTENCES = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is required",
    "value_error": "{error}",
}


def _describe_problem(error: Mapping[str, Any]) -> str:
    """Describe a pydantic error in JSON terms."""
    known = _SENTENCES.get(error["type"])
    return error["msg"] if known is None else known.format_map(error.get("ctx", {}))


def _encode_chat_error(error: ChatError) -> WireError:
    code = next(CODES[base] for base in type(error).__mro__ if base in CODES)
    reset_at = error.reset_at.isoformat().replace("+00:00", "Z") if error.reset_at else None
    facts = {
        "kind": error.kind,
        "provider": error.provider,
        "statusCode": error.status_code,
        "providerCode": error.provider_code,
        "retryable": error.retryable,
        "retryAfter": error.retry_after,
        "resetAt": reset_at,
        "providerRequestId": error.provider_request_id,
        "hint": redact(hint) if (hint := _format_hint(error)) else None,
    }
    data = {key: value for key, value in facts.items() if value is not None}
    return WireError(code, redact(error.message), data)


_LIMITS = (RateLimitError, QuotaExceededError, ServerError)
"""The errors whose hint states the time to wait."""

_UNITS = (("second", 1, 90), ("minute", 60, 90 * 60), ("hour", 3600, 36 * 3600), ("day", 86400, math.inf))
"""Each unit of time with its length in seconds and the longest wait in seconds that is stated in it."""


def _format_hint(error: ChatError) -> str | None:
    """Return the error's hint, with the time to wait if the provider stated one."""
    seconds = error.retry_after
    if seconds is None and error.reset_at is not None:
        seconds = (error.reset_at - datetime.now(UTC)).total_seconds()
    if seconds is None or seconds <= 0 or not isinstance(error, _LIMITS):
        return error.hint
    unit, length = next((name, length) for name, length, longest in _UNITS if seconds <= longest)
    count = math.ceil(seconds / length)  # Round up so that the wait is long enough.
    wait = f"Try again in {count} {unit}{'' if count == 1 else 's'}."
    return f"{wait} {error.hint}" if error.hint else wait
