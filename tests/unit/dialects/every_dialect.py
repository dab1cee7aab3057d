"""One answer in the bytes of every dialect, streamed and not, for tests that all dialects share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from jumpseat.chat import ChatRequest, Fold, Response, StreamEvent
from jumpseat.dialects import Decoder
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder, MessagesFacts
from jumpseat.dialects.anthropic_messages import encode as encode_messages
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.chat_completions import EndpointFacts as ChatFacts
from jumpseat.dialects.chat_completions import encode as encode_chat
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.dialects.ollama_chat.encode import ServerFacts
from jumpseat.dialects.ollama_chat.encode import encode as encode_ollama
from jumpseat.dialects.responses import ResponsesDecoder, ResponsesFacts
from jumpseat.dialects.responses import encode as encode_responses
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import Reply, assert_laws
from jumpseat.testing.answers import anthropic_messages, chat_completions, ollama_chat, responses


@dataclass(frozen=True)
class Said:
    """An answer: pieces of text and thinking, calls of an id, a name and pieces of JSON, a stop reason."""

    text: Sequence[str] = ()
    calls: Sequence[tuple[str, str, Sequence[str]]] = ()
    thinking: Sequence[str] = ()
    stop: str | None = None


@dataclass(frozen=True)
class Dialect:
    """How a dialect encodes an answer, decodes it, and encodes a request."""

    write: Callable[[Said, bool], Reply]
    decoder: type[Decoder]
    encode: Callable[[ChatRequest], dict[str, Any]]

    def events(self, said: Said, *, streamed: bool) -> list[StreamEvent]:
        """The events of the answer, checked against the rules of events."""
        reply = self.write(said, streamed)
        decoder = self.decoder("acme", "asked")
        events: list[StreamEvent] = []
        reader = AnswerReader(decoder, reply.headers["content-type"])
        reader.feed(reply.body, events)
        if not decoder.complete:
            reader.finish(events)
        assert_laws(events)
        return events

    def read(self, said: Said, *, streamed: bool) -> Response:
        """The response."""
        fold = Fold("acme", "asked")
        for event in self.events(said, streamed=streamed):
            fold.add(event)
        return fold.response()


def _chat(said: Said, streamed: bool) -> Reply:
    calls = [chat_completions.FakeCall(*call) for call in said.calls]
    if streamed:
        return Reply.events(
            chat_completions.completion_stream(
                said.text, reasoning=said.thinking, tool_calls=calls, finish_reason=said.stop
            )
        )
    text, thinking = "".join(said.text), "".join(said.thinking) or None
    return Reply.json(
        chat_completions.completion_body(text, reasoning=thinking, tool_calls=calls, finish_reason=said.stop)
    )


def _messages(said: Said, streamed: bool) -> Reply:
    blocks: list[anthropic_messages.FakeBlock] = []
    if said.thinking:
        blocks.append(anthropic_messages.Thought(said.thinking))
    if said.text:
        blocks.append(anthropic_messages.Words(said.text))
    for call_id, name, pieces in said.calls:
        raw = "".join(pieces)
        blocks.append(anthropic_messages.Call(call_id, name, pieces, json.loads(raw) if raw else {}))
    if streamed:
        return Reply.events(anthropic_messages.message_stream(*blocks, stop_reason=said.stop))
    return Reply.json(anthropic_messages.message_body(*blocks, stop_reason=said.stop))


def _responses(said: Said, streamed: bool) -> Reply:
    items = [responses.reasoning("".join(said.thinking), encrypted="sealed")] if said.thinking else []
    if said.text:
        items.append(responses.message(*said.text))
    items += [
        responses.function_call(call_id, name, *pieces, item_id=f"fc_{number}")
        for number, (call_id, name, pieces) in enumerate(said.calls)
    ]
    status = "incomplete" if said.stop else "completed"
    details = {"reason": said.stop} if said.stop else None
    if streamed:
        return Reply.events(responses.response_stream(*items, end=status, incomplete_details=details))
    return Reply.json(responses.response(items, status=status, incomplete_details=details))


def _ollama(said: Said, streamed: bool) -> Reply:
    calls = [
        ollama_chat.call(name, json.loads("".join(pieces) or "{}"), call_id=call_id)
        for call_id, name, pieces in said.calls
    ]
    stop = said.stop or "stop"
    if streamed:
        return ollama_chat.lines(
            *(ollama_chat.part(thinking=piece) for piece in said.thinking),
            *(ollama_chat.part(piece) for piece in said.text),
            *(ollama_chat.part(tool_calls=[call]) for call in calls),
            ollama_chat.last(stop),
        )
    whole = ollama_chat.last(stop)
    whole["message"] = {
        "role": "assistant",
        "content": "".join(said.text),
        "thinking": "".join(said.thinking),
        "tool_calls": calls,
    }
    return Reply.json(whole)


DIALECTS = {
    "chat completions": Dialect(
        _chat, ChatCompletionsDecoder, lambda request: encode_chat(request, ChatFacts(provider="acme"))
    ),
    "messages": Dialect(
        _messages,
        AnthropicMessagesDecoder,
        lambda request: encode_messages(request, MessagesFacts(provider="acme")),
    ),
    "responses": Dialect(
        _responses,
        ResponsesDecoder,
        lambda request: encode_responses(request, ResponsesFacts(provider="acme")),
    ),
    "ollama": Dialect(
        _ollama, OllamaChatDecoder, lambda request: encode_ollama(request, ServerFacts(provider="acme"))
    ),
}

in_every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
however_it_comes = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
