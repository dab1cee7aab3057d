"""Answers of each dialect, for the checks that script the provider.

A script has the paths of a dialect and makes its answers. A plug-in with another dialect subclasses `Script`;
a provider with other paths passes them to the script of its dialect.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jumpseat.testing.answers import anthropic_messages, chat_completions, ollama_chat, responses
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply


class Script:
    """Answers of one dialect, as bytes. Abstract: the three answers have no default."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/") -> None:
        """
        Args:
            base_path: the path of the base URL.
            chat_path: the whole path of chat requests.
        """
        self.base_path = base_path
        self.chat_path = chat_path

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """An answer of one text; if streamed, each piece is a separate write."""
        raise NotImplementedError

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """An answer that is one tool call; `arguments` is the JSON text of an object."""
        raise NotImplementedError

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """A refusal with this message. Underscores in header names stand for hyphens."""
        raise NotImplementedError

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Whether a chat requests a streamed answer."""
        return self.sent(request).get("stream") is True

    def sent(self, request: RecordedRequest) -> Any:
        """A chat's request as a JSON value; override it if a body is not JSON."""
        return request.json

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script other requests than chats: the list of models, token counts. Does nothing by default."""


class ChatCompletionsScript(Script):
    """OpenAI's chat completions."""

    def __init__(self, *, base_path: str = "/v1", chat_path: str = "/v1/chat/completions") -> None:
        super().__init__(base_path=base_path, chat_path=chat_path)

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """See `Script`."""
        if streamed:
            return Reply.events(chat_completions.completion_stream(pieces))
        return Reply.json(chat_completions.completion_body("".join(pieces)))

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """See `Script`."""
        calls = [chat_completions.FakeCall(call_id, name, _halves(arguments))]
        if streamed:
            return Reply.events(chat_completions.completion_stream(tool_calls=calls))
        return Reply.json(chat_completions.completion_body(None, tool_calls=calls))

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """See `Script`."""
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
        """See `Script`."""
        return _response(responses.message(*pieces), streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """See `Script`."""
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
        """See `Script`."""
        return _message(anthropic_messages.Words(pieces), streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """See `Script`."""
        call = anthropic_messages.Call(call_id, name, _halves(arguments), json.loads(arguments))
        return _message(call, streamed)

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
        """See `Script`."""
        if streamed:
            return ollama_chat.lines(*(ollama_chat.part(piece) for piece in pieces), ollama_chat.last())
        return Reply.json(ollama_chat.last(content="".join(pieces)))

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """See `Script`."""
        call = ollama_chat.call(name, json.loads(arguments), call_id=call_id)
        if streamed:
            return ollama_chat.lines(ollama_chat.part(tool_calls=[call]), ollama_chat.last())
        whole = ollama_chat.last()
        whole["message"] = {**whole["message"], "tool_calls": [call]}
        return Reply.json(whole)

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """See `Script`."""
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
