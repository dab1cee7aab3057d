"""One output item: what is known of it, and which texts its fields hold.

Source: the openai-responses reference, "Events". Above it is `items`, which keeps them in order; it does no
I/O and tells nobody anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat.dialects.arguments import arguments_text
from jumpseat.dialects.loose_values import mappings_in, text_in

CALLS = frozenset({"function_call", "custom_tool_call"})

Slot = tuple[str, int]
"""A field of an item that holds text, and which part of it: `("summary", 0)`."""


@dataclass(slots=True)
class Item:
    """One output item, complete once `done`."""

    number: int
    kind: str
    index: int | None
    ids: set[str] = field(default_factory=set)
    fields: dict[str, Any] = field(default_factory=dict)
    texts: dict[Slot, list[str]] = field(default_factory=dict)
    """What has come of each part, told or waiting."""

    whole: set[Slot] = field(default_factory=set)
    """The parts of which the end has come."""

    open: Slot | None = None
    """The part that was told last."""

    cited: set[tuple[str, str]] = field(default_factory=set)
    waiting: list[Callable[[], None]] = field(default_factory=list)
    begun: bool = False
    """Its own event has said that it begins."""

    done: bool = False
    rotates: bool = False
    """Its id changed from event to event, so that none of them can be relied on."""

    @property
    def settled(self) -> bool:
        """Nothing more of a message is to come, as far as its parts say."""
        return self.kind == "message" and bool(self.texts) and self.whole >= self.texts.keys()


def parts_of(item: Item) -> Iterator[tuple[Slot, str]]:
    """Every text that the item as a whole holds, in order."""
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
    """Where the text of a content or summary part belongs, and the text."""
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
    """The text of a call's arguments, or of a custom tool's input."""
    value = fields.get("input" if fields.get("type") == "custom_tool_call" else "arguments")
    # Some servers forget to write it as text.
    return arguments_text(value) if isinstance(value, dict) else text_in(value)


def trusted_fields(item: Item) -> dict[str, Any]:
    """The fields, without an id that is another one in each event: the provider would not know it."""
    return {name: value for name, value in item.fields.items() if name != "id" or not item.rotates}
