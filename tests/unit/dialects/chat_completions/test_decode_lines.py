"""Events on single lines, without the blank lines that the standard requires between them."""

from __future__ import annotations

import json

from jumpseat.chat import ProtocolError, ServerError, TextDeltaEvent
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import answer, call, calls, chunk, read, stream

PIECES = (
    chunk({"role": "assistant", "content": "He"}),
    chunk({"content": "llo"}),
    calls(call(0, "c-1", "f", '{"a": 1}')),
    chunk({}, "tool_calls"),
)


def put_on_single_lines(data: bytes) -> bytes:
    return data.replace(b"\n\n", b"\n")


def test_an_answer_on_single_lines_is_the_same_as_in_standard_form():
    assert answer(put_on_single_lines(stream(*PIECES))) == answer(stream(*PIECES))


def test_one_event_may_still_take_several_lines():
    pretty = "".join(f"data: {line}\n" for line in json.dumps(chunk({"content": "Hi"}), indent=1).split("\n"))
    whole = answer(pretty.encode() + b"\n" + stream(chunk({}, "stop")))

    assert whole.text == "Hi"


def test_an_error_between_the_lines_comes_after_the_text_before_it():
    events, error = read(
        [put_on_single_lines(stream(PIECES[0], {"error": {"message": "boom", "code": "server_error"}}))]
    )

    assert isinstance(error, ServerError)
    assert any(isinstance(event, TextDeltaEvent) for event in events)
    assert_laws(events, ended=False)


def test_the_end_mark_between_lines_ends_the_answer():
    events, error = read([put_on_single_lines(stream(chunk({"content": "x"}, "stop"))) + b"data: {\n\n"])

    assert error is None
    assert events[-1].type == "done"


def test_a_broken_object_among_the_lines_is_a_protocol_error():
    assert isinstance(
        read([put_on_single_lines(stream(PIECES[0], done=False)) + b'data: {"choices":[{"del\n\n'])[1],
        ProtocolError,
    )
