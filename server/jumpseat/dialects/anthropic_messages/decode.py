"""Decodes answers in the Messages dialect.

The body of an answer that was not streamed is decoded like a `message_start` event, because the `content` of
both may contain blocks. `tests/dialect_rows/anthropic_messages.py` documents the deviations from Anthropic's
API reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat.chat import (
    ChatError,
    CitationEvent,
    OtherBlock,
    ProtocolError,
    RedactedThinkingBlock,
    ResponseEvent,
    StreamEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.anthropic_messages.usage import UsageCounter
from jumpseat.dialects.arguments import arguments_text
from jumpseat.dialects.assembly import BlockAssembler, id_suffix_of
from jumpseat.dialects.base import read_answer, read_whole_answer
from jumpseat.dialects.citations import citation_of
from jumpseat.dialects.cut_text import join_pieces
from jumpseat.dialects.extras import Extras
from jumpseat.dialects.loose_values import mapping_in, text_in
from jumpseat.dialects.opaque import write_opaque
from jumpseat.dialects.provider_errors import clean_message, error_from_fault, read_fault
from jumpseat.dialects.stop_reasons import choose_stop_reason, stop_reason_of

_TEXT_OF_DELTA = {"text_delta": "text", "thinking_delta": "thinking"}
"""The member that contains the text, by type of delta. The type of the delta's block has the same name."""

_OWN_KEYS = frozenset({"type", "id", "name", "input"})


@dataclass(slots=True)
class _OpenBlock:
    """A block whose stop event has not arrived.

    `whole` is the block from its start event, with the additions from later deltas.
    """

    kind: str
    whole: dict[str, Any]
    input_pieces: list[str] = field(default_factory=list)
    signature: str = ""
    citations: list[Any] = field(default_factory=list)
    citations_sent: int = 0
    """The number of citations that were emitted as events."""


