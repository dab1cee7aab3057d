"""Tools, which the model calls and the client runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool's name and description, and the JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool choice that forces the model to call this tool."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | NamedTool


def as_tool_definitions(tools: Iterable[ToolDefinition | Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Convert mappings with `name`, and optionally `description` and `parameters`, to definitions.

    Raises:
        KeyError: a mapping has no `name`.
    """
    return tuple(
        tool
        if isinstance(tool, ToolDefinition)
        else ToolDefinition(
            name=tool["name"],
            description=tool.get("description") or "",
            parameters=tool.get("parameters") or {},
        )
        for tool in tools
    )
