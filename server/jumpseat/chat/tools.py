"""Tools, which the model calls, and which the client or the daemon runs."""

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

ToolKind: TypeAlias = Literal["read", "edit", "delete", "search", "execute", "fetch", "other"]
"""The kind of work that a tool does, which a client may show as an icon."""

ToolStatus: TypeAlias = Literal["running", "completed", "failed", "denied"]

ApprovalReason: TypeAlias = Literal["ask", "rule", "changed", "outside"]
"""Why the daemon asks for an approval.

No rule allows the call (ask), a rule says to ask (rule), the tool's description or schema has changed since
the user's decision was remembered (changed), or a path is outside the workspace folders (outside).
"""

Remember: TypeAlias = Literal["turn", "conversation", "always"]
"""How long the user's decision about a tool is remembered."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A proposed change of one file."""

    uri: str
    old_text: str | None
    """The whole text before the change; None if the file does not exist yet."""

    new_text: str


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
