"""Stores the state of one output item, and reads the texts in its fields.

Source: `tests/dialect_rows/responses.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat.dialects.arguments import arguments_text
from jumpseat.dialects.loose_values import mappings_in, text_in

CALLS = frozenset({"function_call", "custom_tool_call"})

Slot = tuple[str, int]
"""A text field of an item, and the number of a part in it: `("summary", 0)`."""


@dataclass(slots=True)
class Item:
    """One output item."""

    number: int
    """The item's position among the answer's items, in first-seen order."""

    kind: str
    index: int | None
    """The `output_index` of the item's events; None if they have none."""

    ids: set[str] = field(default_factory=set)
    fields: dict[str, Any] = field(default_factory=dict)
    texts: dict[Slot, list[str]] = field(default_factory=dict)
    """The pieces of each part so far, whether emitted or waiting."""

    whole: set[Slot] = field(default_factory=set)
    """The parts that are complete."""

    open: Slot | None = None
    """The part to which the last emitted piece belongs."""

    cited: set[tuple[Any, ...]] = field(default_factory=set)
    waiting: list[Callable[[], None]] = field(default_factory=list)
    """The actions to run when the preceding items are complete."""

    begun: bool = False
    """Whether the item's `output_item.added` was received."""

    done: bool = False
    rotates: bool = False
    """Whether the item's id differs between events. The provider then accepts none of the ids."""

    @property
    def settled(self) -> bool:
        """Whether the item is a message whose parts are all complete."""
        return self.kind == "message" and bool(self.texts) and self.whole >= self.texts.keys()


def parts_of(item: Item) -> Iterator[tuple[Slot, str]]:
    """Yield the texts in the item's fields, in order."""
    if item.kind in CALLS:
        yield ("arguments", 0), arguments_of(item.fields)
    elif item.kind == "reasoning":
        for number, part in enumerate(mappings_in(item.fields.get("summary"))):
            yield ("summary", number), text_in(part.get("text"))
        for number, part in enumerate(mappings_in(item.fields.get("content"))):
            yield ("reasoning", number), text_in(part.get("text"))
    elif item.kind == "message":
        content = item.fields.get("content")
        if isinstance(content, str):
            content = [{"type": "output_text", "text": content}]
        for number, part in enumerate(mappings_in(content)):
            slot, text = part_of(part, number)
            yield slot, text


def part_of(part: Mapping[str, Any], number: int) -> tuple[Slot, str]:
    """Return the slot and the text of a content or summary part."""
    match part.get("type"):
        case "refusal":
            return ("refusal", number), text_in(part.get("refusal"))
        case "reasoning_text":
            return ("reasoning", number), text_in(part.get("text"))
        case "summary_text":
            return ("summary", number), text_in(part.get("text"))
        case _:
            return ("text", number), text_in(part.get("text"))


def arguments_of(fields: Mapping[str, Any]) -> str:
    """Return the text of a call's arguments, or of a custom tool's input."""
    value = fields.get("input" if fields.get("type") == "custom_tool_call" else "arguments")
    # Some servers send an object instead of text.
    return arguments_text(value) if isinstance(value, dict) else text_in(value)


def trusted_fields(item: Item) -> dict[str, Any]:
    """Return the item's fields, without an id that differs between events."""
    return {name: value for name, value in item.fields.items() if name != "id" or not item.rotates}
