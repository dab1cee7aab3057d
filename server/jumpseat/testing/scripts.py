"""What a provider of each dialect answers, for the checks that need an answer of their own making.

Owns where a dialect's requests come to and how its answers are spelled. A third party with a dialect of
its own subclasses `Script`; a provider with other paths passes them to the script of its dialect. Above it
are the checks of the contract; below it the bodies in `answers` and the scriptable server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jumpseat.testing.answers import anthropic_messages, chat_completions, ollama_chat, responses
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply


class Script:
    """Answers of one dialect, in its own bytes. Abstract: the three answers have no default."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/") -> None:
        """
        Args:
            base_path: what the base URL has behind the origin.
            chat_path: the whole path that chats are sent to.
        """
        self.base_path = base_path
        self.chat_path = chat_path

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """An answer of one text; streamed, each piece is a write of its own."""
        raise NotImplementedError

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """An answer that is one call of a tool; `arguments` is JSON text of an object."""
        raise NotImplementedError

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """A refusal with these words. Underscores in header names stand for hyphens."""
        raise NotImplementedError

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Whether a chat wants its answer streamed."""
        return self.sent(request).get("stream") is True

    def sent(self, request: RecordedRequest) -> Any:
        """A chat's request as a JSON value; override it where a body is not JSON."""
        return request.json

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script what is asked beside chats: the list of models, tokens, facts. Does nothing by default."""


class ChatCompletionsScript(Script):
    """OpenAI's chat completions."""

    def __init__(self, *, base_path: str = "/v1", chat_path: str = "/v1/chat/completions") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """As `Script` says."""
        if streamed:
            return Reply.events(chat_completions.completion_stream(pieces))
        return Reply.json(chat_completions.completion_body("".join(pieces)))

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """As `Script` says."""
        calls = [chat_completions.FakeCall(call_id, name, _halves(arguments))]
        if streamed:
            return Reply.events(chat_completions.completion_stream(tool_calls=calls))
        return Reply.json(chat_completions.completion_body(None, tool_calls=calls))

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """As `Script` says."""
        return Reply.json({"error": {"message": message, "type": "error"}}, status, **headers)

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """The list of models."""
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "contract"} for name in models]
        upstream.default(Reply.json({"object": "list", "data": rows}), path=f"{self.base_path}/models")


class ResponsesScript(ChatCompletionsScript):
    """OpenAI's Responses; errors and the list of models are those of chat completions."""

    def __init__(self, *, base_path: str = "/v1", chat_path: str = "/v1/responses") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """As `Script` says."""
        return _response(responses.message(*pieces), streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """As `Script` says."""
        return _response(responses.function_call(call_id, name, *_halves(arguments)), streamed)

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """The list of models, and a count of tokens."""
        super().prepare(upstream, models)
        counted = {"object": "response.input_tokens", "input_tokens": 7}
        upstream.default(Reply.json(counted), path=f"{self.chat_path}/input_tokens")


class AnthropicMessagesScript(Script):
    """Anthropic's Messages."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/v1/messages") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """As `Script` says."""
        return _message(anthropic_messages.Words(pieces), streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """As `Script` says."""
        call = anthropic_messages.Call(call_id, name, _halves(arguments), json.loads(arguments))
        return _message(call, streamed)

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """As `Script` says."""
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
        body = anthropic_messages.error_body(kinds.get(status, "api_error"), message)
        return Reply.json(body, status, **headers)

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """The list of models, and a count of tokens."""
        rows = [{"type": "model", "id": name, "display_name": name.title()} for name in models]
        listed = {"data": rows, "has_more": False, "first_id": None, "last_id": None}
        upstream.default(Reply.json(listed), path=self.chat_path.replace("/messages", "/models"))
        upstream.default(Reply.json({"input_tokens": 7}), path=f"{self.chat_path}/count_tokens")


class OllamaChatScript(Script):
    """Ollama's own dialect."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/api/chat") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """As `Script` says."""
        if streamed:
            return ollama_chat.lines(*(ollama_chat.part(piece) for piece in pieces), ollama_chat.last())
        return Reply.json(ollama_chat.last(content="".join(pieces)))

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """As `Script` says."""
        call = ollama_chat.call(name, json.loads(arguments), call_id=call_id)
        if streamed:
            return ollama_chat.lines(ollama_chat.part(tool_calls=[call]), ollama_chat.last())
        whole = ollama_chat.last()
        whole["message"] = {**whole["message"], "tool_calls": [call]}
        return Reply.json(whole)

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """As `Script` says."""
        return Reply.json({"error": message}, status, **headers)

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Streaming is the default of this dialect."""
        return self.sent(request).get("stream") is not False

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """The list of models, and the same facts of each."""
        rows = [{"name": name, "model": name, "details": {"family": "contract"}} for name in models]
        upstream.default(Reply.json({"models": rows}), path="/api/tags")
        shown = {
            "details": {"family": "contract"},
            "model_info": {"general.architecture": "contract", "contract.context_length": 32_768},
            "capabilities": ["completion", "tools", "thinking", "vision"],
        }
        upstream.default(Reply.json(shown), path="/api/show")


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _response(item: dict[str, Any], streamed: bool) -> Reply:
    if streamed:
        return Reply.events(responses.response_stream(item))
    return Reply.json(responses.response([item]))


def _message(block: anthropic_messages.FakeBlock, streamed: bool) -> Reply:
    if streamed:
        return Reply.events(anthropic_messages.message_stream(block))
    return Reply.json(anthropic_messages.message_body(block))
