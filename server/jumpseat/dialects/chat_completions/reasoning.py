"""What has to travel with a thinking block or a tool call of this dialect, and how it goes back.

Owns the keys of `opaque`, which are these, each only where the provider sent it. The
decoder beside it fills it, the encoder reads it. Source: the openai-chat reference, "Reasoning in
chat/completions".

- `field`: the name of the message field that held the text (`reasoning_content`), or `content.thinking`
  where it was a part of the content, as Mistral's is; the text itself is the block's, so it is not stored
  twice.
- `reasoning_details`: OpenRouter's array, its fragments merged.
- `reasoning_opaque`: Copilot's encrypted text.
- `extra_content`: Gemini's data of a tool call, with its thought signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.dialects.cut_text import joined
from jumpseat.dialects.opaque import read_opaque, write_opaque

TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""In the order of choice: servers that send two of them send the same text twice."""

SUMMARY_FIELD = "cot_summary"
"""Copilot's summary of reasoning that stays with the service: nothing of it goes back."""

CONTENT_PART = "content.thinking"
"""The `field` of reasoning that came as a part of the content, and goes back as one."""

_CONCATENATED = ("text", "summary", "data")


def merge_details(fragments: Iterable[Any]) -> list[dict[str, Any]]:
    """OpenRouter's `reasoning_details` with the fragments of one item joined, in first-seen order.

    Fragments belong together by type and index; texts are concatenated, everything else keeps its last
    value that is not null. Raw fragments sent back are refused as an invalid signature.
    """
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for number, fragment in enumerate(fragments):
        if not isinstance(fragment, dict):
            continue
        index = fragment.get("index")
        # Without an index nothing says that two fragments are one item.
        key = (str(fragment.get("type")), str(index) if index is not None else f"#{number}")
        known = merged.setdefault(key, {})
        for name, value in fragment.items():
            if name in _CONCATENATED and isinstance(value, str) and isinstance(known.get(name), str):
                known[name] = joined((known[name], value))
            elif value is not None or name not in known:
                known[name] = value
    return list(merged.values())


class ReasoningCollector:
    """What came with the thinking block that is open, until the block is closed."""

    def __init__(self) -> None:
        self._field: str | None = None
        self._details: list[Any] = []
        self._encrypted = ""

    @property
    def pending(self) -> bool:
        """Whether there is data that only a thinking block can carry."""
        return bool(self._details or self._encrypted)

    def text_of(self, delta: Mapping[str, Any]) -> str:
        """The reasoning text of a delta or message, from the first field that has any."""
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
        """The open block's text came as a part of the content."""
        self._field = CONTENT_PART

    def add(self, delta: Mapping[str, Any]) -> None:
        """Keep what a delta or message holds beside the text."""
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            self._details += details
        encrypted = delta.get("reasoning_opaque")
        if isinstance(encrypted, str):
            self._encrypted += encrypted

    def take(self) -> str | None:
        """The opaque text of the block that is being closed."""
        values: dict[str, Any] = {}
        if self._field is not None:
            values["field"] = self._field
        if details := merge_details(self._details):
            values["reasoning_details"] = details
        if self._encrypted:
            values["reasoning_opaque"] = self._encrypted
        self._field, self._details, self._encrypted = None, [], ""
        return write_opaque(values)


def replayed_reasoning(blocks: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    """The message fields that give thinking blocks back, from (text, opaque) pairs in order."""
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
