"""Hand-written answers in the dialect, and a reader for every split, for the tests of the dialect."""

import json

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import assert_laws

DONE = "data: [DONE]\n\n"


def stream(*chunks, done=True):
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + (DONE if done else "")).encode()


def chunk(delta=None, finish=None, **extra):
    choices = (
        []
        if delta is None and finish is None
        else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    )
    return {"id": "r-1", "model": "m-1", "choices": choices, **extra}


def call(index=None, call_id=None, name=None, arguments=None, **extra):
    part = {"function": {}, **extra}
    if index is not None:
        part["index"] = index
    if call_id is not None:
        part["id"] = call_id
    if name is not None:
        part["function"]["name"] = name
    part["function"]["arguments"] = arguments
    return part


def calls(*parts, finish=None):
    return chunk({"tool_calls": list(parts)}, finish)


def events_of(decoder, *chunks):
    """Decode a stream of these chunks, and return its events."""
    events = []
    for each in chunks:
        if not decoder.complete:
            events += decoder.feed_event("message", json.dumps(each))
    events += decoder.finish()
    assert_laws(events)
    return events


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def read(pieces, content_type="text/event-stream", model="asked"):
    decoder = ChatCompletionsDecoder("acme", model)
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


def answer(data, content_type="text/event-stream", model="asked"):
    """Read the answer, which must not depend on how it is split and which line ends it has."""
    whole, error = read([data], content_type, model)
    assert error is None
    assert_laws(whole)
    arrivals = [[data[i : i + 1] for i in range(len(data))]]
    if content_type == "text/event-stream":
        arrivals += [[data.replace(b"\n", b"\r\n")], [b"\xef\xbb\xbf" + data.replace(b"data: ", b"data:")]]
    for pieces in arrivals:
        events, error = read(pieces, content_type, model)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    return response_of(whole)


def body(message, finish="stop", **extra):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"id": "r-1", "model": "m-1", "choices": [choice], **extra}).encode()
