"""An answer that is sent as fast as the socket accepts it, for benchmarks."""

from __future__ import annotations

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply


def firehose(deltas: int, events_per_write: int = 1, piece: str = "word ") -> Reply:
    """Return an answer of this many text deltas."""
    return Reply.events(completion_stream([piece] * deltas)).join(events_per_write)
