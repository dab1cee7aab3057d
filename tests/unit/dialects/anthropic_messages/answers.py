"""Hand-written answers in the dialect, and a reader for every split, for the tests in this folder."""

import json

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.anthropic_messages import event, message, message_stream

TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
"""The blocks of start events."""


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
    return raw(*message_stream(*blocks, **more))


def started(**more):
    return event("message_start", message=message(**more))


def words(text):
    return {"type": "text_delta", "text": text}


def json_piece(text):
    return {"type": "input_json_delta", "partial_json": text}


def block(index, start, *deltas):
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def ended(reason="end_turn", *, stop=True, usage=None, **delta):
    events = [event("message_delta", delta={"stop_reason": reason, **delta}, usage=usage or {})]
    return [*events, event("message_stop")] if stop else events


def read(pieces, content_type="text/event-stream"):
    decoder = AnthropicMessagesDecoder("acme", "asked")
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
    for each in events:
        fold.add(each)
    return fold.response()


def answer(data, content_type="text/event-stream"):
    """Read the answer, which must not depend on how it is split and which line ends it has."""
    whole, error = read([data], content_type)
    assert error is None
    assert_laws(whole)
    arrivals = [[data[i : i + 1] for i in range(len(data))]]
    if content_type == "text/event-stream":
        arrivals += [[data.replace(b"\n", b"\r\n")], [b"\xef\xbb\xbf" + data.replace(b"data: ", b"data:")]]
    for pieces in arrivals:
        events, error = read(pieces, content_type)
        assert error is None
        assert merge_deltas(events) == merge_deltas(whole)
    return response_of(whole)
