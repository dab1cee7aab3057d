"""Decodes answers in the Responses dialect.

A body that was not streamed has the shape of the `response` in a stream's last event, and is decoded in the
same way. Source: `tests/dialect_rows/responses.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumpseat.chat import (
    ChatError,
    Cost,
    ProtocolError,
    ResponseEvent,
    StreamEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.assembly import BlockAssembler, id_suffix_of
from jumpseat.dialects.base import read_answer, read_whole_answer
from jumpseat.dialects.extras import Extras
from jumpseat.dialects.loose_values import limit_in, mapping_in, text_in
from jumpseat.dialects.provider_errors import clean_message, error_from_fault, read_fault
from jumpseat.dialects.responses.item import part_of
from jumpseat.dialects.responses.items import OutputItems
from jumpseat.dialects.responses.usage import read_usage

# This lists, for each kind of text event: the type of the item, the item's field for the text, the member of
# the events with the number of the part, and the member of the `done` event with the whole text.
_TEXTS: dict[str, tuple[str, str, str, str]] = {
    "output_text": ("message", "text", "content_index", "text"),
    "refusal": ("message", "refusal", "content_index", "refusal"),
    "reasoning_summary_text": ("reasoning", "summary", "summary_index", "text"),
    "reasoning_text": ("reasoning", "reasoning", "content_index", "text"),
    "function_call_arguments": ("function_call", "arguments", "", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "arguments", "", "input"),
}
_ENDS = frozenset({"completed", "incomplete", "failed", "cancelled"})
_UNREADABLE_END = re.compile(r'\{\s*"type"\s*:\s*"response\.completed"')


class ResponsesDecoder:
    """A decoder of one answer; implements `jumpseat.dialects.Decoder`."""

    def __init__(self, provider: str, model: str, extras: Extras | None = None) -> None:
        """
        Args:
            provider: the configured provider's id, for origins and errors.
            model: the model's name in the request.
            extras: the reader of the provider's additions to this dialect.
        """
        self._extras = extras
        self.complete = False
        self._provider = provider
        self._model = model
        self._blocks = BlockAssembler(provider, model)
        self._items = OutputItems(provider, self._blocks)
        self._response_sent = False
        self._failure: ChatError | None = None

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one server-sent event."""
        if self.complete or not data or data.isspace():
            return []
        self._raise_failure()
        if data.strip() == "[DONE]":
            return self._end_by_mark()
        try:
            event = read_answer(data)
        except ValueError:
            return self._skip_unreadable(name, data)
        if not isinstance(event, dict):
            return self._skip_unreadable(name, data)
        self._decode_event(text_in(event.get("type")) or name, event)
        if self._blocks.has_endless_whitespace and not self.complete:
            self._end(None, None)
        events = self._blocks.take()
        if not events:
            self._raise_failure()
        return events

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the whole body of an answer that was not streamed."""
        answer = read_whole_answer(body, self._provider)
        if not isinstance(answer.get("output"), list):
            if answer.get("error") or answer.get("type") == "error":
                raise error_from_fault(read_fault(answer), self._provider)
            raise ProtocolError(f"{self._provider} sent an answer without output.")
        self._decode_end(answer, "completed", self._cost_in(answer))
        events = self._blocks.take()
        if not events:
            self._raise_failure()
        return events

    def _cost_in(self, container: Mapping[str, Any]) -> Cost | None:
        return None if self._extras is None else self._extras.cost_in(container)

    def finish(self) -> list[StreamEvent]:
        """Raise an error unless the answer is complete."""
        if self.complete:
            return []
        self._raise_failure()
        raise self._blocks.early_end_error()

    def _raise_failure(self) -> None:
        """Raise the failure, if there is one. The events that precede it were returned by earlier calls."""
        if self._failure is not None:
            raise self._failure

    def _decode_event(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind == "error" or (event.get("error") and not kind.startswith("response.")):
            raise error_from_fault(read_fault(event), self._provider)
        action = kind.removeprefix("response.")
        if action in _ENDS:
            self._decode_end(mapping_in(event.get("response")), action, self._cost_in(event))
        elif action in ("created", "queued", "in_progress"):
            self._send_response(mapping_in(event.get("response")))
        else:
            self._decode_item_event(action, event)

    def _decode_item_event(self, action: str, event: Mapping[str, Any]) -> None:
        # Events of hosted tools are ignored here, because `output_item.done` contains the complete item.
        text, _, step = action.rpartition(".")
        if text in _TEXTS and step in ("delta", "done"):
            self._send_response({})
            kind, name, numbered_by, whole = _TEXTS[text]
            item = self._items.find(event, kind)
            slot = (name, _number(event.get(numbered_by)))
            if step == "delta":
                self._items.add(item, slot, text_in(event.get("delta")))
            else:
                self._items.complete(item, slot, text_in(event.get(whole)))
        elif action in ("output_item.added", "output_item.done"):
            fields = event.get("item")
            if isinstance(fields, dict):
                self._send_response({})
                take = self._items.begin if step == "added" else self._items.end
                take(event.get("output_index"), fields)
        elif action in ("content_part.done", "reasoning_summary_part.done"):
            self._decode_part(event)
        elif action == "output_text.annotation.added":
            self._send_response({})
            self._items.cite(self._items.find(event, "message"), event.get("annotation"))

    def _decode_part(self, event: Mapping[str, Any]) -> None:
        part = event.get("part")
        if not isinstance(part, dict):
            return
        self._send_response({})
        slot, whole = part_of(part, _number(event.get("content_index", event.get("summary_index"))))
        item = self._items.find(event, "message" if slot[0] in ("text", "refusal") else "reasoning")
        annotations = part.get("annotations")
        for annotation in annotations if isinstance(annotations, list) else ():
            self._items.cite(item, annotation)
        self._items.complete(item, slot, whole)

    def _decode_end(self, response: Mapping[str, Any], named: str, cost: Cost | None) -> None:
        """Decode the response in the terminal event. The response's status overrides the event's name."""
        status = text_in(response.get("status")).lower()
        if status not in _ENDS:
            if status in ("queued", "in_progress") and not response.get("output"):
                raise ProtocolError(f"{self._provider} sent an unfinished answer (status {status}).")
            status = named
        if status != "failed":
            self._send_response(response)
        reported = response.get("usage")
        usage = read_usage(reported) if isinstance(reported, dict) and reported else None
        if cost is not None:
            usage = replace(usage or Usage(), cost=cost)
        if status in ("failed", "cancelled") or response.get("error"):
            if usage is not None and any((usage.input_tokens, usage.output_tokens)):
                self._blocks.emit(UsageEvent(usage))
            self._failure = self._failure_of(response, status)
            return
        self._items.end_all(response.get("output"))
        reason = text_in(mapping_in(response.get("incomplete_details")).get("reason"))
        if reason or "incomplete" in (status, named):
            self._end(reason or "incomplete", usage, reached=_limit_is_reached(response, usage))
        else:
            self._end(status, usage)

    def _failure_of(self, response: Mapping[str, Any], status: str) -> ChatError:
        if status == "cancelled":
            return ProtocolError(f"{self._provider} cancelled the answer.", provider=self._provider)
        return error_from_fault(read_fault({"error": response.get("error") or {}}), self._provider)

    def _end(self, raw: str | None, usage: Usage | None, *, reached: bool = False) -> None:
        """End the answer. The items determine whether tools were called or the model refused.

        Args:
            raw: the provider's stop reason, if any.
            usage: the token counts, if the provider reports them.
            reached: whether the answer is as long as the request allowed.
        """
        self.complete = True
        self._blocks.close_all()
        if usage is not None:
            self._blocks.emit(UsageEvent(usage))
        self._blocks.end(raw, usage, refused=self._items.refused, fallback="max_tokens" if reached else None)

    def _end_by_mark(self) -> list[StreamEvent]:
        # OpenRouter and LM Studio may send `[DONE]` instead of a terminal event. That is enough if every item
        # is complete.
        if not (self._items.begun and self._items.all_done):
            raise self._blocks.early_end_error()
        self._end(None, None)
        return self._blocks.take()

    def _skip_unreadable(self, name: str, data: str) -> list[StreamEvent]:
        """Skip an event that is not a JSON object."""
        # If it was a delta, a later `done` event repeats its text. Set `lossy`, so that the items
        # check for lost text.
        if not self._items.lossy:
            self._items.lossy = True
            message = f"{self._provider} sent an event that is not a JSON object: {clean_message(data[:80])}"
            self._blocks.emit(WarningEvent("unreadable_event", message))
        # If it was the last event, only the usage is lost.
        at_end = name == "response.completed" or _UNREADABLE_END.match(data) is not None
        if at_end and self._items.begun and self._items.all_done:
            self._send_response({})
            self._end(None, None)
        return self._blocks.take()

    def _send_response(self, response: Mapping[str, Any]) -> None:
        # Emit the event only once: a second one would mean that the answer restarts.
        if self._response_sent:
            return
        self._response_sent = True
        response_id = text_in(response.get("id"))
        self._blocks.id_suffix = id_suffix_of(response_id)
        self._blocks.emit(ResponseEvent(text_in(response.get("model")) or self._model, response_id or None))


def _limit_is_reached(response: Mapping[str, Any], usage: Usage | None) -> bool:
    # The response repeats the limit of the request.
    limit = limit_in(response.get("max_output_tokens"))
    return limit is not None and usage is not None and usage.output_tokens >= limit


def _number(value: Any) -> int:
    return value if type(value) is int else 0
