"""The response of a turn, and the rule for sending it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat.blocks import ContentBlock, Message, TextBlock, ToolUseBlock
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A finished answer, or the part of one that came before an error or a cancel.

    `content` is always a list of blocks, empty if the model said nothing. To go on with the
    conversation, append `as_message()`: every block goes back as it came. `signature`, `data`, `opaque`
    and `raw` are replayed byte for byte to the provider and model in `origin`, and to no other.
    """

    provider: str
    model: str
    content: Sequence[ContentBlock] = ()
    stop_reason: StopReason | None = None
    """None in a partial response."""

    raw_stop_reason: str | None = None
    """The provider's own word for why it stopped."""

    response_id: str | None = None
    provider_request_id: str | None = None
    usage: Usage | None = None
    """None where the provider reported none."""

    warnings: Sequence[WarningEvent] = ()
    """What was changed or dropped on the way."""

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
