"""Decodes answers in Ollama's native dialect.

A line of a streamed answer (NDJSON) has the same shape as the body of an answer that is not streamed. Source:
`api.ChatResponse` of the server, `tests/dialect_rows/ollama_chat.py`, and recorded streams.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from jumpseat.chat import (
    ChatError,
    ProtocolError,
    ResponseEvent,
    StreamEvent,
    Usage,
    UsageEvent,
)
from jumpseat.dialects.arguments import arguments_text
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.dialects.base import read_answer
from jumpseat.dialects.generated import generated_image, image_urls
from jumpseat.dialects.loose_values import count_in, mapping_in, mappings_in, text_in, texts_in
from jumpseat.dialects.provider_errors import clean_message, error_from_fault, read_fault


class OllamaChatDecoder:
    """A decoder of one answer; implements `jumpseat.dialects.Decoder`."""

    def __init__(self, provider: str, model: str, *, id_suffix: str | None = None) -> None:
        """
        Args:
            provider: the configured provider's id, for origins and errors.
            model: the model's name in the request.
            id_suffix: the suffix of generated call ids; None for a random suffix. The call ids of one
                conversation must differ, and an answer has no id from which a suffix could be derived.
        """
        self.complete = False
        self._provider = provider
        self._model = model
        self._blocks = BlockAssembler(provider, model)
        self._blocks.id_suffix = f"_{secrets.token_hex(4)}" if id_suffix is None else id_suffix
        self._response_sent = False
        self._calls: set[tuple[str, str, str]] = set()
        self._failure: ChatError | None = None

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one line."""
        if self.complete or not data or data.isspace():
            return []
        try:
            part = read_answer(data)
        except ValueError:
            self._blocks.skip_event(data)
            return self._blocks.take()
        if not isinstance(part, dict):
            message = f"{self._provider} sent a line that is not a JSON object: {clean_message(data[:80])}"
            raise ProtocolError(message, provider=self._provider)
        self._decode_part(part)
        return self._blocks.take()

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the complete body: one object, or NDJSON that a proxy labelled as JSON."""
        try:
            read_answer(body)
        except ValueError:
            lines = body.splitlines()
        else:
            return self.feed_event("message", body.decode("utf-8", "replace"))
        events: list[StreamEvent] = []
        try:
            for line in lines:
                events += self.feed_event("message", line.decode("utf-8", "replace"))
        except ChatError as error:
            self._failure = error  # `finish` raises it, so that the preceding events are not lost.
        return events

    def finish(self) -> list[StreamEvent]:
        """Raise the error that `feed_body` deferred, or an error if the input ended before `done`."""
        if self._failure is not None:
            raise self._failure
        if not self.complete:
            raise self._blocks.early_end_error()
        return []

    def _decode_part(self, part: Mapping[str, Any]) -> None:
        if part.get("error"):  # An error may also arrive in mid-stream, after status 200.
            raise error_from_fault(read_fault(part), self._provider)
        if not self._response_sent:
            self._response_sent = True
            self._blocks.emit(ResponseEvent(text_in(part.get("model")) or self._model))
        message = part.get("message")
        if isinstance(message, dict):
            self._blocks.add_thinking(text_in(message.get("thinking")))
            self._blocks.add_text(text_in(message.get("content")))
            self._decode_images(message)
            for call in mappings_in(message.get("tool_calls")):
                self._decode_call(call)
        self._decode_images(part)
        # End the answer last, because the last line may have content and calls too.
        if part.get("done") is True:
            self._end(part)

    def _decode_images(self, holder: Mapping[str, Any]) -> None:
        for source in image_urls([holder.get("image"), *texts_in(holder.get("images"))]):
            self._blocks.add_block(generated_image(source))

    def _decode_call(self, call: Mapping[str, Any]) -> None:
        # Every call is complete in one line. Calls are numbered in order, because their indices may repeat.
        function = mapping_in(call.get("function"))
        name, raw = text_in(function.get("name")), arguments_text(function.get("arguments"))
        call_id = text_in(call.get("id"))
        if call_id and (call_id, name, raw) in self._calls:
            return  # Some servers repeat a call, for example in the last line.
        self._calls.add((call_id, name, raw))
        key = self._blocks.call_count
        self._blocks.add_tool_call(key, id=call_id, name=name, arguments=raw)
        self._blocks.close_tool_call(key)

    def _end(self, part: Mapping[str, Any]) -> None:
        self.complete = True
        self._blocks.close_all()
        counts = count_in(part.get("prompt_eval_count")), count_in(part.get("eval_count"))
        usage = None
        # The server omits a count of zero, for example if the whole prompt was cached.
        if counts != (None, None):
            usage = Usage(counts[0] or 0, counts[1] or 0)
            self._blocks.emit(UsageEvent(usage))
        self._blocks.end(text_in(part.get("done_reason")), usage)
