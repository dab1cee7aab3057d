"""Converts a chat to the language server's turns.

A turn is a user's request with its answer; the last turn of a chat has no answer yet. Pure functions. Source:
`conversation/create` of `@github/copilot-language-server` 1.539, which sends the turns to the model as plain
messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    ImageBlock,
    Message,
    RequestError,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.user_parts import image_url, result_text

OPENING = "(The assistant speaks first.)"
"""The request of the first turn if the chat begins with the assistant."""

GO_ON = "Go on."
"""The last request if the chat ends with an assistant's message, which the server cannot continue."""

_COMMAND = re.compile(r"[\s\ufeff]*[/@]")
"""The start of a command or an agent's name; the server strips a byte order mark like white space."""

_NO_COMMAND = "\u200b"
"""A zero-width space, which is invisible but not white space to the server."""

RequestContent: TypeAlias = str | list[dict[str, Any]]
"""A request: text, or parts `{type: text, text}` and `{type: image_url, imageUrl: {url}}`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. The last turn of a chat has no response."""

    request: RequestContent
    response: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the turn in the form of `conversation/create`."""
        turn: dict[str, Any] = {"request": self.request}
        return turn if self.response is None else {**turn, "response": self.response}


def turns_of(request: ChatRequest) -> list[Turn]:
    """Return the chat as turns, the last one without a response. Reasoning is omitted.

    Raises:
        RequestError: the server does not support an image, because it is a URL or not in base64.
    """
    return [
        Turn(_escape_command(turn.request), turn.response) for turn in _make_turns(request, with_images=True)
    ]


def ends_with_assistant(request: ChatRequest) -> bool:
    """Whether the chat ends with the assistant, so that `GO_ON` is added."""
    return request.messages[-1].role == "assistant"


def as_text_turns(request: ChatRequest) -> list[tuple[str, str | None]]:
    """Return the chat as pairs of request and answer, without images and system prompt."""
    return [
        (str(each.request), each.response) for each in _make_turns(request, with_images=False, system=False)
    ]


def fingerprint(turns: Iterable[Turn]) -> int:
    """Return a hash of all requests and answers, equal if two chats are the same so far."""
    # Strip the answers, because some clients trim them.
    return hash(tuple((repr(each.request), (each.response or "").strip()) for each in turns))


def _make_turns(request: ChatRequest, *, with_images: bool, system: bool = True) -> list[Turn]:
    tools = _names_of_calls(request.messages)
    runs = [(role, list(run)) for role, run in groupby(request.messages, key=lambda message: message.role)]
    turns: list[Turn] = []
    pending: list[str | ImageBlock] | None = None
    for role, run in runs:
        if role == "user":
            pending = [part for message in run for part in _request_parts(message, tools) if part]
        else:
            answer = "\n\n".join(filter(None, map(_answer_text, run)))
            turns.append(_make_turn([OPENING] if pending is None else pending, answer, with_images))
            pending = None
    if pending is None:
        pending = [GO_ON]
    turns.append(_make_turn(pending, None, with_images))
    # The server has no field for a system prompt.
    if system and request.system and request.system.strip():
        turns[0] = _with_instructions(turns[0], request.system)
    return turns


def _make_turn(content: Sequence[str | ImageBlock], answer: str | None, with_images: bool) -> Turn:
    texts = [part for part in content if isinstance(part, str)]
    if not with_images or len(texts) == len(content):
        return Turn("\n\n".join(texts), answer)
    parts: list[dict[str, Any]] = []
    separator = ""
    for part in content:
        if isinstance(part, ImageBlock):
            parts.append({"type": "image_url", "imageUrl": {"url": _data_url(part)}})
        else:
            # The server joins texts without a separator, so include one.
            parts.append({"type": "text", "text": separator + part})
            separator = "\n\n"
    return Turn(parts, answer)


def _data_url(block: ImageBlock) -> str:
    url = image_url(block)
    if not url.startswith("data:"):
        raise RequestError(
            "The Copilot language server does not accept an image by its URL.",
            hint="Attach the image itself, as base64 or as a data: URL.",
        )
    if not url.partition(",")[0].endswith(";base64"):
        raise RequestError("The Copilot language server accepts images only in base64, even in data: URLs.")
    return url


def _escape_command(content: RequestContent) -> RequestContent:
    """Keep the server from reading the request's first word as a command or an agent."""
    # The server answers `/help`, replaces `/tests` with its own prompt, and routes `@name` to an agent.
    if isinstance(content, str):
        return f"{_NO_COMMAND}{content}" if _COMMAND.match(content) else content
    numbers = [number for number, part in enumerate(content) if part["type"] == "text"]
    if not _COMMAND.match("".join(content[number]["text"] for number in numbers)):
        return content
    first = numbers[0]
    text = {"type": "text", "text": f"{_NO_COMMAND}{content[first]['text']}"}
    return [*content[:first], text, *content[first + 1 :]]


def _with_instructions(turn: Turn, system: str) -> Turn:
    lead = f"<instructions>\n{system}\n</instructions>\n\n"
    if isinstance(turn.request, str):
        return Turn(lead + turn.request, turn.response)
    return Turn([{"type": "text", "text": lead}, *turn.request], turn.response)


def _request_parts(message: Message, tools: Mapping[str, str]) -> Iterable[str | ImageBlock]:
    for block in message.content:
        match block:
            case TextBlock(text=text):
                yield text
            case ContextBlock():
                yield render_context(block)
            case ImageBlock():
                yield block
            case ToolResultBlock():
                label = f"Result of the tool {tools.get(block.tool_use_id, block.tool_use_id)}"
                yield render_context(ContextBlock(result_text(block), label=label))
                yield from (part for part in block.media if isinstance(part, ImageBlock))
            case _:
                pass  # The engine allows no other blocks in a user's message.


def _answer_text(message: Message) -> str:
    """Return the texts of an answer, joined as in `Response.text`, followed by its calls."""
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    calls = [
        render_context(
            ContextBlock(block.raw or "{}", language_id="json", label=f"Call of the tool {block.name}")
        )
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]
    return "\n\n".join(filter(None, [text, *calls]))


def _names_of_calls(messages: Iterable[Message]) -> dict[str, str]:
    return {
        block.id: block.name
        for message in messages
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }
