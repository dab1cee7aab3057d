"""Anthropic's Messages dialect, including the variants of compatible endpoints."""

from jumpseat.dialects.anthropic_messages.decode import AnthropicMessagesDecoder
from jumpseat.dialects.anthropic_messages.encode import MessagesFacts, encode, encode_with_warnings
from jumpseat.dialects.anthropic_messages.models import ModelRules, rules_of

__all__ = [
    "AnthropicMessagesDecoder",
    "MessagesFacts",
    "ModelRules",
    "encode",
    "encode_with_warnings",
    "rules_of",
]
