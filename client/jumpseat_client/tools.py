"""The wire objects for calls of the daemon's tools: approvals, decisions and statuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Remember: TypeAlias = Literal["turn", "conversation", "always"]


@dataclass(frozen=True, slots=True)
class ToolApproval:
    """A question about a tool call: the delta `tool_approval`."""

    turn_id: str
    tool_use_id: str
    server: str
    tool: str
    title: str
    """A description of the call, in one line."""

    kind: str
    """`read`, `edit`, `delete`, `search`, `execute`, `fetch` or `other`."""

    reason: str
    """The reason for asking: `ask`, `rule`, `changed` or `outside`; see `docs/protocol/tools.md`."""

    arguments: Mapping[str, Any]
    """The arguments for display, with control characters escaped and long texts shortened."""

    remember: Sequence[Remember]
    """The values that a decision may have for `remember`."""

    diff: Sequence[Mapping[str, Any]]
    """The proposed changes to files, each with `uri`, `newText` and, if the file exists, `oldText`."""

    @classmethod
    def from_delta(cls, delta: Mapping[str, Any], turn_id: str) -> ToolApproval:
        """Read a delta. Keys that are missing or null become empty values."""
        return cls(
            turn_id,
            tool_use_id=str(delta.get("toolUseId") or ""),
            server=str(delta.get("server") or ""),
            tool=str(delta.get("tool") or ""),
            title=str(delta.get("title") or ""),
            kind=str(delta.get("kind") or ""),
            reason=str(delta.get("reason") or ""),
            arguments=dict(delta.get("arguments") or {}),
            remember=list(delta.get("remember") or ()),
            diff=list(delta.get("diff") or ()),
        )


@dataclass(frozen=True, slots=True)
class ToolDecision:
    """The decision about a tool call."""

    is_allowed: bool
    remember: Remember | None = None
    """How long to apply the decision to later calls; None to apply it to this call only.

    A denial is remembered for the turn at most.
    """

    scope: Literal["tool", "server"] = "tool"
    """Whether a remembered decision covers the tool, or all tools that its server has now."""

    message: str | None = None
    """A message for the model about a denial."""


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """The status of a tool call: the delta `tool_status`."""

    tool_use_id: str
    status: str
    """`running`, `completed`, `failed` or `denied`."""

    message: str | None = None
    progress: float | None = None
    """The progress so far, out of `total` if that is known."""

    total: float | None = None

    @classmethod
    def from_delta(cls, delta: Mapping[str, Any]) -> ToolStatus:
        """Read a delta."""
        optional = (delta.get(key) for key in ("message", "progress", "total"))
        return cls(str(delta.get("toolUseId") or ""), str(delta.get("status") or ""), *optional)


Answer: TypeAlias = bool | ToolDecision
OnApproval: TypeAlias = Callable[[ToolApproval], Answer | Awaitable[Answer]]