class AnthropicMessagesDecoder:
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
        self._sent_response: tuple[str, str] | None = None
        self._reset()

    def _reset(self) -> None:
        """Discard the answer so far."""
        self._blocks = BlockAssembler(self._provider, self._model)
        self._open: dict[Hashable, _OpenBlock] = {}
        self._has_content = False
        self._usage = UsageCounter()
        self._sent_usage: Usage | None = None
        self._cited: set[str] = set()
        self._stop_reason: str | None = None
        self._stop_details: Mapping[str, Any] = {}

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one server-sent event."""
        if self.complete or not data or data.isspace():
            return []
        if data.strip() == "[DONE]":
            return self.finish()  # OpenRouter sends this mark after the stop reason.
        try:
            event = read_answer(data)
        except ValueError:
            self._blocks.skip_event(data)
            return self._blocks.take()
        if not isinstance(event, dict):
            raise ProtocolError(f"{self._provider} sent an event that is not a JSON object.")
        # The type is read from the data, because some servers omit the `event:` line.
        kind = text_in(event.get("type")) or name
        if kind == "error" or (event.get("error") and "type" not in event):
            raise self._error_from_event(event)
        self._decode_event(kind, event)
        return self._blocks.take()

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the whole body of an answer that was not streamed."""
        answer = read_whole_answer(body, self._provider)
        if answer.get("type") == "error" or answer.get("error"):
            raise self._error_from_event(answer)
        if "content" not in answer:
            raise ProtocolError(f"{self._provider} sent an answer without content.")
        self._begin(answer)
        return self._finish_answer()

    def finish(self) -> list[StreamEvent]:
        """Return the remaining events when the input has ended."""
        if self.complete:
            return []
        # Some gateways omit `message_stop`; the stop reason is enough.
        if self._stop_reason is None:
            raise self._blocks.early_end_error()
        return self._finish_answer()

    def _error_from_event(self, event: Mapping[str, Any]) -> ChatError:
        fault = read_fault(event)
        error = error_from_fault(fault, self._provider)
        error.provider_code = error.provider_code or fault.type
        error.provider_request_id = text_in(event.get("request_id")) or None
        return error

    def _decode_event(self, kind: str, event: Mapping[str, Any]) -> None:
        """Decode one event of the stream; `ping` and unknown types are ignored."""
        index = event.get("index")
        key: Hashable = index if isinstance(index, int | str) else 0
        match kind:
            case "message_start":
                self._begin(mapping_in(event.get("message")))
            case "content_block_start":
                self._start_block(key, mapping_in(event.get("content_block")))
            case "content_block_delta":
                self._add_delta(key, mapping_in(event.get("delta")))
                for url, title in () if self._extras is None else self._extras.sources_in(event):
                    if url and url not in self._cited:
                        self._cited.add(url)
                        self._blocks.emit(CitationEvent(self._blocks.text_block, url, title or None))
            case "content_block_stop":
                self._stop_block(key)
            case "message_delta":
                self._decode_cost(event)
                self._decode_stop_and_usage(mapping_in(event.get("delta")), event.get("usage"))
            case "message_stop":
                for each in self._finish_answer():
                    self._blocks.emit(each)
            case _:
                pass  # Anthropic adds event types within a version of the API.

    def _begin(self, message: Mapping[str, Any]) -> None:
        """Start the answer. If it already has content, discard that content."""
        # Gateways that retry upstream send a second `message_start`.
        if self._has_content:
            self._reset()
            self._sent_response = None
            message_text = f"{self._provider} restarted its answer. The new text replaces the previous text."
            self._blocks.emit(WarningEvent("answer_restarted", message_text))
        self._send_response(text_in(message.get("model")), text_in(message.get("id")))
        content = message.get("content")
        for number, block in enumerate(content if isinstance(content, list) else ()):
            key = ("whole", number)
            self._start_block(key, mapping_in(block))
            self._stop_block(key)
        self._decode_cost(message)
        self._decode_stop_and_usage(message, message.get("usage"))

    def _decode_cost(self, container: Mapping[str, Any]) -> None:
        if self._extras is not None:
            self._usage.cost = self._extras.cost_in(container) or self._usage.cost

    def _send_response(self, model: str = "", response_id: str = "") -> None:
        """Emit the answer's model and id if they have changed.

        If the id is missing, emit the model only if no model was emitted before.
        """
        response = (model or self._model, response_id)
        if response == self._sent_response or (self._sent_response is not None and not response_id):
            return
        self._sent_response = response
        self._blocks.id_suffix = id_suffix_of(response_id)
        self._blocks.emit(ResponseEvent(response[0], response_id or None))

    def _start_block(self, key: Hashable, block: Mapping[str, Any]) -> None:
        self._send_response()
        self._has_content = True
        # A new block closes the previous one: some servers omit `content_block_stop`. Only calls may overlap.
        for each in [each for each, opened in self._open.items() if each == key or opened.kind != "tool_use"]:
            self._stop_block(each)
        opened = self._open[key] = _OpenBlock(text_in(block.get("type")), dict(block))
        match opened.kind:
            case "text":
                citations = block.get("citations")
                opened.citations += citations if isinstance(citations, list) else []
                self._add_text(opened, text_in(block.get("text")))
            case "thinking":
                # Open the block even without text: it may have a signature, which is needed for the replay.
                self._blocks.open_thinking()
                self._blocks.add_thinking(text_in(block.get("thinking")))
                opened.signature = text_in(block.get("signature"))
            case "tool_use":
                extra = {name: value for name, value in block.items() if name not in _OWN_KEYS}
                self._blocks.add_tool_call(
                    key,
                    id=text_in(block.get("id")),
                    name=text_in(block.get("name")),
                    opaque=write_opaque(extra),
                )
            case _:
                pass

    def _add_delta(self, key: Hashable, delta: Mapping[str, Any]) -> None:
        kind = text_in(delta.get("type"))
        opened = self._open.get(key)
        if opened is None:
            # Some gateways omit `content_block_start`; the delta's type determines the block's type.
            if kind not in _TEXT_OF_DELTA or not delta.get(_TEXT_OF_DELTA[kind]):
                return
            self._start_block(key, {"type": _TEXT_OF_DELTA[kind]})
            opened = self._open[key]
        match kind, opened.kind:
            case "text_delta", "text":
                self._add_text(opened, text_in(delta.get("text")))
            case "thinking_delta", "thinking":
                self._blocks.add_thinking(text_in(delta.get("thinking")))
            case "signature_delta", "thinking":
                # The delta contains the whole signature.
                opened.signature = text_in(delta.get("signature"))
            case "input_json_delta", "tool_use":
                piece = text_in(delta.get("partial_json"))
                opened.input_pieces.append(piece)
                self._blocks.add_tool_call(key, arguments=piece)
            case "input_json_delta", _:
                opened.input_pieces.append(text_in(delta.get("partial_json")))
            case "citations_delta", _:
                opened.citations.append(delta.get("citation"))
                self._send_citations(opened)
            case _:
                _join(opened.whole, delta)

    def _add_text(self, opened: _OpenBlock, piece: str) -> None:
        self._blocks.add_text(piece)
        if opened.citations:
            self._send_citations(opened)

    def _send_citations(self, opened: _OpenBlock, *, at_end: bool = False) -> None:
        # The block has no number until its first text arrives.
        if self._blocks.text_block is None and not at_end:
            return
        for citation in map(mapping_in, opened.citations[opened.citations_sent :]):
            self._blocks.emit(citation_of(citation, self._blocks.text_block))
        opened.citations_sent = len(opened.citations)

    def _stop_block(self, key: Hashable) -> None:
        opened = self._open.pop(key, None)
        if opened is None:
            return
        match opened.kind:
            case "text":
                self._send_citations(opened, at_end=True)
                if opened.citations:
                    self._blocks.set_opaque(write_opaque({"citations": opened.citations}))
                self._blocks.close_prose()
            case "thinking":
                if opened.signature:
                    self._blocks.sign_thinking(opened.signature)
                self._blocks.close_prose()
            case "tool_use":
                # Some gateways send the input in the start event instead of deltas.
                arguments = opened.whole.get("input")
                if arguments and not any(opened.input_pieces):
                    self._blocks.add_tool_call(key, arguments=arguments_text(arguments))
                self._blocks.close_tool_call(key)
            case "redacted_thinking":
                self._blocks.add_block(RedactedThinkingBlock(text_in(opened.whole.get("data"))))
            case "":
                pass
            case kind:
                self._blocks.add_block(_join_other_block(kind, opened))

    def _decode_stop_and_usage(self, delta: Mapping[str, Any], usage: Any) -> None:
        self._stop_reason = choose_stop_reason(self._stop_reason, delta.get("stop_reason"))
        self._stop_details = mapping_in(delta.get("stop_details")) or self._stop_details
        self._usage.add(usage)
        usage_so_far = self._usage.usage
        if usage_so_far is not None and usage_so_far != self._sent_usage:
            self._sent_usage = usage_so_far
            self._send_response()
            self._blocks.emit(UsageEvent(usage_so_far))

    def _finish_answer(self) -> list[StreamEvent]:
        self.complete = True
        self._send_response()
        for key in tuple(self._open):
            self._stop_block(key)
        self._blocks.close_all()
        if self._stop_details and stop_reason_of(self._stop_reason or "") == "refusal":
            self._blocks.emit(WarningEvent("refusal", _refusal_message(self._provider, self._stop_details)))
        self._blocks.end(self._stop_reason, self._usage.usage)
        return self._blocks.take()


def _join_other_block(kind: str, opened: _OpenBlock) -> OtherBlock:
    """Return a block of an unknown type for replay, with its deltas joined."""
    whole = opened.whole
    if any(opened.input_pieces):
        raw = join_pieces(opened.input_pieces)
        try:
            whole["input"] = read_answer(raw)
        except ValueError:
            whole["input"] = {"INVALID_JSON": raw}
    if opened.citations:
        whole["citations"] = opened.citations
    text = whole.get("text") or whole.get("content")
    return OtherBlock(kind, text if isinstance(text, str) else None, opaque=write_opaque(whole))


def _join(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta of an unknown type to its block: join texts, and replace other values."""
    for name, value in delta.items():
        if name == "type" or value is None:
            continue
        before = whole.get(name)
        if isinstance(before, str) and isinstance(value, str):
            value = join_pieces((before, value))
        whole[name] = value


def _refusal_message(provider: str, details: Mapping[str, Any]) -> str:
    category = text_in(details.get("category")).replace("_", " ")
    why = clean_message(text_in(details.get("explanation")))
    message = f"{provider} ended the answer as a refusal{f' ({category})' if category else ''}"
    return f"{message}: {why}" if why else f"{message}. Remove this answer before you continue the chat."
