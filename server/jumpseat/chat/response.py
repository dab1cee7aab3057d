"""The response of a turn, and the rule for sending it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat.blocks import ContentBlock, Message, TextBlock, ToolUseBlock
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A finished answer, or the part of one before an error or a cancel.

    To continue the conversation, append `as_message()`. `signature`, `data`, `opaque` and `raw` are replayed
    byte for byte, only to the provider and model in `origin`.
    """

    provider: str
    model: str
    content: Sequence[ContentBlock] = ()
    stop_reason: StopReason | None = None
    """None in a partial response."""

    raw_stop_reason: str | None = None
    """The provider's own value."""

    response_id: str | None = None
    provider_request_id: str | None = None
    usage: Usage | None = None
    """None if the provider reported none."""

    warnings: Sequence[WarningEvent] = ()
    """What was changed or dropped in the request or the answer."""

    conversation_id: str | None = None
    """The kept conversation that has the turn."""

    @property
    def text(self) -> str:
        """All text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        """The tool calls, in order."""
        return [block for block in self.content if isinstance(block, ToolUseBlock)]

    def as_message(self) -> Message:
        """The assistant message to append to the conversation."""
        return Message("assistant", tuple(self.content))
