"""Error answers: GitHub's REST host uses JSON, the data plane JSON or plain text.

The data plane sends its errors as text/plain even when they are JSON. Messages are the service's own.
"""

from __future__ import annotations

import json
from typing import Any

from jumpseat.testing.upstream import Reply

_REST_DOCS = "https://docs.github.com/rest"


class Refused(Exception):  # noqa: N818 -- it is an answer, not a fault of the emulator.
    """Ends the handling of a request with this answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body)
        self.reply = reply


def rest_error(status: int, message: str, **headers: str) -> Reply:
    """GitHub REST's shape of an error."""
    body = {"message": message, "documentation_url": _REST_DOCS, "status": str(status)}
    return Reply.json(body, status, **headers)


def html_safe_json(value: Any) -> str:
    """JSON as the data plane writes it: keys sorted, characters of HTML escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(status: int, text: str, **headers: str) -> Reply:
    """An error of the data plane in plain text."""
    return Reply.raw(
        text.encode(), status, "text/plain; charset=utf-8", X_Content_Type_Options="nosniff", **headers
    )


def coded(status: int, message: str, code: str, *, retry_after: str | None = None, **more: str) -> Reply:
    """An error of the data plane in JSON with the content type of plain text; `more` goes into `error`."""
    headers = {} if retry_after is None else {"retry_after": retry_after}
    body = {"error": {"message": message, "code": code, **more}}
    return plain(status, html_safe_json(body) + "\n", **headers)


def invalid_body(message: str) -> Reply:
    """A body that the service does not accept."""
    return coded(400, message, "invalid_request_body")


def model_not_supported() -> Reply:
    """A model that does not exist, or not for this account."""
    message = "The requested model is not supported."
    return coded(400, message, "model_not_supported", param="model", type="invalid_request_error")


def quota_exceeded(retry_after: str) -> Reply:
    """The monthly quota is used up."""
    return coded(402, "You have no quota", "quota_exceeded", retry_after=retry_after)
