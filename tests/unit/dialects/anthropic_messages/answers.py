"""Write answers in the dialect, and decode them in different pieces, for the tests in this folder."""

import json

from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.testing.answers.anthropic_messages import event, message, message_stream
from tests.unit.dialects import reading

TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
"""Like TEXT, an empty block, as `content_block_start` events contain it."""


def raw(*events, named=True):
    """Encode (name, data) pairs, or literal data, as the bytes of a stream."""
    pieces = []
    for each in events:
        if isinstance(each, str):
            pieces.append(f"data: {each}\n\n")
        else:
            name = f"event: {each[0]}\n" if named else ""
            pieces.append(f"{name}data: {json.dumps(each[1], ensure_ascii=False)}\n\n")
    return "".join(pieces).encode()


def stream(*blocks, **more):
    """Return the bytes of a streamed answer with these blocks."""
    return raw(*message_stream(*blocks, **more))


def start_event(**more):
    return event("message_start", message=message(**more))


def words(text):
    """Return a delta of text."""
    return {"type": "text_delta", "text": text}


def json_piece(text):
    """Return a delta of the arguments of a call."""
    return {"type": "input_json_delta", "partial_json": text}


def block(index, start, *deltas):
    """Return the events of a whole block."""
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def end_events(reason="end_turn", *, stop=True, usage=None, **delta):
    """Return the events that end an answer, with or without `message_stop`."""
    events = [event("message_delta", delta={"stop_reason": reason, **delta}, usage=usage or {})]
    return [*events, event("message_stop")] if stop else events


def make_decoder():
    return AnthropicMessagesDecoder("acme", "asked")


def read(pieces, content_type=reading.EVENT_STREAM):
    return reading.read(make_decoder(), pieces, content_type)


def response_of(events):
    return reading.fold_of(events).response()


def answer(data, content_type=reading.EVENT_STREAM):
    """Return the response, which must not depend on how the data is split."""
    return response_of(reading.read_at_every_split(make_decoder, data, content_type))
