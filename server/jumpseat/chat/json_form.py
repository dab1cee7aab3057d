"""Converts the data classes of `chat/` to JSON values, and converts blocks, messages and usage back.

Keys are in camel case, a field that is None has no key, and `type` is the discriminator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from jumpseat.chat.blocks import (
    BLOCK_CLASSES,
    Message,
    Origin,
    Position,
    Range,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.events import DoneEvent
from jumpseat.chat.usage import Cost

T = TypeVar("T")

_KEPT_WHEN_NONE = {(ToolUseBlock, "arguments")}
"""Fields that are written as null if they are None. Null marks unreadable arguments."""

_LEFT_OUT = {(DoneEvent, "raw_stop_reason")}
"""Fields that are omitted: only the response has the raw stop reason, not the event."""

_PARTS: Mapping[str, type[Any]] = {
    "origin": Origin,
    "range": Range,
    "start": Position,
    "end": Position,
    "cost": Cost,
}
"""The fields of blocks and of usage whose values are dataclasses."""

_PLAIN = (str, int, float)
"""A tuple, because `isinstance(value, str | int | float)` would create the union for each value."""

_BLOCKS = {block.type: block for block in BLOCK_CLASSES}


def to_camel_case(name: str) -> str:
    """Convert a name such as `max_output_tokens` to `maxOutputTokens`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def _describe_fields(cls: type[Any]) -> tuple[str | None, tuple[tuple[str, str, bool], ...]]:
    """Return a class's discriminator and, for each field, its name, its key, and whether to keep None."""
    keys = tuple(
        (field.name, to_camel_case(field.name), (cls, field.name) in _KEPT_WHEN_NONE)
        for field in fields(cls)
        if (cls, field.name) not in _LEFT_OUT
    )
    return getattr(cls, "type", None), keys


def _raise_no_form(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def to_json_form(value: Any, other: Callable[[Any], Any] = _raise_no_form) -> Any:
    """Convert an object of `chat/`, a mapping, a list or a plain value to JSON values.

    Args:
        other: converts values of other types; by default, they are errors.

    Raises:
        TypeError: the value has no JSON form.
    """
    if value is None or isinstance(value, _PLAIN):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        discriminator, keys = _describe_fields(type(value))
        shaped: dict[str, Any] = {} if discriminator is None else {"type": discriminator}
        for name, key, keep in keys:
            item = getattr(value, name)
            if item is not None or keep:
                shaped[key] = to_json_form(item, other)
        return shaped
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    # Use loops: a comprehension would need two stack frames for each level of a deep value.
    if isinstance(value, Mapping):
        pairs = {}
        for key, item in value.items():
            pairs[str(key)] = to_json_form(item, other)
        return pairs
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            items.append(to_json_form(item, other))  # noqa: PERF401 - for the stack
        return items
    return other(value)


def from_json_form(cls: type[T], form: Mapping[str, Any]) -> T:
    """Create a block or usage from its JSON form. Ignores unknown keys.

    Raises:
        TypeError: a field is missing.
    """
    values: dict[str, Any] = {}
    for name, key, _ in _describe_fields(cls)[1]:  # type: ignore[arg-type]  # A class is hashable.
        if key in form:
            value = form[key]
            if cls is ToolResultBlock and name == "content" and isinstance(value, list):
                value = tuple(from_json_form(_BLOCKS[each["type"]], each) for each in value)
            part = _PARTS.get(name)
            values[name] = from_json_form(part, value) if part and isinstance(value, Mapping) else value
    return cls(**values)


def message_from_json_form(form: Mapping[str, Any]) -> Message:
    """Create a message from its JSON form.

    Raises:
        KeyError: a key is missing, or a block's type is unknown.
        TypeError: a field is missing.
    """
    return Message(
        form["role"], tuple(from_json_form(_BLOCKS[each["type"]], each) for each in form["content"])
    )
