"""Maps the stop reasons of all dialects to ours.

The dialects share one table, because gateways send the words of one dialect in another. Sources: the
references of the dialects; for Gemini, `FinishReason` in its API reference.
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
    # Ollama answers with these to requests without messages, which load or unload a model.
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
    # The server interrupted the turn to shorten the context. To continue the turn, send the answer back.
    "compaction": "pause_turn",
    "max_messages": "pause_turn",
    "steered": "pause_turn",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "sensitive": "content_filter",
    # Gemini sends these besides `STOP` and `MAX_TOKENS`. In all these cases, the service withheld the
    # model's text.
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
"""Our stop reasons by the providers' words, in lower case because servers differ in case."""

_WHOLE = ("end_turn", "tool_use", "stop_sequence")


def stop_reason_of(word: str) -> StopReason | None:
    """Return our stop reason for a provider's word; None if the word is unknown."""
    return STOP_REASONS.get(word.lower())


def choose_stop_reason(known: str | None, word: Any) -> str | None:
    """Return the provider's word to report. If an answer has two, the one for an incomplete answer wins.

    Args:
        known: the provider's word so far.
        word: the next value; ignored unless it is a non-empty string.
    """
    if not isinstance(word, str) or not word:
        return known
    return word if known is None or _weight(word) >= _weight(known) else known


def _weight(word: str) -> int:
    reason = stop_reason_of(word)
    if reason is None:
        return 1
    return 0 if reason in _WHOLE else 2
