"""OpenAI's chat-completions dialect, including the variants of compatible servers."""

from jumpseat.dialects.chat_completions.decode import ChatCompletionsDecoder
from jumpseat.dialects.chat_completions.encode import EndpointFacts, encode
from jumpseat.dialects.reasoning_models import (
    find_reasoning_refusals,
    takes_only_max_completion_tokens,
)

__all__ = [
    "ChatCompletionsDecoder",
    "EndpointFacts",
    "encode",
    "find_reasoning_refusals",
    "takes_only_max_completion_tokens",
]
