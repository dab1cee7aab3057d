"""Measures prompts in tokens without a request, from the provider's recent counts or by an estimate."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock
from typing import TypeAlias, assert_never

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from jumpseat.dialects.context_text import render_context
from jumpseat.engine.images import estimate_document_tokens, estimate_image_tokens
from jumpseat.wire import write_json

# A tokenizer would not help, because the error of an estimate comes from the provider's additions (framing, a
# preamble for tools). An estimate from the bytes is as close to the total as an exact count of the text.
BYTES_PER_TOKEN = 4
"""The average length of a token in UTF-8 bytes. Counting characters instead would make estimates for Chinese
and Japanese worse than those for English."""

REQUEST_TOKENS = 3
MESSAGE_TOKENS = 4
"""The tokens for the framing of a request and of each message in most chat templates."""

TOOL_TOKENS = 8
"""The tokens for the framing of one tool definition."""

TOOLS_PREAMBLE = (("claude", 530),)
"""The families of models for which providers add a preamble to requests with tools, and its length in tokens.

The lengths are from recordings.
"""

MAX_COUNTS = 512
"""The maximum number of remembered prompts; a connection rarely has more conversations open."""


_BlockOfTexts: TypeAlias = TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock | OtherBlock


@dataclass(frozen=True, slots=True)
class PromptSize:
    """The length of a prompt."""

    tokens: int
    exact: bool = False
    """Whether the provider counted exactly this prompt; otherwise `tokens` is an estimate.

    The usage of a turn counts as an estimate: if a provider runs its own tools, the usage includes
    several prompts.
    """


@dataclass(frozen=True, slots=True)
class _PromptCount:
    """The provider's counts of the tokens of a prompt and of its answer."""

    input_tokens: int
    output_tokens: int | None = None
    """None if only the prompt was counted."""

    reasoning_tokens: int = 0


class TokenMemory:
    """Recent token counts of providers, one memory per connection. Thread-safe."""

    def __init__(self, capacity: int = MAX_COUNTS) -> None:
        self._capacity = capacity
        self._counted: OrderedDict[int, _PromptCount] = OrderedDict()
        self._lock = Lock()

    def remember_turn(self, provider: str, request: ChatRequest, usage: Usage | None) -> None:
        """Remember the tokens of a turn's prompt and answer, if the provider reported them."""
        if usage is not None and usage.input_tokens > 0:
            counted = _PromptCount(usage.input_tokens, usage.output_tokens, usage.reasoning_tokens or 0)
            self._remember(provider, request, counted)

    def remember_count(self, provider: str, request: ChatRequest, tokens: int) -> None:
        """Remember the provider's count of a prompt that has not been sent yet."""
        self._remember(provider, request, _PromptCount(tokens))

    def measure(self, provider: str, request: ChatRequest) -> PromptSize:
        """Return the length of a prompt.

        The length is the provider's count of this prompt if there is one. Otherwise it is estimated from the
        count of an earlier turn or, without one, from the prompt's bytes.
        """
        messages = request.messages
        prompts = _Prompts(provider, request)
        counted = self._counted.get(prompts.compute_key(len(messages)))
        if counted is not None:
            return PromptSize(counted.input_tokens, exact=counted.output_tokens is None)
        # The prompt consists of an earlier prompt, its answer and the messages since then. The longest
        # earlier prompt gives the best estimate.
        for length in range(len(messages) - 1, 0, -1):
            if messages[length].role != "assistant":
                continue
            counted = self._counted.get(prompts.compute_key(length))
            if counted is not None and counted.output_tokens is not None:
                added = prompts.totals[-1] - prompts.totals[length]
                return PromptSize(
                    counted.input_tokens + _count_replayed_tokens(counted, messages[length]) + added
                )
        return PromptSize(estimate_tokens(request))

    def _remember(self, provider: str, request: ChatRequest, counted: _PromptCount) -> None:
        key = _Prompts(provider, request).compute_key(len(request.messages))
        with self._lock:
            self._counted[key] = counted
            self._counted.move_to_end(key)
            while len(self._counted) > self._capacity:
                self._counted.popitem(last=False)


