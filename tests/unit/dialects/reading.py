"""Decode hand-written answers, for the tests of all dialects."""

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import assert_laws

EVENT_STREAM = "text/event-stream"


def read(decoder, pieces, content_type=EVENT_STREAM):
    """Return the events, and the error that ended them, if any."""
    reader = AnswerReader(decoder, content_type)
    events = []
    try:
        for piece in pieces:
            reader.feed(piece, events)
        if not decoder.complete:
            reader.finish(events)
    except ChatError as error:
        return events, error
    return events, None


def read_at_every_split(make_decoder, data, content_type=EVENT_STREAM, more=()):
    """Return the events, which must not depend on how the answer is split or on its line endings.

    Args:
        more: Further lists of pieces that contain the same answer.
    """
    whole, error = read(make_decoder(), [data], content_type)
    assert error is None
    assert_laws(whole)
    arrivals = [[data[i : i + 1] for i in range(len(data))], *more]
    if content_type == EVENT_STREAM:
        arrivals += [[data.replace(b"\n", b"\r\n")], [b"\xef\xbb\xbf" + data.replace(b"data: ", b"data:")]]
    for pieces in arrivals:
        events, error = read(make_decoder(), pieces, content_type)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    return whole


def fold_of(events):
    fold = Fold("acme", "asked")
    for event in events:
        fold.add(event)
    return fold
