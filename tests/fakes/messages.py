"""Bodies of the Messages dialect, under the name that the tests here know them by."""

from jumpseat.testing.answers.anthropic_messages import (
    MESSAGE_ID,
    MODEL,
    USAGE,
    Call,
    FakeBlock,
    Redacted,
    Thought,
    Words,
    block_events,
    error_body,
    event,
    message,
    message_body,
    message_stream,
)

__all__ = [
    "MESSAGE_ID",
    "MODEL",
    "USAGE",
    "Call",
    "FakeBlock",
    "Redacted",
    "Thought",
    "Words",
    "block_events",
    "error_body",
    "event",
    "message",
    "message_body",
    "message_stream",
]
