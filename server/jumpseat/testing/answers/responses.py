"""Builds bodies in the Responses dialect for scripts of the fake upstream.

The shapes follow the events and the response object of POST /responses in OpenAI's API reference;
`tests/unit/testing/answers/test_responses.py` checks them with the official Python client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpseat.testing.answers.chat_completions import ChatCompletionsScript
from jumpseat.testing.scripts import Answer
from jumpseat.testing.upstream import Event, FakeUpstream, Reply

RESPONSE_ID = "resp_fake"
MODEL = "fake-model"
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 15,
}

Item = dict[str, Any]


def message(*texts: str, phase: str | None = None, item_id: str = "msg_1", **more: Any) -> Item:
    """Return a message with one text, which is streamed in these pieces."""
    part = {"type": "output_text", "text": "".join(texts), "annotations": [], "logprobs": []}
    item = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}
    return item | ({"phase": phase} if phase else {}) | more | {"_pieces": texts}


def reasoning(*summary: str, encrypted: str | None = None, item_id: str = "rs_1") -> Item:
    """Return reasoning with these parts of its summary and this encrypted content."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    item = {"type": "reasoning", "id": item_id, "summary": parts}
    return item | ({"encrypted_content": encrypted} if encrypted is not None else {})


def function_call(call_id: str, name: str, *arguments: str, item_id: str = "fc_1") -> Item:
    """Return a tool call whose arguments are streamed in these pieces of JSON text."""
    whole = "".join(arguments) or "{}"
    item = {"type": "function_call", "id": item_id, "call_id": call_id, "name": name, "arguments": whole}
    return item | {"status": "completed", "_pieces": arguments or ("{}",)}


def response(
    items: Sequence[Item] = (), *, status: str = "completed", usage: Any = USAGE, **more: Any
) -> dict[str, Any]:
    """Return the response object, which is the whole body of an answer that is not streamed."""
    return {
        "id": RESPONSE_ID,
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": MODEL,
        "output": [_without_pieces(item) for item in items],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1,
        "top_p": 1,
        "usage": usage,
        **more,
    }


def response_stream(*items: Item, end: str | None = "completed", **more: Any) -> list[Event]:
    """Return the events of an answer that consists of these items.

    Args:
        items: the output items, as in the body of an answer that is not streamed.
        end: the status at the end; None to leave out the terminal event.
        more: further members of the response object in the terminal event.
    """
    begun = response(status="in_progress", usage=None)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    if end is not None:
        events.append({"type": f"response.{end}", "response": response(items, status=end, **more)})
    return [(event["type"], {**event, "sequence_number": n}) for n, event in enumerate(events)]


def _without_pieces(item: Item) -> Item:
    return {name: value for name, value in item.items() if name != "_pieces"}


def _item_events(index: int, item: Item) -> list[dict[str, Any]]:
    whole = _without_pieces(item)
    place = {"item_id": item["id"], "output_index": index}
    empties: dict[str, Item] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    empty = empties.get(item["type"], {})
    if item["type"] == "reasoning":
        empty = {"summary": []} | ({"encrypted_content": "partial"} if "encrypted_content" in item else {})
    begun = {**whole, **empty} | ({"status": "in_progress"} if "status" in item else {})
    inner = {"message": _texts, "reasoning": _summary, "function_call": _arguments}.get(item["type"])
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *(inner(item, place) if inner else ()),
        {"type": "response.output_item.done", "output_index": index, "item": whole},
    ]


def _texts(item: Item, place: dict[str, Any]) -> list[dict[str, Any]]:
    place = {**place, "content_index": 0}
    (part,) = item["content"]
    return [
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *(
            {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            for piece in item["_pieces"]
        ),
        {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
    ]


def _summary(item: Item, place: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for number, part in enumerate(item["summary"]):
        where, text = {**place, "summary_index": number}, part["text"]
        kind = "response.reasoning_summary"
        events += [
            {"type": f"{kind}_part.added", **where, "part": {**part, "text": ""}},
            {"type": f"{kind}_text.delta", **where, "delta": text},
            {"type": f"{kind}_text.done", **where, "text": text},
            {"type": f"{kind}_part.done", **where, "part": part},
        ]
    return events


def _arguments(item: Item, place: dict[str, Any]) -> list[dict[str, Any]]:
    kind = "response.function_call_arguments"
    return [
        *({"type": f"{kind}.delta", **place, "delta": piece} for piece in item["_pieces"]),
        {"type": f"{kind}.done", **place, "arguments": item["arguments"]},
    ]


class ResponsesScript(ChatCompletionsScript):
    """The script for OpenAI's Responses API. Errors and the list of models are as in chat completions."""

    def __init__(self, *, base_path: str = "/v1", chat_path: str = "/v1/responses") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """See `Script`."""
        items = [reasoning("".join(answer.thinking), encrypted="sealed")] if answer.thinking else []
        if answer.text:
            items.append(message(*answer.text))
        items += [
            function_call(call_id, name, *pieces, item_id=f"fc_{number}")
            for number, (call_id, name, pieces) in enumerate(answer.calls)
        ]
        status = "incomplete" if answer.stop else "completed"
        details = {"reason": answer.stop} if answer.stop else None
        if streamed:
            return Reply.events(response_stream(*items, end=status, incomplete_details=details))
        return Reply.json(response(items, status=status, incomplete_details=details))

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script the list of models and a count of tokens."""
        super().prepare(upstream, models)
        counted = {"object": "response.input_tokens", "input_tokens": 7}
        upstream.default(Reply.json(counted), path=f"{self.chat_path}/input_tokens")
