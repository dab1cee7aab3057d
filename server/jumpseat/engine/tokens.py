"""How many tokens a prompt has, as far as that is known without asking anybody.

Owns the estimate, and a bounded memory of what providers have counted on this connection: the next turn of
a conversation is the last one, of which the total was told, and what was added since. Above it are the turn
and `engine/count`; it does no I/O.

No tokenizer: on chat requests an exact count of the words is no nearer to the total than their bytes, because
the error lies in what the provider adds (framing, a preamble for tools) and not in the words.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ContextBlock,
    ImageBlock,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from jumpseat.dialects.context_text import render_context
from jumpseat.engine.images import image_tokens
from jumpseat.wire import write_json

BYTES_PER_TOKEN = 4
"""Of UTF-8, not characters: so Chinese and Japanese are no worse estimated than English."""

REQUEST_TOKENS = 3
MESSAGE_TOKENS = 4
"""What frames a request and each of its messages in most chat templates."""

TOOL_TOKENS = 8
"""What frames one tool's definition."""

TOOLS_PREAMBLE = (("claude", 530),)
"""Families of models for which a request with tools gets a preamble, and its length as recordings show it."""

REMEMBERED = 512
"""Prompts of which the count is kept; a connection rarely has more conversations at once."""


_BlockOfTexts: TypeAlias = (
    TextBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | RedactedThinkingBlock | OtherBlock
)


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of a prompt's length."""

    tokens: int
    exact: bool = False
    """The provider was asked to count this very prompt; else it is an estimate.

    What a turn reported is none: where a provider runs tools of its own, it is the sum of several prompts.
    """


@dataclass(frozen=True, slots=True)
class _Counted:
    """A prompt that the provider has counted, and the answer to it."""

    input_tokens: int
    output_tokens: int | None = None
    """None where only the prompt was counted."""

    reasoning_tokens: int = 0


class TokenMemory:
    """What providers have counted of late. One for each connection; used on the event loop only."""

    def __init__(self, capacity: int = REMEMBERED) -> None:
        self._capacity = capacity
        self._counted: OrderedDict[int, _Counted] = OrderedDict()

    def remember_turn(self, provider: str, request: ChatRequest, usage: Usage | None) -> None:
        """Note what a turn's prompt and answer came to, if the provider reported it."""
        if usage is not None and usage.input_tokens > 0:
            counted = _Counted(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens or 0)
            self._remember(provider, request, counted)

    def remember_count(self, provider: str, request: ChatRequest, tokens: int) -> None:
        """Note what the provider counted for a prompt that was not sent yet."""
        self._remember(provider, request, _Counted(tokens))

    def size(self, provider: str, request: ChatRequest) -> Size:
        """How long the prompt is: as it was counted, else from the turn before it, else from its bytes."""
        messages = request.messages
        keys = list(_prefixes(provider, request))
        counted = self._counted.get(keys[-1])
        if counted is not None:
            return Size(counted.input_tokens, exact=counted.output_tokens is None)
        for length in range(len(messages) - 1, 0, -1):
            counted = self._counted.get(keys[length - 1])
            if counted is None or counted.output_tokens is None or messages[length].role != "assistant":
                continue
            answer = messages[length]
            added = sum(message_tokens(message) for message in messages[length + 1 :])
            return Size(counted.input_tokens + _replayed(counted, answer) + added)
        return Size(estimate(request))

    def _remember(self, provider: str, request: ChatRequest, counted: _Counted) -> None:
        *_, key = _prefixes(provider, request)
        self._counted[key] = counted
        self._counted.move_to_end(key)
        while len(self._counted) > self._capacity:
            self._counted.popitem(last=False)


def _replayed(counted: _Counted, answer: Message) -> int:
    """What an answer costs as a part of the next prompt: reasoning that is not sent back costs nothing."""
    output = counted.output_tokens or 0
    thinks = any(block.type in ("thinking", "redacted_thinking") for block in answer.content)
    return output if thinks else max(output - counted.reasoning_tokens, 0)


def estimate(request: ChatRequest) -> int:
    """The tokens of a prompt of which nothing was ever counted."""
    tokens = REQUEST_TOKENS + _of_text(request.system or "")
    tokens += sum(message_tokens(message) for message in request.messages)
    if request.tools and request.tool_choice != "none":
        for tool in request.tools:
            tokens += TOOL_TOKENS + _of_text(tool.name) + _of_text(tool.description)
            tokens += len(write_json(tool.parameters)) // BYTES_PER_TOKEN
        tokens += next((more for family, more in TOOLS_PREAMBLE if family in request.model.lower()), 0)
    return tokens


def message_tokens(message: Message) -> int:
    """The estimated tokens of one message."""
    return MESSAGE_TOKENS + sum(_block_tokens(block) for block in message.content)


def _block_tokens(block: ContentBlock) -> int:
    match block:
        case ImageBlock():
            return image_tokens(block)
        case ContextBlock():
            return _of_text(render_context(block))
        case (
            TextBlock()
            | ToolUseBlock()
            | ToolResultBlock()
            | ThinkingBlock()
            | RedactedThinkingBlock()
            | OtherBlock()
        ):
            return sum(map(_of_text, _texts(block)))
        case _:
            assert_never(block)


def _texts(block: _BlockOfTexts) -> tuple[str, ...]:
    """What of a block a model reads as text. Encrypted reasoning is not as long as its cipher."""
    match block:
        case TextBlock(text):
            return (text,)
        case ToolUseBlock():
            return (block.name, block.raw)
        case ToolResultBlock():
            return (block.content,)
        case ThinkingBlock():
            return (block.thinking,)
        case OtherBlock():
            return (block.text or block.opaque or "",)
        case RedactedThinkingBlock():
            return ()
        case _:
            assert_never(block)


def _of_text(text: str) -> int:
    """A quarter of its bytes of UTF-8, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)


def _prefixes(provider: str, request: ChatRequest) -> Iterator[int]:
    """A key for each beginning of the conversation, shortest first: the first message, the first two, …

    Python's hash is keyed for each process, and the fastest that there is for a text; where two prompts had
    one key, an estimate would be wrong and nothing else.
    """
    tools = write_json([[tool.name, tool.description, tool.parameters] for tool in request.tools])
    options = repr((request.tool_choice, request.output_mode, request.thinking))
    key = hash((provider, request.model, request.system or "", tools, options))
    for message in request.messages:
        parts: list[str] = []
        for block in message.content:
            parts += (block.type, *_identity(block))
        key = hash((key, message.role, *parts))
        yield key


def _identity(block: ContentBlock) -> tuple[str, ...]:
    """What tells a block from another of its type; of an image, enough to do so without reading all of it."""
    match block:
        case ImageBlock():
            return (str(len(block.source)), block.source[:256], block.source[-256:])
        case ContextBlock():
            return (render_context(block),)
        case RedactedThinkingBlock():
            return (block.data,)
        case TextBlock() | ToolUseBlock() | ToolResultBlock() | ThinkingBlock() | OtherBlock():
            return _texts(block)
        case _:
            assert_never(block)
