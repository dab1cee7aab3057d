"""Classifies a JSON value as a JSON-RPC 2.0 request, notification, response or batch, or as invalid.

Method names and params are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800

MAX_BATCH = 1000
"""The maximum number of messages in one batch."""

RequestId: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Request:
    """A call that must be answered exactly once."""

    id: RequestId
    method: str
    params: Any = None
    """The params as received; None if absent."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that is never answered."""

    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class RpcResponse:
    """The response to one of our requests. It has a result unless `error` is set."""

    id: RequestId | None
    """The request's id; None if the other side could not read it."""

    result: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Invalid:
    """JSON that is not a JSON-RPC message, or a message beyond a limit. `reason` is one sentence."""

    id: RequestId | None
    """The id to use in the answer; None if it could not be read."""

    reason: str


Message: TypeAlias = Request | Notification | RpcResponse | Invalid


@dataclass(frozen=True, slots=True)
class Batch:
    """One or more messages in one frame."""

    items: tuple[Message, ...]


def classify(value: Any) -> Message | Batch:
    """Classify a parsed JSON value; never raise. An `Invalid` from the reader is returned unchanged."""
    if isinstance(value, Invalid):
        return value
    if isinstance(value, list):
        if not value:
            return Invalid(None, "A batch must contain at least one message.")
        if len(value) > MAX_BATCH:
            return Invalid(None, f"A batch may contain at most {MAX_BATCH} messages.")
        return Batch(tuple(_classify_one(item) for item in value))
    return _classify_one(value)


def usable_id(value: Any) -> RequestId | None:
    """Return the value if it is a valid request id; otherwise None."""
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _classify_one(value: Any) -> Message:
    if not isinstance(value, dict):
        return Invalid(None, "A message must be a JSON object.")
    answer_id = usable_id(value.get("id"))
    if value.get("jsonrpc") != "2.0":
        return Invalid(answer_id, 'A message must have "jsonrpc": "2.0".')
    if "method" not in value:
        return _classify_response(value, answer_id)
    method = value["method"]
    if not isinstance(method, str):
        return Invalid(answer_id, "The method must be a string.")
    params = value.get("params")
    if "id" not in value:
        return Notification(method, params)
    if answer_id is None:
        return Invalid(None, "The id of a request must be a string or an integer.")
    return Request(answer_id, method, params)


def _classify_response(value: dict[str, Any], answer_id: RequestId | None) -> Message:
    error = value.get("error")
    if "id" not in value or ("result" not in value and error is None):
        return Invalid(answer_id, "A message must have a method, or an id with a result or an error.")
    if answer_id is None and value["id"] is not None:
        return Invalid(None, "The id of a response must be a string or an integer.")
    if error is None:
        return RpcResponse(answer_id, value["result"])
    if not isinstance(error, dict):
        return Invalid(answer_id, "The error of a response must be an object.")
    return RpcResponse(answer_id, None, error)
