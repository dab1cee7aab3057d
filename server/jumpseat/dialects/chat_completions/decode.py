"""Decodes answers in the chat-completions dialect.

`tests/dialect_rows/chat_completions.py` documents the deviations from OpenAI's API reference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

from jumpseat.chat import (
    ChatError,
    OtherBlock,
    ProtocolError,
    ResponseEvent,
    ServerError,
    StreamEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.arguments import arguments_text
from jumpseat.dialects.assembly import BlockAssembler, id_suffix_of
from jumpseat.dialects.base import read_answer, read_whole_answer
from jumpseat.dialects.chat_completions.call_keys import CallKeys
from jumpseat.dialects.chat_completions.reasoning import ReasoningCollector
from jumpseat.dialects.chat_completions.think_tags import ThinkTagSplitter, is_opened_by_template
from jumpseat.dialects.chat_completions.usage import usage_in
from jumpseat.dialects.citations import citation_of
from jumpseat.dialects.cut_text import join_pieces, restore_halves
from jumpseat.dialects.extras import Extras
from jumpseat.dialects.generated import ExecutedTools, generated_image, image_urls
from jumpseat.dialects.loose_values import mapping_in, mappings_in, text_in
from jumpseat.dialects.opaque import write_opaque
from jumpseat.dialects.provider_errors import clean_message, error_from_fault, read_fault
from jumpseat.dialects.stop_reasons import choose_stop_reason

IMAGE_OPAQUE = write_opaque({"field": "images"})
"""The opaque data of an image that arrived in the message field `images` and must be sent back there."""

FAILED_REASONS = frozenset({"error", "insufficient_system_resource", "network_error"})


class ChatCompletionsDecoder:
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
        self._reasoning = ReasoningCollector()
        self._blocks = BlockAssembler(provider, model, thinking_opaque=self._reasoning.take)
        self._content = ThinkTagSplitter(may_lack_opening=is_opened_by_template(model))
        self._calls = CallKeys()
        self._response_sent = False
        self._response_id = ""
        self._response_model = ""
        self._begun = False
        self._had_delta = False
        self._refused = False
        self._finish_reason: str | None = None
        self._failure: ChatError | None = None
        self._usage: Usage | None = None
        self._sent_usage: Usage | None = None
        self._cited: set[tuple[Any, ...]] = set()
        self._images: set[str] = set()
        self._executed = ExecutedTools()
        self._has_audio = False

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one server-sent event."""
        if self.complete or not data or data.isspace():
            return []
        self._raise_failure()
        # Complete the answer here, because some servers do not close the connection after `[DONE]`.
        if data.strip() == "[DONE]":
            if not self._begun:
                raise ProtocolError(f"{self._provider} sent an empty answer.")
            return self._finish_answer()
        try:
            chunk = read_answer(data)
        except ValueError:
            if "\n" in data:
                return self._feed_lines(name, data)
            if name == "error":
                raise error_from_fault(read_fault(data), self._provider) from None
            self._blocks.skip_event(data)
            return self._blocks.take()
        if name == "error" or not isinstance(chunk, dict):
            raise error_from_fault(read_fault(chunk), self._provider)
        self._decode_chunk(chunk)
        if self._blocks.has_endless_whitespace:
            return self._finish_answer()
        events = self._blocks.take()
        if not events:
            self._raise_failure()
        return events

    def _feed_lines(self, name: str, data: str) -> list[StreamEvent]:
        """Decode several events without blank lines between them."""
        # Some servers send this invalid event stream, because clients that read line by line accept it.
        events: list[StreamEvent] = []
        for line in data.split("\n"):
            try:
                events += self.feed_event(name, line)
            except ChatError as error:
                if not events:
                    raise
                self._failure = self._failure or error  # The next call raises it.
                break
        return events

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the whole body of an answer that was not streamed."""
        answer = read_whole_answer(body, self._provider)
        # A missing opening tag is accepted for every model, because holding text back delays nothing here.
        self._content = ThinkTagSplitter(may_lack_opening=True)
        self._decode_chunk(answer, whole=True)
        for message in _further_messages(answer.get("choices")):
            self._decode_delta(message, whole=True)
        self._raise_failure()
        if not answer.get("choices"):
            raise ProtocolError(f"{self._provider} sent an answer without a choice.")
        return self._finish_answer()

    def finish(self) -> list[StreamEvent]:
        """Return the remaining events when the input has ended."""
        if self.complete:
            return []
        self._raise_failure()
        # Perplexity and Copilot omit `[DONE]`, and so does Azure after a content filter. The finish reason is
        # enough.
        if self._finish_reason is None:
            raise self._blocks.early_end_error()
        return self._finish_answer()

    def _raise_failure(self) -> None:
        """Raise the failure, if there is one. The events that precede it were returned by earlier calls."""
        if self._failure is not None:
            raise self._failure

    def _decode_chunk(self, chunk: Mapping[str, Any], *, whole: bool = False) -> None:
        # Groq and OpenRouter, among others, send errors in mid-stream. OpenRouter's error chunks sometimes
        # contain choices too.
        if chunk.get("error") or chunk.get("object") == "error":
            raise error_from_fault(read_fault(chunk), self._provider)
        # Azure's first chunk has an empty id and model.
        self._response_id = self._response_id or text_in(chunk.get("id"))
        if not self._response_model:
            self._response_model = text_in(chunk.get("model"))
            # The request may name an alias; the answer names the model, which determines the template.
            self._content.may_lack_opening |= is_opened_by_template(self._response_model)
        choice = _first_choice(chunk.get("choices"))
        usage = usage_in(chunk, choice)
        if usage is not None:
            # Some servers report the total so far in every chunk, so the latest usage replaces the others.
            self._usage = usage
        if self._extras is not None and (cost := self._extras.cost_in(chunk)):
            self._usage = replace(self._usage or Usage(), cost=cost)
        if choice or usage is not None:
            self._begun = True
        if self._response_id and self._response_model:
            self._send_response()
        delta = choice.get("delta")
        if whole:
            # Perplexity sends an empty `delta` next to the `message`.
            delta = mapping_in(choice.get("message")) or mapping_in(delta)
        elif not isinstance(delta, dict):
            # A `message` after deltas repeats them.
            delta = {} if self._had_delta else mapping_in(choice.get("message"))
        elif delta:
            self._had_delta = True
        if delta:
            self._decode_delta(delta, whole=whole)
        self._decode_sources(chunk)
        if reason := text_in(choice.get("finish_reason")):
            self._decode_stop_reason(reason)
        if not delta:
            self._send_usage()

    def _decode_stop_reason(self, reason: str) -> None:
        self._finish_reason = choose_stop_reason(self._finish_reason, reason)
        if reason.lower() in FAILED_REASONS:
            self._failure = ServerError(
                f"{self._provider} failed during its answer: {clean_message(reason)}.",
                provider=self._provider,
                provider_code=reason,
            )

    def _decode_delta(self, delta: Mapping[str, Any], *, whole: bool) -> None:
        thought = self._reasoning.read_text(delta)
        content = delta.get("content")
        refusal = delta.get("refusal")
        calls = delta.get("tool_calls")
        function = delta.get("function_call")
        if thought or content or refusal or calls or function:
            self._send_response()
        if thought:
            self._flush_content()
            self._blocks.add_thinking(thought)
        self._reasoning.add(delta)
        if isinstance(content, str):
            self._decode_content(content)
        elif isinstance(content, list):
            self._decode_parts(content)
        if isinstance(refusal, str) and refusal:
            self._refused = True  # The finish reason of a refusal is `stop`.
            self._flush_content()
            self._blocks.add_text(refusal)
        if self._extras is not None:
            for url, title in self._extras.sources_in(delta):
                self._cite({"url": url, "title": title})
        if "images" in delta:
            self._decode_images(image_urls(delta["images"]))
        if "audio" in delta:
            self._decode_audio(mapping_in(delta["audio"]))
        if "executed_tools" in delta:
            self._executed.add(delta)
        for annotation in mappings_in(delta.get("annotations")):
            citation = annotation.get("url_citation")
            self._cite(citation if isinstance(citation, dict) else annotation)
        if isinstance(function, dict) and not calls:
            calls = [{"index": 0, "function": function}]
        taken: set[Hashable] = set()
        for call in mappings_in(calls):
            taken.add(self._decode_call(call, taken, whole=whole))

    def _decode_content(self, content: str) -> None:
        if content:
            for kind, piece in self._content.feed(restore_halves(content)):
                self._add(kind, piece)

    def _decode_parts(self, parts: list[Any]) -> None:
        # Mistral's reasoning models send a list of parts, some of which are thinking.
        for part in parts:
            if isinstance(part, str):
                self._decode_content(part)
            elif isinstance(part, dict) and part.get("type") == "thinking":
                thought = part.get("thinking")
                if isinstance(thought, list):
                    thought = join_pieces(text_in(item.get("text")) for item in mappings_in(thought))
                self._flush_content()
                if thought:
                    self._blocks.add_thinking(text_in(thought))
                    self._reasoning.note_part()
            elif isinstance(part, dict) and part.get("type") == "image_url":
                self._decode_images(image_urls([part]))
            elif isinstance(part, dict) and "text" not in part:
                self._flush_content()
                kind = text_in(part.get("type")) or "unknown"
                self._blocks.add_block(OtherBlock(kind, opaque=write_opaque(part)))
            elif isinstance(part, dict):
                self._decode_content(text_in(part.get("text")))

    def _decode_images(self, urls: Iterable[str]) -> None:
        for url in urls:
            if url not in self._images:  # Some servers repeat an image in the last chunk.
                self._images.add(url)
                self._send_response()
                self._flush_content()
                self._blocks.add_block(generated_image(url, IMAGE_OPAQUE))

    def _decode_audio(self, audio: Mapping[str, Any]) -> None:
        if transcript := text_in(audio.get("transcript")):
            self._send_response()
            self._flush_content()
            self._blocks.add_text(transcript)
        if audio.get("data") and not self._has_audio:
            self._has_audio = True
            self._send_response()
            message = f"{self._provider} sent audio, which was left out. The text is its transcript."
            self._blocks.emit(WarningEvent("audio_dropped", message))

    def _add(self, kind: str, piece: str) -> None:
        if kind == "text":
            self._blocks.add_text(piece)
        else:
            self._blocks.add_thinking(piece)

    def _flush_content(self) -> None:
        for kind, piece in self._content.finish():
            self._add(kind, piece)

    def _decode_call(self, call: Mapping[str, Any], taken: Set[Hashable], *, whole: bool) -> Hashable:
        """Decode one entry of a list of calls, and return its key.

        Args:
            call: the entry.
            taken: the keys of the preceding entries.
            whole: whether the answer was not streamed, so that every entry is a complete call.
        """
        function = mapping_in(call.get("function"))
        custom = mapping_in(call.get("custom"))
        call_id, name = text_in(call.get("id")), text_in(function.get("name") or custom.get("name"))
        # The input of a custom tool is free text.
        arguments = function.get("arguments") or custom.get("input")
        # Some servers send an object instead of text.
        arguments = arguments_text(arguments) if isinstance(arguments, dict) else text_in(arguments)
        if call_id or name or arguments:  # Snowflake adds an empty `function_call` to every text.
            self._flush_content()

        def begins_new_call(key: Hashable) -> bool:
            return key in taken or (
                arguments.lstrip()[:1] == "{" and self._blocks.has_complete_arguments(key)
            )

        key = self._calls.key_of(call.get("index"), call_id, name, begins_new_call, whole=whole)
        extra = call.get("extra_content")
        kept = {**({"extra_content": extra} if extra else {}), **({"type": "custom"} if custom else {})}
        opaque = write_opaque(kept)
        self._blocks.add_tool_call(key, id=call_id, name=name, arguments=arguments, opaque=opaque)
        return key

    def _decode_sources(self, chunk: Mapping[str, Any]) -> None:
        """Emit the sources in the fields of Perplexity and xAI, and the sources and notices of `Extras`."""
        for result in mappings_in(chunk.get("search_results")):
            self._cite(result)
        if self._extras is not None:
            for url, title in self._extras.sources_in(chunk):
                self._cite({"url": url, "title": title})
            for notice in self._extras.notices_in(chunk):
                self._blocks.emit(notice)
        citations = chunk.get("citations")
        for citation in citations if isinstance(citations, list) else ():
            self._cite(citation if isinstance(citation, dict) else {"url": citation})

    def _cite(self, source: Mapping[str, Any]) -> None:
        citation = citation_of(source, self._blocks.text_block)
        place = (citation.url, citation.text_start, citation.text_end)
        # Many servers repeat all sources in every chunk, and list them again as bare URLs.
        if (
            citation.url is None
            or place in self._cited
            or (place[1:] == (None, None) and any(citation.url == url for url, *_ in self._cited))
        ):
            return
        self._cited.add(place)
        self._send_response()
        self._blocks.emit(citation)

    def _send_response(self) -> None:
        if self._response_sent:
            return
        self._response_sent = True
        self._blocks.id_suffix = id_suffix_of(self._response_id)
        self._blocks.emit(ResponseEvent(self._response_model or self._model, self._response_id or None))

    def _send_usage(self) -> None:
        if self._usage is not None and self._usage != self._sent_usage:
            self._sent_usage = self._usage
            self._send_response()
            self._blocks.emit(UsageEvent(self._usage))

    def _finish_answer(self) -> list[StreamEvent]:
        self.complete = True
        self._send_response()
        self._flush_content()
        if self._reasoning.needs_block:
            # Encrypted reasoning may arrive last and without text; it still needs a block.
            self._blocks.open_thinking()
        for block in self._executed.blocks():
            self._blocks.add_block(block)
        self._blocks.close_all()
        self._send_usage()
        self._blocks.end(self._finish_reason, self._usage, refused=self._refused)
        return self._blocks.take()


def _first_choice(choices: Any) -> Mapping[str, Any]:
    # Mistral sends several choices without being asked; only the one with index 0 is the answer.
    for choice in mappings_in(choices):
        if not choice.get("index"):
            return choice
    return {}


def _further_messages(choices: Any) -> list[Mapping[str, Any]]:
    # Copilot splits the text and the calls of Claude's answer into two choices, both without an index.
    parts = mappings_in(choices)
    if any(choice.get("index") is not None for choice in parts):
        return []
    return mappings_in([choice.get("message") for choice in parts[1:]])
