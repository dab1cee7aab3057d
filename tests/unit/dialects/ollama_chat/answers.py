"""Decode hand-written answers that arrive in different pieces, for the tests in this folder."""

from jumpseat.chat import merge_deltas
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.testing.answers.ollama_chat import NDJSON, ndjson
from tests.unit.dialects import reading


def make_decoder():
    return OllamaChatDecoder("acme", "asked", id_suffix="_x")


def read(pieces, content_type=NDJSON):
    return reading.read(make_decoder(), pieces, content_type)


def arrivals(data):
    """Yield lists of pieces that contain the same answer, some with other line endings or blank lines."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    yield [data[i : i + 7] for i in range(0, len(data), 7)]
    yield [data.replace(b"\n", b"\r\n")]
    yield [data.replace(b"\n", b"\n\n").rstrip()]


def answer(*objects):
    """Return the response, which must not depend on how the answer is split or on its content type."""
    data = ndjson(*objects)
    whole = reading.read_at_every_split(make_decoder, data, NDJSON, more=arrivals(data))
    for content_type in ("application/json", ""):
        events, error = read([data], content_type)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    return reading.fold_of(whole).response()
