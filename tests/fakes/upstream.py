"""The scriptable server of `jumpseat.testing`, under the name that the tests here know it by."""

from jumpseat.testing.upstream import (
    WAIT_SECONDS,
    Ending,
    Event,
    FakeUpstream,
    Gate,
    Piece,
    RecordedRequest,
    Reply,
    Scripted,
)

__all__ = [
    "WAIT_SECONDS",
    "Ending",
    "Event",
    "FakeUpstream",
    "Gate",
    "Piece",
    "RecordedRequest",
    "Reply",
    "Scripted",
]
