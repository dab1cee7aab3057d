"""Answers of the scripted provider."""

from __future__ import annotations

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply

WORDS = completion_stream(["Hello ", "there."])


def held(*pieces: str, gate: Gate) -> Reply:
    """An answer that waits at the gate after these pieces."""
    return Reply.events(
        [*(chunk({"content": piece}) for piece in pieces), gate, *completion_stream([" End."])]
    )
