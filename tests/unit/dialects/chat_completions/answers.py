"""Write answers in the dialect, and decode them in different pieces, for the tests of the dialect."""

import json

from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.testing import assert_laws
from tests.unit.dialects import reading

DONE = "data: [DONE]\n\n"


def stream(*chunks, done=True):
    """Return the bytes of a stream of these chunks, with or without the end mark."""
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + (DONE if done else "")).encode()


def chunk(delta=None, finish=None, **extra):
    """Return a chunk, which has no choice unless it has a delta or a finish reason."""
    choices = (
        []
        if delta is None and finish is None
        else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    )
    return {"id": "r-1", "model": "m-1", "choices": choices, **extra}


def call(index=None, call_id=None, name=None, arguments=None, **extra):
    """Return one part of a tool call."""
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
    """Return a chunk with these parts of tool calls."""
    return chunk({"tool_calls": list(parts)}, finish)


def decode_chunks(decoder, *chunks):
    """Decode a stream of these chunks, and return its events."""
    events = []
    for each in chunks:
        if not decoder.complete:
            events += decoder.feed_event("message", json.dumps(each))
    events += decoder.finish()
    assert_laws(events)
    return events


def select_events(kind, events):
    return [event for event in events if isinstance(event, kind)]


def read(pieces, content_type=reading.EVENT_STREAM, model="asked"):
    return reading.read(ChatCompletionsDecoder("acme", model), pieces, content_type)


def answer(data, content_type=reading.EVENT_STREAM, model="asked"):
    """Return the response, which must not depend on how the data is split."""
    events = reading.read_at_every_split(lambda: ChatCompletionsDecoder("acme", model), data, content_type)
    return reading.fold_of(events).response()


def body(message, finish="stop", **extra):
    """Return the bytes of an answer that is not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"id": "r-1", "model": "m-1", "choices": [choice], **extra}).encode()
