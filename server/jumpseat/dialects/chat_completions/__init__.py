"""OpenAI's chat-completions dialect, as its many imitators speak it."""

from jumpseat.dialects.chat_completions.decode import ChatCompletionsDecoder
from jumpseat.dialects.chat_completions.encode import EndpointFacts, encode

__all__ = ["ChatCompletionsDecoder", "EndpointFacts", "encode"]
