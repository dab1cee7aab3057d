"""The interface of scripts, which write a provider's answers.

The package `answers` has a script for each known dialect. If the provider's paths differ from the script's
defaults, pass them to the script. For another dialect, subclass `Script`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of one answer: its thinking, its text, then its tool calls."""

    text: Sequence[str] = ()
    """The pieces of the text block; if there are none, the answer has no text block."""

    calls: Sequence[tuple[str, str, Sequence[str]]] = ()
    """The tool calls: the id, the name, and the JSON text of the arguments in pieces."""

    thinking: Sequence[str] = ()
    """The pieces of the thinking block; if there are none, the answer has no thinking block."""

    stop: str | None = None
    """The stop reason as the provider names it; None for the usual reason."""


class Script:
    """The abstract base of scripts, which write the answers of one dialect as bytes."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/") -> None:
        """
        Args:
            base_path: the path of the base URL.
            chat_path: the full path of chat requests.
        """
        self.base_path = base_path
        self.chat_path = chat_path

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """Return an answer. If it is streamed, each piece is a separate write. Must be overridden."""
        raise NotImplementedError

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """Return an answer that consists of one text block in these pieces."""
        return self.answer(Answer(text=pieces), streamed=streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """Return an answer with one tool call. `arguments` is the JSON text of an object."""
        return self.answer(Answer(calls=[(call_id, name, _halves(arguments))]), streamed=streamed)

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        """Return an error response. Must be overridden.

        Args:
            status: the HTTP status.
            message: the error's message.
            headers: further headers; underscores in their names stand for hyphens.
        """
        raise NotImplementedError

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Return whether a chat requests a streamed answer."""
        return self.parse_request(request).get("stream") is True

    def parse_request(self, request: RecordedRequest) -> Any:
        """Return the body of a chat request as a JSON value. Override this if bodies are not JSON."""
        return request.json

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        """Script the answers to requests other than chats, such as for the list of models.

        By default, do nothing.
        """


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]
