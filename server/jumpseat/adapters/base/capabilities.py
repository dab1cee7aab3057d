"""What a provider can do, and what its list of models says about that. Does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.chat import ModelInfo

CapabilitySource: TypeAlias = Literal["static", "config", "probe"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do, whatever the model."""

    streaming: bool = True
    tool_calls: bool = True
    json_mode: bool = True
    vision: bool = True
    thinking: bool = True
    resumable_streaming: bool = False


_TOLD_BY = {
    "tool_calls": "supports_tool_use",
    "json_mode": "supports_json",
    "vision": "supports_vision",
    "thinking": "supports_thinking",
}
"""The fields of `Capabilities` of which a list says something, and the fields of its rows that say it."""


def told_by(models: Iterable[ModelInfo]) -> dict[str, bool]:
    """What at least one of the models can do, and what all of them say that they cannot.

    What one leaves open, and no other can do, stays open. Models that are not for chats do not count.
    """
    rows = [model for model in models if model.picker_enabled]
    found = {}
    for name, fact in _TOLD_BY.items():
        told = [getattr(row, fact) for row in rows]
        if True in told:
            found[name] = True
        elif told and None not in told:
            found[name] = False
    return found
