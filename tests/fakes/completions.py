"""Bodies of the chat-completions dialect, and the firehose of the benchmarks."""

from __future__ import annotations

from jumpseat.testing.answers.chat_completions import (
    MODEL,
    RESPONSE_ID,
    USAGE,
    FakeCall,
    chunk,
    completion_body,
    completion_stream,
)
from jumpseat.testing.upstream import Reply

__all__ = [
    "MODEL",
    "RESPONSE_ID",
    "USAGE",
    "FakeCall",
    "chunk",
    "completion_body",
    "completion_stream",
    "firehose",
]


def firehose(deltas: int, events_per_write: int = 1, piece: str = "word ") -> Reply:
    """An answer of so many text deltas as fast as the socket takes them, for benchmarks."""
    return Reply.events(completion_stream([piece] * deltas)).joined(events_per_write)
