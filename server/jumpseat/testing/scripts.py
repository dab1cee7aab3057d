"""What a script of a provider is. The dialects' own scripts are beside their answers, in `answers`.

A plug-in with another dialect subclasses `Script`. A provider with other paths passes them to the script of
its dialect.
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
    """The pieces of one text block; none if empty."""

    calls: Sequence[tuple[str, str, Sequence[str]]] = ()
    """For each tool call its id, its name and the pieces of the JSON text of its arguments."""

    thinking: Sequence[str] = ()
    """The pieces of one thinking block; none if empty."""

    stop: str | None = None
    """The provider's word for the stop reason; None for the usual one."""


class Script:
    """Answers of one dialect, as bytes. Abstract: `answer` and `error_answer` have no default."""

    def __init__(self, *, base_path: str = "", chat_path: str = "/") -> None:
        """
        Args:
            base_path: the path of the base URL.
            chat_path: the whole path of chat requests.
        """
        self.base_path = base_path
        self.chat_path = chat_path

    def answer(self, answer: Answer, *, streamed: bool) -> Reply:
        """An answer with this content; if streamed, each piece is a separate write."""
        raise NotImplementedError

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        """An answer of one text."""
        return self.answer(Answer(text=pieces), streamed=streamed)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        """An answer that is one tool call; `arguments` is the JSON text of an object."""
        return self.answer(Answer(calls=[(call_id, name, _halves(arguments))]), streamed=streamed)

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


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]
