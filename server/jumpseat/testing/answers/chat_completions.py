"""Builds bodies in the chat-completions dialect for scripts of the fake upstream.

The shapes follow the streamed and whole answers of POST /chat/completions in OpenAI's API reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jumpseat.testing.scripts import Answer, Script
from jumpseat.testing.upstream import Event, FakeUpstream, Reply

RESPONSE_ID = "chatcmpl-fake"
MODEL = "fake-model"
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True, slots=True)
class FakeCall:
    """A tool call; its arguments are streamed in the given pieces of JSON text."""

    id: str
    name: str
    arguments: Sequence[str] = ("{}",)


def chunk(
    delta: dict[str, Any] | None = None, finish_reason: str | None = None, **extra: Any
) -> dict[str, Any]:
    """Return a `chat.completion.chunk`, without choices if it has neither a delta nor a finish reason."""
    choices = []
    if delta is not None or finish_reason is not None:
        choices = [{"index": 0, "delta": delta or {}, "finish_reason": finish_reason}]
    return {
        "id": RESPONSE_ID,
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": choices,
        **extra,
    }


def completion_stream(
    text_pieces: Sequence[str] = (),
    *,
    reasoning: Sequence[str] = (),
    tool_calls: Sequence[FakeCall] = (),
    usage: dict[str, Any] | None = USAGE,
    finish_reason: str | None = None,
    done: bool = True,
) -> list[Event]:
    """Return an answer's events: reasoning, text, tool calls, finish reason, usage and end mark."""
    events: list[Event] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in reasoning]
    events += [chunk({"content": piece}) for piece in text_pieces]
    for index, call in enumerate(tool_calls):
        function = {"name": call.name, "arguments": ""}
        start = {"index": index, "id": call.id, "type": "function", "function": function}
        events.append(chunk({"tool_calls": [start]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in call.arguments
        ]
    events.append(chunk({}, finish_reason or ("tool_calls" if tool_calls else "stop")))
    if usage is not None:
        events.append(chunk(usage=usage))
    if done:
        events.append("[DONE]")
    return events


def completion_body(
    text: str | None,
    *,
    reasoning: str | None = None,
    tool_calls: Sequence[FakeCall] = (),
    usage: dict[str, Any] | None = USAGE,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    """Return the answer of `completion_stream` as one body."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": "".join(call.arguments)},
            }
            for call in tool_calls
        ]
    reason = finish_reason or ("tool_calls" if tool_calls else "stop")
    return {
        "id": RESPONSE_ID,
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": usage,
    }


class ChatCompletionsScript(Script):
    """The script for OpenAI's chat completions API."""

    def __init__(self, *, base_path: str = "/v1", chat_path: str = "/v1/chat/completions") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """See `Script`."""
        calls = [FakeCall(*call) for call in answer.calls]
        if streamed:
            return Reply.events(
                completion_stream(
                    answer.text, reasoning=answer.thinking, tool_calls=calls, finish_reason=answer.stop
                )
            )
        text, thinking = "".join(answer.text) or None, "".join(answer.thinking) or None
        return Reply.json(
            completion_body(text, reasoning=thinking, tool_calls=calls, finish_reason=answer.stop)
        )

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """See `Script`."""
        return Reply.json({"error": {"message": message, "type": "error"}}, status, **headers)

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script the list of models."""
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "contract"} for name in models]
        upstream.default(Reply.json({"object": "list", "data": rows}), path=f"{self.base_path}/models")
