"""Error answers, in JSON from GitHub's REST host, and in JSON or plain text from the data plane.

The data plane sends its errors as text/plain even if they are JSON. The messages are copied from the service.
"""

from __future__ import annotations

import json
from typing import Any

from jumpseat.testing.upstream import Reply

_REST_DOCS = "https://docs.github.com/rest"


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault of the emulator
    """An exception that ends the handling of a request with this answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


def rest_error(status: int, message: str, **headers: str) -> Reply:
    """Return an error in the form of GitHub's REST host."""
    body = {"message": message, "documentation_url": _REST_DOCS, "status": str(status)}
    return Reply.json(body, status, **headers)


def html_safe_json(value: Any) -> str:
    """Return JSON as the data plane writes it, with sorted keys and escaped HTML characters."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def make_plain_error(status: int, text: str, **headers: str) -> Reply:
    """Return an error of the data plane in plain text."""
    return Reply.raw(
        text.encode(), status, "text/plain; charset=utf-8", X_Content_Type_Options="nosniff", **headers
    )


def make_coded_error(
    status: int, message: str, code: str, *, retry_after: str | None = None, **more: str
) -> Reply:
    """Return an error of the data plane in JSON, sent as text/plain, with the members `more` in `error`."""
    headers = {} if retry_after is None else {"retry_after": retry_after}
    body = {"error": {"message": message, "code": code, **more}}
    return make_plain_error(status, html_safe_json(body) + "\n", **headers)


def invalid_body(message: str) -> Reply:
    """Return the error for a body that the service does not accept."""
    return make_coded_error(400, message, "invalid_request_body")


def model_not_supported() -> Reply:
    """Return the error for a model that does not exist, or not for this account."""
    message = "The requested model is not supported."
    return make_coded_error(400, message, "model_not_supported", param="model", type="invalid_request_error")


def quota_exceeded(retry_after: str) -> Reply:
    """Return the error for a monthly quota that is used up."""
    return make_coded_error(402, "You have no quota", "quota_exceeded", retry_after=retry_after)
