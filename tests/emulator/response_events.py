"""Writes the answers of POST /responses, with ids that change from event to event, as in the service.

An item has a different id in every event, and the response has different ids in `created` and `completed`.
Only `output_index` and `call_id` stay the same. `copilot_usage` is beside `response`, and there is no
`[DONE]`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from jumpseat.testing.upstream import Reply
from tests.emulator.catalogue import Model
from tests.emulator.conversation import Answer, Prompt
from tests.emulator.costs import copilot_usage
from tests.emulator.refusals import html_safe_json
from tests.emulator.responses import ENCRYPTED, ITEM_ID
from tests.emulator.seals import Sealer

_ID_LENGTH = 400
Item = dict[str, Any]
Event = dict[str, Any]


def write(
    prompt: Prompt, answer: Answer, model: Model, body: dict[str, Any], seals: Sealer, now: float
) -> Reply:
    """Return the answer, streamed if the body requests it."""
    writer = _Writer(answer, model, body, seals, int(now))
    if not prompt.stream:
        whole = {**writer.response(final=True), "copilot_usage": copilot_usage(model, answer)}
        return Reply.raw(html_safe_json(whole).encode(), content_type="application/json")
    events = ({**event, "sequence_number": number} for number, event in enumerate(writer.events()))
    pieces = tuple(f"event: {each['type']}\ndata: {html_safe_json(each)}\n\n".encode() for each in events)
    return Reply(
        pieces, headers={"content-type": "text/event-stream", "cache-control": "no-cache"}, chunked=True
    )


class _Writer:
    """Creates the response object and the events of one answer."""

    def __init__(
        self, answer: Answer, model: Model, body: dict[str, Any], seals: Sealer, created_at: int
    ) -> None:
        self._answer = answer
        self._model = model
        self._body = body
        self._seals = seals
        self._created_at = created_at
        self._id = secrets.token_hex(12)
        asked = "reasoning.encrypted_content" in (body.get("include") or ())
        summarised = (body.get("reasoning") or {}).get("summary") is not None
        self._items = list(self._plan(asked, summarised))

    def _plan(self, encrypted: bool, summarised: bool) -> Iterator[Item]:
        """Yield the complete items with their inner ids, which are sealed each time an item is sent."""
        answer = self._answer
        if answer.thoughts:
            inner = f"rs_{secrets.token_hex(12)}"
            summary = [{"type": "summary_text", "text": each} for each in answer.thoughts]
            yield {
                "type": "reasoning",
                "id": inner,
                "content": [],
                "summary": summary if summarised else [],
                "encrypted_content": self._seals.seal(ENCRYPTED, inner, _ID_LENGTH) if encrypted else None,
            }
        if answer.pieces:
            part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
            yield {
                "type": "message",
                "id": f"msg_{secrets.token_hex(12)}",
                "role": "assistant",
                "status": "incomplete" if answer.cut else "completed",
                "content": [part],
                "phase": "commentary" if answer.calls else "final_answer",
            }
        for call in answer.calls:
            yield {
                "type": "function_call",
                "id": f"fc_{secrets.token_hex(12)}",
                "call_id": f"call_{secrets.token_urlsafe(16)}",
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }

    def _rotate_id(self, inner: str) -> str:
        return self._seals.seal(ITEM_ID, inner, _ID_LENGTH)

    def _make_sent_item(self, item: Item, **changed: Any) -> Item:
        return {**item, "id": self._rotate_id(item["id"]), **changed}

    def response(self, *, final: bool) -> dict[str, Any]:
        """Return the current response object."""
        body, answer = self._body, self._answer
        said, thought = answer.output_tokens, answer.thinking_tokens
        usage = {
            "input_tokens": answer.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": said + thought,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": answer.prompt_tokens + said + thought,
        }
        cut = final and answer.cut
        return {
            **dict.fromkeys(_NULLS),
            "id": self._rotate_id(self._id),
            "object": "response",
            "created_at": self._created_at,
            "completed_at": self._created_at if final and not cut else None,
            "background": False,
            "status": "in_progress" if not final else "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": {},
            "model": self._model.version or self._model.id,
            "output": [self._make_sent_item(item) for item in self._items] if final else [],
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "prompt_cache_retention": "24h",
            "reasoning": {"context": None, "effort": None, "mode": None, "summary": None}
            | (body.get("reasoning") or {}),
            "service_tier": "default" if final else "auto",
            "store": False,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": body.get("tool_choice", "auto"),
            "tool_usage": {},
            "tools": body.get("tools", []),
            "top_logprobs": 0,
            "top_p": 1.0,
            "truncation": body.get("truncation", "disabled"),
            "usage": usage if final else None,
        }

    def events(self) -> Iterator[Event]:
        """Yield all events in order, without sequence numbers."""
        yield {"type": "response.created", "response": self.response(final=False)}
        yield {"type": "response.in_progress", "response": self.response(final=False)}
        for index, item in enumerate(self._items):
            yield from self._item_events(index, item)
        yield {
            "type": "response.incomplete" if self._answer.cut else "response.completed",
            "response": self.response(final=True),
            "copilot_usage": copilot_usage(self._model, self._answer),
        }

    def _item_events(self, index: int, item: Item) -> Iterator[Event]:
        begun = {"reasoning": {"summary": [], "encrypted_content": None}}.get(item["type"])
        begun = begun or {"status": "in_progress", **_EMPTY[item["type"]]}
        added = self._make_sent_item(item, **begun)
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        for event in _INNER[item["type"]](item, self._answer):
            yield {**event, "item_id": self._rotate_id(item["id"]), "output_index": index}
        done = self._make_sent_item(item)
        yield {"type": "response.output_item.done", "output_index": index, "item": done}


_EMPTY: dict[str, Item] = {"message": {"content": []}, "function_call": {"arguments": ""}}
_NULLS = ("error", "max_tool_calls", "moderation", "previous_response_id", "safety_identifier", "user")


def _summary(item: Item, _: Answer) -> Iterator[Event]:
    kind = "response.reasoning_summary"
    for number, part in enumerate(item["summary"]):
        text, half = part["text"], len(part["text"]) // 2
        yield {"type": f"{kind}_part.added", "summary_index": number, "part": {**part, "text": ""}}
        for delta in (text[:half], text[half:]):
            yield {"type": f"{kind}_text.delta", "summary_index": number, "delta": delta}
        yield {"type": f"{kind}_text.done", "summary_index": number, "text": text}
        yield {"type": f"{kind}_part.done", "summary_index": number, "part": part}


def _text(item: Item, answer: Answer) -> Iterator[Event]:
    (part,) = item["content"]
    place = {"content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in answer.pieces:
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _arguments(item: Item, _: Answer) -> Iterator[Event]:
    text, kind = item["arguments"], "response.function_call_arguments"
    for start in range(0, len(text), 7):
        yield {"type": f"{kind}.delta", "delta": text[start : start + 7]}
    yield {"type": f"{kind}.done", "arguments": text}


_INNER = {"reasoning": _summary, "message": _text, "function_call": _arguments}
