"""The decoders of event streams and NDJSON return the same output however the bytes are split."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from jumpseat.http import JsonLinesDecoder
from jumpseat.http.event_stream import EventStreamDecoder

LINE_ENDINGS = ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", "\n\r"]

EVENT_STREAMS = st.lists(
    st.one_of(
        st.sampled_from(
            ["data: a", "data:b", "data", "data: ", "event: x", "event", "id: 7", "id", "retry: 9"]
        ),
        st.sampled_from([": hello", ":", "date: no", "\ufeff", "ž", "🐎", "id: \0"]),
        st.sampled_from(LINE_ENDINGS),
        st.sampled_from(LINE_ENDINGS),
        st.text(max_size=4),
    ),
    max_size=30,
).map(lambda parts: "".join(parts).encode())

JSON_LINES = st.lists(
    st.one_of(
        st.sampled_from(['{"a":1}', '{"b":"ž🐎"}', "null", " ", "\n", "\n", "\r\n", "\r", "\n\n"]),
        st.text(max_size=4),
    ),
    max_size=30,
).map(lambda parts: "".join(parts).encode())

ANY_BYTES = st.lists(st.sampled_from([b"data: ", b"\n", b"\r", b"\xff", b"\xc5", b"\xbe", b"x"])).map(
    b"".join
)

CUTS = st.lists(st.integers(0, 200), max_size=12)


def pieces(data, cuts):
    """Split the data at these offsets; a repeated offset produces an empty piece."""
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


def events_of(parts):
    decoder = EventStreamDecoder()
    events = [event for part in parts for event in decoder.feed(part)]
    return events, decoder.last_event_id, decoder.retry_ms, decoder.finish()


def lines_of(parts):
    decoder = JsonLinesDecoder()
    return [line for part in parts for line in decoder.feed(part)] + decoder.finish()


@settings(max_examples=400, deadline=None)
@given(data=st.one_of(EVENT_STREAMS, ANY_BYTES), cuts=CUTS)
def test_any_cut_of_an_event_stream_gives_the_same_events(data, cuts):
    whole = events_of([data])
    assert events_of(pieces(data, cuts)) == whole
    assert events_of([data[i : i + 1] for i in range(len(data))]) == whole


@settings(max_examples=400, deadline=None)
@given(data=st.one_of(JSON_LINES, ANY_BYTES), cuts=CUTS)
def test_any_cut_of_ndjson_gives_the_same_lines(data, cuts):
    whole = lines_of([data])
    assert lines_of(pieces(data, cuts)) == whole
    assert lines_of([data[i : i + 1] for i in range(len(data))]) == whole
