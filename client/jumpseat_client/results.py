"""Wrappers for the wire objects of a chat: its deltas and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumpseat_client.tools import ToolApproval, ToolStatus


class Delta(Mapping[str, Any]):
    """One `chat/delta`: a read-only mapping whose keys are also attributes.

    Attributes have the wire name or its snake case form: `delta.stopReason`, `delta.stop_reason`. Newer
    daemons may send other types: skip a delta whose `type` is unknown.
    """

    __slots__ = ("_data", "seq", "turn_id", "type")

    def __init__(self, data: Mapping[str, Any], seq: int, turn_id: str = "") -> None:
        self._data = data
        self.seq = seq
        """The delta's number within the turn, from 0."""
        self.turn_id = turn_id
        self.type: str = str(data.get("type", ""))
        """`start`, `text_delta`, `tool_use_done`, `done` and so on."""

    @property
    def text(self) -> str:
        """The text of a `text_delta`, or an empty string for every other type."""
        return str(self._data.get("text", "")) if self.type == "text_delta" else ""

    @property
    def tool_approval(self) -> ToolApproval | None:
        """The question in a `tool_approval`, or None for every other type."""
        if self.type != "tool_approval":
            return None
        from jumpseat_client.tools import ToolApproval  # Deferred: most chats have no tools of the daemon.

        return ToolApproval.from_delta(self._data, self.turn_id)

    @property
    def tool_status(self) -> ToolStatus | None:
        """The new status of a tool call in a `tool_status`, or None for every other type."""
        if self.type != "tool_status":
            return None
        from jumpseat_client.tools import ToolStatus  # Deferred: most chats have no tools of the daemon.

        return ToolStatus.from_delta(self._data)

    def __getattr__(self, name: str) -> Any:
        for key in (name, _camel(name)):
            if key in self._data:
                return self._data[key]
        raise AttributeError(f"a {self.type} delta has no {name}")

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"Delta(seq={self.seq}, {dict(self._data)!r})"


class ChatResult(dict[str, Any]):
    """The result of a chat: the wire object, with properties for its common keys."""

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return str(self.get("text", ""))

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks; send them back unchanged to continue the conversation."""
        return list(self.get("content") or [])

    @property
    def stop_reason(self) -> str | None:
        """The reason that the model stopped: `end_turn`, `tool_use`, `max_tokens` and so on."""
        return self.get("stopReason")

    @property
    def replacement(self) -> str | None:
        """The text that replaces an edit's target; None for a chat, or if there is nothing to apply."""
        return self.get("replacement")

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The `tool_use` blocks of the calls that the program has to run."""
        return list(self.get("toolCalls") or [])

    @property
    def rounds(self) -> int | None:
        """The number of requests to the provider; None if the chat had no tools of the daemon."""
        return self.get("rounds")

    @property
    def usage(self) -> dict[str, Any]:
        """The token counts (`inputTokens`, `outputTokens` and so on); empty if the provider reported none."""
        return dict(self.get("usage") or {})

    @property
    def warnings(self) -> list[dict[str, str]]:
        """The changes and omissions that the daemon made, each with a `code` and a `message`."""
        return list(self.get("warnings") or [])

    @property
    def conversation_id(self) -> str | None:
        """The id of the conversation that the turn was kept in; None if it was not kept."""
        return self.get("conversationId")

    def as_message(self) -> dict[str, Any]:
        """Return the assistant message to append to the conversation."""
        return {"role": "assistant", "content": self.content}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
