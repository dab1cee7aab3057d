"""Collects the reasoning of an answer, and replays it.

This module owns the keys of `opaque`, which the decoder writes and the encoder reads. A key is present only
if the provider sent its value. Source: `tests/dialect_rows/chat_completions.py`.

- `field`: the name of the message field that contained the text, such as `reasoning_content`, or
  `content.thinking` if the text was a part of the content, as in Mistral's answers. The text itself is in the
  block.
- `reasoning_details`: OpenRouter's array, with its fragments merged.
- `reasoning_opaque`: Copilot's encrypted text.
- `extra_content`, in a tool call: Gemini's data, which includes the thought signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.dialects.cut_text import join_pieces
from jumpseat.dialects.opaque import read_opaque, write_opaque

# DeepSeek, Moonshot, llama.cpp, LM Studio and xAI send `reasoning_content`. OpenRouter, Groq, vLLM and
# Cerebras send `reasoning`. Copilot sends `reasoning_text`.
TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""The fields with reasoning text. The first non-empty one is used, because a second one repeats the text."""

SUMMARY_FIELD = "cot_summary"
"""The field with Copilot's summary of the reasoning. It is not replayed: the service stores the reasoning."""

CONTENT_PART = "content.thinking"
"""The `field` of reasoning that is a part of the content."""

_CONCATENATED = ("text", "summary", "data")


def merge_details(fragments: Iterable[Any]) -> list[dict[str, Any]]:
    """Join the fragments of each item of OpenRouter's `reasoning_details`, in first-seen order.

    Fragments of one item share type and index. Texts are concatenated; for other members, the last value that
    is not null is used.
    """
    # OpenRouter rejects unmerged fragments with the error that a signature is invalid.
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for number, fragment in enumerate(fragments):
        if not isinstance(fragment, dict):
            continue
        index = fragment.get("index")
        # Without an index, every fragment is a separate item.
        key = (str(fragment.get("type")), str(index) if index is not None else f"#{number}")
        known = merged.setdefault(key, {})
        for name, value in fragment.items():
            if name in _CONCATENATED and isinstance(value, str) and isinstance(known.get(name), str):
                known[name] = join_pieces((known[name], value))
            elif value is not None or name not in known:
                known[name] = value
    return list(merged.values())


class ReasoningCollector:
    """A collector of the opaque data of the open thinking block."""

    def __init__(self) -> None:
        self._field: str | None = None
        self._details: list[Any] = []
        self._encrypted = ""

    @property
    def needs_block(self) -> bool:
        """Whether there is data that needs a thinking block, even one without text."""
        return bool(self._details or self._encrypted)

    def read_text(self, delta: Mapping[str, Any]) -> str:
        """Return the reasoning text of a delta or message, and record which field contained it."""
        summary = delta.get(SUMMARY_FIELD)
        if isinstance(summary, str) and summary:
            return summary
        for name in TEXT_FIELDS:
            value = delta.get(name)
            if isinstance(value, str) and value:
                self._field = name
                return value
        return ""

    def note_part(self) -> None:
        """Record that the open block's text was a part of the content."""
        self._field = CONTENT_PART

    def add(self, delta: Mapping[str, Any]) -> None:
        """Collect `reasoning_details` and `reasoning_opaque` from a delta or message."""
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            self._details += details
        encrypted = delta.get("reasoning_opaque")
        if isinstance(encrypted, str):
            self._encrypted += encrypted

    def take(self) -> str | None:
        """Return the `opaque` of the block that is being closed, and start again for the next block."""
        values: dict[str, Any] = {}
        if self._field is not None:
            values["field"] = self._field
        if details := merge_details(self._details):
            values["reasoning_details"] = details
        if self._encrypted:
            values["reasoning_opaque"] = self._encrypted
        self._field, self._details, self._encrypted = None, [], ""
        return write_opaque(values)


def replay_reasoning(blocks: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    """Return the message fields that replay thinking blocks.

    Args:
        blocks: the text and `opaque` of each block, in order.
    """
    fields: dict[str, Any] = {}
    details: list[Any] = []
    for text, opaque in blocks:
        values = read_opaque(opaque)
        if isinstance(values.get("reasoning_details"), list):
            details += values["reasoning_details"]
        elif values.get("field") in TEXT_FIELDS and text:
            fields[values["field"]] = fields.get(values["field"], "") + text
        if isinstance(values.get("reasoning_opaque"), str):
            fields["reasoning_opaque"] = values["reasoning_opaque"]
    if details:
        fields["reasoning_details"] = merge_details(details)
    return fields
