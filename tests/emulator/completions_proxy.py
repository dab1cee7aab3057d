"""The proxy plane: code completions (inline and panel), and experiments.

It supports only what the official language server requests, so that this server can run with the emulator.
"""

from __future__ import annotations

import secrets
from typing import Any

from jumpseat.testing.upstream import RecordedRequest, Reply
from tests.emulator import data
from tests.emulator.admission import admit
from tests.emulator.refusals import Refused, html_safe_json
from tests.emulator.state import State, body_object

_MAX_CHOICES = 10


def answer(state: State, plane: str, request: RecordedRequest) -> Reply:
    """Return the answer of the completions proxy."""
    if request.method == "POST" and request.path.startswith("/v1/engines/"):
        try:
            entry = admit(state, plane, request)
        except Refused as refused:
            return refused.reply
        entry.account.buckets["completions"].charge(1)
        return _complete(state, body_object(request) or {})
    return data.answer(state, plane, request)


def _complete(state: State, body: dict[str, Any]) -> Reply:
    """Return a completion for each requested choice. It quotes the line that it completes."""
    lines = str(body.get("prompt", "")).rstrip().splitlines() or [""]
    shared = {
        "id": f"cmpl-{secrets.token_hex(8)}",
        "created": int(state.clock.now()),
        "model": "gpt-41-copilot",
    }
    chunks = []
    for index in range(min(int(body.get("n") or 1), _MAX_CHOICES)):
        for text, finish in ((f"  # completion {index + 1} ", None), (f"of: {lines[-1].strip()}", "stop")):
            choice = {"index": index, "text": text, "finish_reason": finish, "logprobs": None}
            chunks.append({**shared, "choices": [choice]})
    pieces = [f"data: {html_safe_json(chunk)}\n\n".encode() for chunk in chunks]
    return Reply((*pieces, b"data: [DONE]\n\n"), headers={"content-type": "text/event-stream"}, chunked=True)


def telemetry(request: RecordedRequest) -> Reply:
    """Return the answer of the telemetry host, which has no experiments and accepts every report."""
    if request.method == "GET":
        return Reply.json({"Configs": [{"Id": "vscode", "Parameters": {}}], "AssignmentContext": ""})
    return Reply.json({"itemsReceived": 0, "itemsAccepted": 0, "errors": []})
