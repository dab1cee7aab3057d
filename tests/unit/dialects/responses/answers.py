"""Write answers in the dialect, and decode them in different pieces, for the tests in this folder."""

import json

from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.testing import assert_laws
from tests.unit.dialects import reading
from tests.unit.dialects.reading import fold_of

CREATED = {"type": "response.created", "response": {"id": "r-1", "model": "m-1", "status": "in_progress"}}


def end_event(*output, kind="completed", **more):
    """Return the last event of an answer, with these items as its output."""
    response = {"id": "r-1", "model": "m-1", "status": kind, "output": list(output), **more}
    return {"type": f"response.{kind}", "response": response}


def added_event(index, kind, item_id="i-1", /, **fields):
    """Return the event that announces an item."""
    return {
        "type": "response.output_item.added",
        "output_index": index,
        "item": {"type": kind, "id": item_id, **fields},
    }


def done_event(index, kind, item_id="i-1", /, **fields):
    """Return the event that finishes an item."""
    return {**added_event(index, kind, item_id, **fields), "type": "response.output_item.done"}


def delta(kind, piece, index=0, item_id="i-1", **more):
    """Return a delta, without the keys whose values are None."""
    event = {"type": f"response.{kind}.delta", "output_index": index, "item_id": item_id, "delta": piece}
    return {name: value for name, value in {**event, **more}.items() if value is not None}


def text(piece, index=0, item_id="i-1", **more):
    return delta("output_text", piece, index, item_id, **{"content_index": 0, **more})


def text_parts(*texts, annotations=()):
    """Return the content of a message: one part for each text."""
    return [{"type": "output_text", "text": each, "annotations": list(annotations)} for each in texts]


def stream(*events, named=True):
    """Encode events as the bytes of a stream; a string is a literal data line."""
    lines = []
    for event in events:
        if isinstance(event, str):
            lines.append(f"data: {event}\n\n")
        else:
            lines.append((f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def make_decoder():
    return ResponsesDecoder("acme", "asked")


def read(pieces, content_type=reading.EVENT_STREAM):
    return reading.read(make_decoder(), pieces, content_type)


def events_of(*events, named=True):
    """Return the decoded events, which must not depend on how the stream is split."""
    return reading.read_at_every_split(make_decoder, stream(*events, named=named))


def answer(*events, named=True):
    return fold_of(events_of(*events, named=named)).response()


def decode_body(response):
    """Decode a body that was not streamed."""
    events, error = read([json.dumps(response).encode()], "application/json")
    assert error is None
    assert_laws(events)
    return fold_of(events).response()


def failure(*events):
    """Return the error that ends a stream, and the partial answer."""
    got, error = read([stream(*events)])
    assert error is not None
    assert_laws(got, ended=False)
    return error, fold_of(got).partial()
