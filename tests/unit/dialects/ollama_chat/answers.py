"""A reader of hand-written answers for every split, for the tests in this folder."""

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.ollama_chat import NDJSON, ndjson


def read(pieces, content_type=NDJSON):
    """Return the events, and the error that ended them, if any."""
    decoder = OllamaChatDecoder("acme", "asked", mint_suffix="_x")
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


def response_of(events):
    fold = Fold("acme", "asked")
    for event in events:
        fold.add(event)
    return fold.response()


def arrivals(data):
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    yield [data[i : i + 7] for i in range(0, len(data), 7)]
    yield [data.replace(b"\n", b"\r\n")]
    yield [data.replace(b"\n", b"\n\n").rstrip()]


def answer(*objects):
    """Read the answer, which must be the same for any split, and as one body if it is one object."""
    data = ndjson(*objects)
    whole, error = read([data])
    assert error is None
    assert_laws(whole)
    for pieces in arrivals(data):
        events, error = read(pieces)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    for content_type in ("application/json", ""):
        events, error = read([data], content_type)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    return response_of(whole)
