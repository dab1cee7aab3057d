"""Faults for `CopilotEmulator.script`, each of which replaces one answer.

Some faults begin with the normal answer. For these, the emulator first handles the request (it checks and
charges it), and then changes the answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from jumpseat.testing.upstream import Gate, Piece, RecordedRequest, Reply
from tests.emulator import refusals


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a plane, and the normal answer to it."""

    plane: str
    request: RecordedRequest
    honest: Callable[[], Reply]
    """Handles and charges the request, and returns the normal answer. It must not be called twice."""


Behaviour = Reply | Callable[[Call], Reply]


def quota_exceeded(retry_after: str = "86400", *, bare: bool = False) -> Reply:
    """Return a 402, in JSON or, if `bare`, in plain text like some servers."""
    if bare:
        return refusals.make_plain_error(402, "quota exceeded\n")
    return refusals.quota_exceeded(retry_after)


def rate_limited(seconds: int | None = 30, code: str = "rate_limited", message: str = "") -> Reply:
    """Return a 429, without `retry-after` if `seconds` is None."""
    after = None if seconds is None else str(seconds)
    reply = refusals.make_coded_error(429, message or "rate limit exceeded", code, retry_after=after)
    return dataclasses.replace(reply, headers={**reply.headers, "x-ratelimit-exceeded": "requests"})


def forbidden(message: str = "forbidden: access denied", code: str | None = None) -> Reply:
    """Return a 403 with a message and possibly a code."""
    if code is None:
        return refusals.make_plain_error(403, f"{message}\n")
    return refusals.make_coded_error(403, message, code)


def reject_token(message: str = "unauthorized: token expired") -> Reply:
    """Return a 401."""
    return refusals.make_plain_error(401, f"{message}\n")


def server_error(status: int = 500) -> Reply:
    """Return a 5xx with the page of a proxy in front of the service."""
    page = f"<html><body><h1>{status}</h1>The server could not handle the request.</body></html>"
    return Reply.raw(page.encode(), status, "text/html; charset=utf-8")


def block_prompt() -> Reply:
    """Return a 422, which means that the prompt was blocked."""
    return refusals.make_plain_error(422, "Response was filtered by the Responsible AI Service\n")


def reject_client() -> Reply:
    """Return a 466, which means that the service no longer accepts this client."""
    return refusals.make_plain_error(466, "client version is too old\n")


def hold(gate: Gate, after: int = 1) -> Callable[[Call], Reply]:
    """Send this many events of the normal answer, and the rest after the gate has been opened."""
    return lambda call: _insert(call.honest(), gate, after)


def stall(after: int = 1) -> Callable[[Call], Reply]:
    """Send this many events of the normal answer, then nothing."""
    return lambda call: _first(call.honest(), after).stall_after()


def reset(after: int = 1) -> Callable[[Call], Reply]:
    """Send this many events of the normal answer, then reset the connection."""
    return lambda call: _first(call.honest(), after).reset_after()


def fail(
    code: str = "internal_error", message: str = "The model failed.", after: int = 1
) -> Callable[[Call], Reply]:
    """Send this many events of the normal answer, then an error in the form of the dialect."""

    def behave(call: Call) -> Reply:
        reply = _first(call.honest(), after)
        return dataclasses.replace(reply, pieces=(*reply.pieces, _error(call.request.path, code, message)))

    return behave


def _error(path: str, code: str, message: str) -> bytes:
    if path == "/v1/messages":
        error = {"type": "error", "error": {"type": code, "message": message}}
        return f"event: error\ndata: {refusals.html_safe_json(error)}\n\n".encode()
    if path.endswith("/responses"):
        fault = {"type": "error", "code": code, "message": message, "param": None, "sequence_number": 99}
        return f"event: error\ndata: {refusals.html_safe_json(fault)}\n\n".encode()
    body = {"error": {"message": message, "code": code, "type": "server_error"}}
    return f"data: {refusals.html_safe_json(body)}\n\n".encode()


def _first(reply: Reply, count: int) -> Reply:
    return dataclasses.replace(reply, pieces=tuple(reply.pieces[:count]))


def _insert(reply: Reply, piece: Piece, after: int) -> Reply:
    return dataclasses.replace(reply, pieces=(*reply.pieces[:after], piece, *reply.pieces[after:]))
