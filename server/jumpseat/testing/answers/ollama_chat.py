"""Builds bodies in Ollama's dialect for scripts of the fake upstream.

The shapes follow the answers of POST /api/chat in Ollama's API reference and `api/types.go`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.testing.scripts import Answer, Script
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply

CREATED_AT = "2026-01-02T03:04:05.678901234Z"
STATS = {
    "total_duration": 4_000_000_000,
    "load_duration": 1_000_000_000,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 1_000_000_000,
    "eval_count": 29,
    "eval_duration": 2_000_000_000,
}
NDJSON = "application/x-ndjson"

Line = Mapping[str, Any] | Gate


def part(content: str = "", *, model: str = "qwen3:4b", done: bool = False, **message: Any) -> dict[str, Any]:
    """Return an object of a streamed answer. For the last one, see `last`.

    Args:
        message: further keys of the object's message, such as `thinking` and `tool_calls`.
    """
    whole = {"role": "assistant", "content": content, **message}
    return {"model": model, "created_at": CREATED_AT, "message": whole, "done": done}


def last(done_reason: str | None = "stop", content: str = "", **extra: Any) -> dict[str, Any]:
    """Return the last object of an answer. `extra` replaces or adds keys; None removes a key."""
    line = {**part(content, done=True), "done_reason": done_reason, **STATS, **extra}
    return {key: value for key, value in line.items() if value is not None}


def call(
    name: str, arguments: Any = None, *, call_id: str | None = None, index: int | None = 0
) -> dict[str, Any]:
    """Return a tool call, by default as older servers send it: without an id, and always with index 0."""
    function = {"name": name, "arguments": {} if arguments is None else arguments}
    if index is not None:
        function["index"] = index
    return {"id": call_id, "function": function} if call_id is not None else {"function": function}


def lines(*objects: Line, **headers: str) -> Reply:
    """Return a streamed answer with one write for each line."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    pieces = tuple(each if isinstance(each, Gate) else json.dumps(each).encode() + b"\n" for each in objects)
    return Reply(pieces, 200, {"content-type": NDJSON, **named}, chunked=True)


def ndjson(*objects: Mapping[str, Any]) -> bytes:
    """Return the body of the answer that `lines` returns."""
    return lines(*objects).body


def error(message: str, status: int, **extra: Any) -> Reply:
    """Return an error."""
    return Reply.json({"error": message, **extra}, status)


class OllamaChatScript(Script):
    """The script for Ollama's own dialect."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/api/chat") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """See `Script`."""
        calls = [
            call(name, json.loads("".join(pieces) or "{}"), call_id=call_id)
            for call_id, name, pieces in answer.calls
        ]
        stop = answer.stop or "stop"
        if streamed:
            return lines(
                *(part(thinking=piece) for piece in answer.thinking),
                *(part(piece) for piece in answer.text),
                *(part(tool_calls=[each]) for each in calls),
                last(stop),
            )
        whole = last(stop, "".join(answer.text))
        whole["message"] |= {"thinking": "".join(answer.thinking), "tool_calls": calls}
        return Reply.json(whole)

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """See `Script`."""
        return Reply.json({"error": message}, status, **headers)

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Return whether a chat requests a streamed answer, which is the default in this dialect."""
        return self.parse_request(request).get("stream") is not False

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script the list of models and the same details for each of them."""
        rows = [{"name": name, "model": name, "details": {"family": "contract"}} for name in models]
        upstream.default(Reply.json({"models": rows}), path="/api/tags")
        shown = {
            "details": {"family": "contract"},
            "model_info": {"general.architecture": "contract", "contract.context_length": 32_768},
            "capabilities": ["completion", "tools", "thinking", "vision"],
        }
        upstream.default(Reply.json(shown), path="/api/show")
