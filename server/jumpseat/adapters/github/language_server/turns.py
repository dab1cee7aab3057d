"""A chat as turns of the Copilot language server: each a user's request and, but for the last, its answer.

The server has no field for a system prompt, so it precedes the first request; tool calls and results of
another provider's history become text. Pure functions. Source: `conversation/create` of
`@github/copilot-language-server` 1.539, whose turns reach the model as plain messages.
"""

from __future__ import annotations

import hashlib
import json
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
"""The request of a first turn whose answer the assistant gave unasked."""

GO_ON = "Go on."
"""The last request where the chat ends with the assistant: the server has no way to go on with its words."""

_COMMAND = re.compile(r"[\s\ufeff]*[/@]")
"""What begins a command or the name of an agent; the server strips a byte order mark like white space."""

_NO_COMMAND = "\u200b"
"""No white space to the server, which looks at what comes first behind that, and nothing to see in a text."""

Asked: TypeAlias = str | list[dict[str, Any]]
"""A request: text, or parts `{type: text, text}` and `{type: image_url, imageUrl: {url}}`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; the last one of a chat has no response."""

    request: Asked
    response: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """The turn as `conversation/create` takes it."""
        turn: dict[str, Any] = {"request": self.request}
        return turn if self.response is None else {**turn, "response": self.response}


def turns_of(request: ChatRequest) -> list[Turn]:
    """The chat as turns, the last one open. Reasoning and what only its provider can read is left out.

    Raises:
        RequestError: an image is an address, or not in base64, which the server cannot read.
    """
    return [Turn(_no_command(turn.request), turn.response) for turn in _turns(request, with_images=True)]


def goes_on_itself(request: ChatRequest) -> bool:
    """Whether the chat ends with the assistant, so that `GO_ON` was put behind it."""
    return request.messages[-1].role == "assistant"


def as_text_turns(request: ChatRequest) -> list[tuple[str, str | None]]:
    """The chat for who takes no more than text: what was said and what was answered, images left out."""
    return [(str(each.request), each.response) for each in _turns(request, with_images=False, system=False)]


def fingerprint(turns: Iterable[Turn]) -> str:
    """What tells whether two chats are the same so far: every request, and the text of every answer.

    Clients trim what they keep of an answer, so white space around it does not count.
    """
    said = [[each.request, (each.response or "").strip()] for each in turns]
    written = json.dumps(said, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def _turns(request: ChatRequest, *, with_images: bool, system: bool = True) -> list[Turn]:
    tools = _names_of_calls(request.messages)
    runs = [(role, list(run)) for role, run in groupby(request.messages, key=lambda message: message.role)]
    turns: list[Turn] = []
    asked: list[str | ImageBlock] | None = None
    for role, run in runs:
        if role == "user":
            asked = [part for message in run for part in _asked(message, tools) if part]
        else:
            answer = "\n\n".join(filter(None, map(_answered, run)))
            turns.append(_turn([OPENING] if asked is None else asked, answer, with_images))
            asked = None
    if asked is None:
        asked = [GO_ON]
    turns.append(_turn(asked, None, with_images))
    if system and request.system and request.system.strip():
        turns[0] = _instructed(turns[0], request.system)
    return turns


def _turn(asked: Sequence[str | ImageBlock], answer: str | None, with_images: bool) -> Turn:
    texts = [part for part in asked if isinstance(part, str)]
    if not with_images or len(texts) == len(asked):
        return Turn("\n\n".join(texts), answer)
    parts: list[dict[str, Any]] = []
    distance = ""
    for part in asked:
        if isinstance(part, ImageBlock):
            parts.append({"type": "image_url", "imageUrl": {"url": _picture(part)}})
        else:
            # The server joins the texts without anything between them.
            parts.append({"type": "text", "text": distance + part})
            distance = "\n\n"
    return Turn(parts, answer)


def _picture(block: ImageBlock) -> str:
    url = image_url(block)
    if not url.startswith("data:"):
        raise RequestError(
            "The Copilot language server takes the bytes of an image only, not an address of one.",
            hint="Attach the image itself, as base64 or as a data: URL.",
        )
    if not url.partition(",")[0].endswith(";base64"):
        raise RequestError(
            "The Copilot language server takes images in base64 only; a data: URL of the chat is not."
        )
    return url


def _no_command(asked: Asked) -> Asked:
    """The request where its first words are no command or name of an agent to the server.

    It would answer `/help` by itself, put words of its own for `/tests`, and send `@name` elsewhere.
    """
    if isinstance(asked, str):
        return f"{_NO_COMMAND}{asked}" if _COMMAND.match(asked) else asked
    numbers = [number for number, part in enumerate(asked) if part["type"] == "text"]
    if not _COMMAND.match("".join(asked[number]["text"] for number in numbers)):
        return asked
    first = numbers[0]
    text = {"type": "text", "text": f"{_NO_COMMAND}{asked[first]['text']}"}
    return [*asked[:first], text, *asked[first + 1 :]]


def _instructed(turn: Turn, system: str) -> Turn:
    lead = f"<instructions>\n{system}\n</instructions>\n\n"
    if isinstance(turn.request, str):
        return Turn(lead + turn.request, turn.response)
    return Turn([{"type": "text", "text": lead}, *turn.request], turn.response)


def _asked(message: Message, tools: Mapping[str, str]) -> Iterable[str | ImageBlock]:
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
            case _:
                pass  # An assistant's block has no place in a user's message, and the engine lets none in.


def _answered(message: Message) -> str:
    """The texts of an answer, joined as `Response.text` joins them, and its calls behind them."""
    said = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    calls = [
        render_context(
            ContextBlock(block.raw or "{}", language_id="json", label=f"Call of the tool {block.name}")
        )
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]
    return "\n\n".join(filter(None, [said, *calls]))


def _names_of_calls(messages: Iterable[Message]) -> dict[str, str]:
    return {
        block.id: block.name
        for message in messages
        for block in message.content
        if isinstance(block, ToolUseBlock)
    }
