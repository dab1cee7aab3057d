"""The response of a turn, and its form for the next request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat.blocks import ContentBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.chat.usage import StopReason, Usage
from jumpseat.chat.warning import WarningEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A complete answer, or the part received before an error or cancellation.

    To continue the conversation, append `as_message()`. A block's `signature`, `data`, `opaque` and `raw` are
    replayed byte for byte to the provider and model in its `origin`. Requests to other models leave out the
    first three.
    """

    provider: str
    model: str
    content: Sequence[ContentBlock] = ()
    stop_reason: StopReason | None = None
    """Why the answer ended; None in a partial response."""

    raw_stop_reason: str | None = None
    """The provider's name for the stop reason."""

    response_id: str | None = None
    provider_request_id: str | None = None
    usage: Usage | None = None
    """The token counts; None if the provider did not report any."""

    warnings: Sequence[WarningEvent] = ()
    """The warnings about changed or dropped parts of the request and the answer."""

    conversation_id: str | None = None
    """The stored conversation that contains the turn."""

    rounds: int | None = None
    """The number of rounds; None for a turn without tools that the daemon runs."""

    @property
    def text(self) -> str:
        """The text of all text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        """The tool calls that the caller has to run, in order: those without a result in the content."""
        answered = {block.tool_use_id for block in self.content if isinstance(block, ToolResultBlock)}
        return [
            block for block in self.content if isinstance(block, ToolUseBlock) and block.id not in answered
        ]

    def as_message(self) -> Message:
        """Return the assistant message to append to the conversation."""
        return Message("assistant", tuple(self.content))