class _Prompts:
    """The prompts of a conversation so far: its first message, its first two messages, and so on."""

    def __init__(self, provider: str, request: ChatRequest) -> None:
        self._messages = request.messages
        tools = [write_json([tool.name, tool.description, tool.parameters]) for tool in request.tools]
        options = repr((request.tool_choice, request.output_mode, request.thinking))
        self._settings = hash((provider, request.model, request.system or "", *tools, options))
        self.totals = list(accumulate(map(estimate_message_tokens, request.messages)))
        """The estimated tokens up to the end of each message."""

    def compute_key(self, length: int) -> int:
        """Return a key for the prompt of the first `length` messages.

        Of the earlier messages, only the estimated tokens are part of the key. Almost every edit that changes
        the provider's count also changes the estimate.
        """
        parts: list[str] = []
        for block in self._messages[length - 1].content:
            parts += (block.type, *_identify(block))
        return hash((self._settings, length, self.totals[length - 1], *parts))


def _count_replayed_tokens(counted: _PromptCount, answer: Message) -> int:
    """Return the tokens that an answer adds to the next prompt; reasoning that is not sent back adds none."""
    output = counted.output_tokens or 0
    thinks = any(block.type in ("thinking", "redacted_thinking") for block in answer.content)
    return output if thinks else max(output - counted.reasoning_tokens, 0)


def estimate_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of a prompt without the provider's counts."""
    tokens = REQUEST_TOKENS + _estimate_text_tokens(request.system or "")
    tokens += sum(estimate_message_tokens(message) for message in request.messages)
    if request.tools and request.tool_choice != "none":
        tokens += sum(map(estimate_tool_tokens, request.tools))
        tokens += next((more for family, more in TOOLS_PREAMBLE if family in request.model.lower()), 0)
    return tokens


def estimate_tool_tokens(tool: ToolDefinition) -> int:
    """Estimate the tokens of a tool's definition, which each request with the tool contains."""
    tokens = TOOL_TOKENS + _estimate_text_tokens(tool.name) + _estimate_text_tokens(tool.description)
    return tokens + len(write_json(tool.parameters)) // BYTES_PER_TOKEN


def estimate_message_tokens(message: Message) -> int:
    """Estimate the tokens of one message."""
    tokens = MESSAGE_TOKENS
    for block in message.content:
        tokens += (
            _estimate_text_tokens(block.text)
            if isinstance(block, TextBlock)
            else _estimate_block_tokens(block)
        )
    return tokens


def _estimate_block_tokens(block: ContentBlock) -> int:
    match block:
        case TextBlock() | ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
            return sum(map(_estimate_text_tokens, _list_texts(block)))
        case ImageBlock():
            return estimate_image_tokens(block)
        case DocumentBlock():
            return estimate_document_tokens(block)
        case ToolResultBlock():
            return _estimate_text_tokens(block.text) + sum(map(_estimate_block_tokens, block.media))
        case ContextBlock():
            return _estimate_text_tokens(render_context(block))
        case _:
            assert_never(block)


def _list_texts(block: _BlockOfTexts) -> tuple[str, ...]:
    """Return the texts that the model reads in a block. The tokens of encrypted reasoning are unknown."""
    match block:
        case TextBlock(text):
            return (text,)
        case ToolUseBlock():
            return (block.name, block.raw)
        case ThinkingBlock():
            return (block.thinking,)
        case OtherBlock():
            return (block.text or block.opaque or "",)
        case RedactedThinkingBlock():
            return ()
        case _:
            assert_never(block)


def _estimate_text_tokens(text: str) -> int:
    """Return a quarter of the text's UTF-8 bytes, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)


def _identify(block: ContentBlock) -> tuple[str, ...]:
    """Return the data that distinguishes a block from others of its type."""
    match block:
        case ToolResultBlock():
            return (block.text, *(text for part in block.media for text in _identify(part)))
        case ImageBlock() | DocumentBlock():
            # Hashing megabytes for each prompt would be slow.
            return (str(len(block.source)), block.source[:256], block.source[-256:])
        case ContextBlock():
            return (render_context(block),)
        case RedactedThinkingBlock():
            return (block.data,)
        case TextBlock() | ToolUseBlock() | ThinkingBlock() | OtherBlock():
            return _list_texts(block)
        case _:
            assert_never(block)
