"""Builds bodies in the Messages dialect for scripts of the fake upstream.

The shapes follow the streamed and whole answers of POST /v1/messages in Anthropic's API reference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jumpseat.testing.scripts import Answer, Script
from jumpseat.testing.upstream import Event, FakeUpstream, Reply

MESSAGE_ID = "msg_fake"
MODEL = "claude-fake"
USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block; its text is streamed in the given pieces."""

    pieces: Sequence[str]
    signature: str = "sig"


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted thinking block."""

    data: str


@dataclass(frozen=True, slots=True)
class Words:
    """A text block, streamed in the given pieces."""

    pieces: Sequence[str]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; its input is streamed in the given pieces of JSON text."""

    id: str
    name: str
    pieces: Sequence[str] = ('{"a"', ": 1}")
    input: Any = None
    """The parsed `pieces`, for answers that are not streamed; None if `pieces` has its default."""


FakeBlock = Thought | Redacted | Words | Call


def message(content: Sequence[Any] = (), stop_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a `message` object."""
    return {
        "id": MESSAGE_ID,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": USAGE,
        **more,
    }


def event(kind: str, **data: Any) -> tuple[str, dict[str, Any]]:
    """Return one event with its name."""
    return kind, {"type": kind, **data}


def block_events(index: int, block: FakeBlock) -> list[Event]:
    """Return the events of one block from its start to its stop."""
    start, deltas = _start_and_deltas(block)
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def message_stream(
    *blocks: FakeBlock, stop_reason: str | None = None, usage: dict[str, Any] | None = None
) -> list[Event]:
    """Return the events of an answer with these blocks. `usage` is sent in the `message_delta` event."""
    events: list[Event] = [event("message_start", message=message()), event("ping")]
    for index, block in enumerate(blocks):
        events += block_events(index, block)
    reason = stop_reason or _usual_stop_reason(blocks)
    delta = {"stop_reason": reason, "stop_sequence": None}
    events.append(event("message_delta", delta=delta, usage=usage or {"output_tokens": 5}))
    events.append(event("message_stop"))
    return events


def message_body(*blocks: FakeBlock, stop_reason: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the answer of `message_stream` as one body."""
    return message([_whole(block) for block in blocks], stop_reason or _usual_stop_reason(blocks), **more)


def error_body(kind: str, text: str, **more: Any) -> dict[str, Any]:
    """Return an error, for a body or for the data of an event."""
    return {"type": "error", "error": {"type": kind, "message": text, **more}, "request_id": "req_fake"}


def _usual_stop_reason(blocks: Sequence[FakeBlock]) -> str:
    return "tool_use" if any(isinstance(block, Call) for block in blocks) else "end_turn"


def _start_and_deltas(block: FakeBlock) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block:
        case Thought():
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in block.pieces]
            signed = {"type": "signature_delta", "signature": block.signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case Redacted():
            return {"type": "redacted_thinking", "data": block.data}, []
        case Words():
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": piece} for piece in block.pieces
            ]
        case Call():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in ("", *block.pieces)
            ]


def _whole(block: FakeBlock) -> dict[str, Any]:
    start, _ = _start_and_deltas(block)
    match block:
        case Thought():
            return {**start, "thinking": "".join(block.pieces), "signature": block.signature}
        case Words():
            return {**start, "text": "".join(block.pieces)}
        case Call():
            return {**start, "input": {"a": 1} if block.input is None else block.input}
        case _:
            return start


class AnthropicMessagesScript(Script):
    """The script for Anthropic's Messages API."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/v1/messages") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """See `Script`."""
        blocks: list[FakeBlock] = []
        if answer.thinking:
            blocks.append(Thought(answer.thinking))
        if answer.text:
            blocks.append(Words(answer.text))
        for call_id, name, pieces in answer.calls:
            blocks.append(Call(call_id, name, pieces, json.loads("".join(pieces) or "{}")))
        if streamed:
            return Reply.events(message_stream(*blocks, stop_reason=answer.stop))
        return Reply.json(message_body(*blocks, stop_reason=answer.stop))

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """See `Script`."""
        kinds = {
            400: "invalid_request_error",
            401: "authentication_error",
            402: "billing_error",
            403: "permission_error",
            404: "not_found_error",
            422: "invalid_request_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        body = error_body(kinds.get(status, "api_error"), message)
        return Reply.json(body, status, **headers)

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script the list of models and a count of tokens."""
        rows = [{"type": "model", "id": name, "display_name": name.title()} for name in models]
        listed = {"data": rows, "has_more": False, "first_id": None, "last_id": None}
        upstream.default(Reply.json(listed), path=self.chat_path.replace("/messages", "/models"))
        upstream.default(Reply.json({"input_tokens": 7}), path=f"{self.chat_path}/count_tokens")
