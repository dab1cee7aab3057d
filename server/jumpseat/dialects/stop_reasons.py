"""The words of all dialects for why an answer stopped, in the vocabulary's terms.

One table, because gateways carry the words of one dialect into another. Sources: the references of the
dialects; for Gemini's words `FinishReason` of its API reference. Above it is the assembler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import StopReason

STOP_REASONS: Mapping[str, StopReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "complete": "end_turn",
    "completed": "end_turn",
    # Ollama's answers to requests without messages, by which others manage the server's memory.
    "load": "end_turn",
    "unload": "end_turn",
    "tool_use": "tool_use",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "stop_sequence": "stop_sequence",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "length": "max_tokens",
    "repetition_truncation": "max_tokens",
    "model_context_window_exceeded": "context_exceeded",
    "model_length": "context_exceeded",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    # The turn was only interrupted to shorten the context: it goes on when it is sent back as it is.
    "compaction": "pause_turn",
    "incomplete": "pause_turn",
    "max_messages": "pause_turn",
    "steered": "pause_turn",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "sensitive": "content_filter",
    # Gemini's, beside `STOP` and `MAX_TOKENS`. Whichever it is, the service held back what the model wrote.
    "safety": "content_filter",
    "recitation": "content_filter",
    "language": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "model_armor": "content_filter",
    "image_safety": "content_filter",
    "image_prohibited_content": "content_filter",
    "image_recitation": "content_filter",
    "image_other": "content_filter",
    "no_image": "content_filter",
    "malformed_function_call": "content_filter",
    "malformed_response": "content_filter",
    "unexpected_tool_call": "content_filter",
    "too_many_tool_calls": "content_filter",
    "missing_thought_signature": "content_filter",
    "other": "content_filter",
}
"""In lower case: servers differ in that."""

_WHOLE = ("end_turn", "tool_use", "stop_sequence")


def stop_reason_of(word: str) -> StopReason | None:
    """What a provider's word means; None where it is not known."""
    return STOP_REASONS.get(word.lower())


def weightier(known: str | None, word: Any) -> str | None:
    """Of two words for one answer's stop the one that counts: a cut-off answer stays one.

    Args:
        known: the word so far.
        word: the next one, of any kind; what is no text, or empty, says nothing.
    """
    if not isinstance(word, str) or not word:
        return known
    return word if known is None or _weight(word) >= _weight(known) else known


def _weight(word: str) -> int:
    reason = stop_reason_of(word)
    if reason is None:
        return 1
    return 0 if reason in _WHOLE else 2
