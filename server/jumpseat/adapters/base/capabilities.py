"""The general capabilities of a provider."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.chat import ModelInfo

CapabilitySource: TypeAlias = Literal["static", "config", "probe"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The general capabilities of a provider; the facts of a model take precedence."""

    streaming: bool = True
    tool_calls: bool = True
    json_mode: bool = True
    vision: bool = True
    thinking: bool = True
    resumable_streaming: bool = False


# Maps the fields of `Capabilities` to the fields of `ModelInfo` for the same abilities.
_FACTS = {
    "tool_calls": "supports_tool_use",
    "json_mode": "supports_json",
    "vision": "supports_vision",
    "thinking": "supports_thinking",
}


def capabilities_of(models: Iterable[ModelInfo]) -> dict[str, bool]:
    """Map each ability to True if any model has it, and to False if no model has it.

    The keys are fields of `Capabilities`. An ability is left out if it is unknown whether any model has it.
    """
    # Models that pickers hide, such as those for embeddings, do not count.
    rows = [model for model in models if model.picker_enabled]
    capabilities = {}
    for name, fact in _FACTS.items():
        values = [getattr(row, fact) for row in rows]
        if True in values:
            capabilities[name] = True
        elif values and None not in values:
            capabilities[name] = False
    return capabilities
