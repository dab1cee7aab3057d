"""The format of recordings: missing, misspelt and extra keys are errors."""

import json

import pytest

from jumpseat.chat import (
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)
from jumpseat.testing import load_recordings
from jumpseat.testing.recordings import through_the_wire

EXPECTED = {"made": "written", "source": "a page", "text": "Hi"}


def write(folder, name="one", form="json", body=b"{}", expected=EXPECTED, request=None):
    (folder / f"{name}.body.{form}").write_bytes(body)
    if expected is not None:
        (folder / f"{name}.expected.json").write_text(json.dumps(expected), "utf-8")
    if request is not None:
        (folder / f"{name}.request.json").write_text(json.dumps(request), "utf-8")
    return folder


def response(*content, **more):
    return Response(provider="p", model="m", content=content, stop_reason="end_turn", **more)


def test_recordings_come_in_the_order_of_their_names_with_their_bytes(tmp_path):
    write(tmp_path, "b", "sse", b"data: \xff\r\n\r\n")
    write(tmp_path, "a.with.dots", "ndjson", b"{}\n")
    write(tmp_path, "c")
    found = load_recordings(tmp_path)
    assert [(each.name, each.form, each.streamed) for each in found] == [
        ("a.with.dots", "ndjson", True),
        ("b", "sse", True),
        ("c", "json", False),
    ]
    assert found[1].body == b"data: \xff\r\n\r\n"
    assert found[1].reply().body == found[1].body
    assert found[1].reply().headers["content-type"] == "text/event-stream"
    assert list(found[0].reply(1).writes()) == [b"{", b"}", b"\n"]


def test_the_request_of_a_recording_is_read_as_params_of_a_chat(tmp_path):
    asked = {"messages": [{"role": "user", "content": "Hi"}], "toolChoice": {"name": "f"}, "maxTokens": 7}
    (found,) = load_recordings(write(tmp_path, request={**asked, "tools": [{"name": "f"}]}))
    request = found.request
    assert list(request.messages) == [Message.user("Hi")]
    assert (request.tool_choice, request.max_tokens, request.model) == (NamedTool("f"), 7, "")
    assert [tool.name for tool in request.tools] == ["f"]


def test_a_failure_has_its_status(tmp_path):
    (found,) = load_recordings(
        write(tmp_path, expected={**EXPECTED, "status": 429, "error": {"class": "X"}, "headers": {"a": "b"}})
    )
    assert found.fails
    assert found.reply().status == 429
    assert found.reply().headers["a"] == "b"


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (None, "one.expected.json is missing"),
        ({**EXPECTED, "tekst": "Hi"}, "has unknown keys: tekst"),
        ({"made": "written"}, "must say how the answer was `made`, and its `source`"),
        ({"made": "guessed", "source": "x"}, "must say how the answer was `made`"),
        ([], "is not a JSON object"),
    ],
)
def test_an_incomplete_recording_is_refused(tmp_path, expected, sentence):
    with pytest.raises(ValueError, match=sentence):
        load_recordings(write(tmp_path, expected=expected))


def test_a_body_of_an_unknown_form_and_a_file_without_a_body_are_refused(tmp_path):
    write(tmp_path, "two", "txt")
    with pytest.raises(ValueError, match="must end in one of sse, ndjson, json"):
        load_recordings(tmp_path)
    (tmp_path / "two.body.txt").unlink()
    with pytest.raises(ValueError, match="its folder has no body of that name"):
        load_recordings(tmp_path)


def test_a_message_crosses_the_wire_unchanged():
    origin = Origin("p", "m")
    blocks = (
        ThinkingBlock("", "sig+/=", origin=origin, opaque='{"a":"\u00e9"}'),
        RedactedThinkingBlock("data", origin=origin),
        TextBlock("Grüße.", origin=origin),
        ToolUseBlock("c1", "f", {"a": 1}, '{ "a":1 }', origin=origin),
        ToolUseBlock("c2", "f", None, '{"a', "It is cut off.", origin=origin),
        OtherBlock("search", "words", origin=origin, opaque="x"),
    )
    message = Message("assistant", blocks)
    assert through_the_wire(message) == message


CALL = ToolUseBlock("c1", "f", {"a": 1}, '{"a":1}')


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ({"text": "Ho"}, "text is 'Hi'; the recording one expects 'Ho'"),
        ({"blocks": ["text"]}, "blocks is"),
        ({"stop_reason": "max_tokens"}, "stop_reason is 'end_turn'"),
        ({"usage": {"input_tokens": 3}}, "usage is {'input_tokens': 2}"),
        ({"tool_calls": []}, "there are 1 tool calls; 0 are expected"),
        ({"tool_calls": [{"raw": '{"a": 1}'}]}, r"tool_calls\[0\].raw is"),
        ({"response_id": "r"}, "response_id is None"),
        ({"model": "other"}, "model is 'm'"),
    ],
)
def test_an_unexpected_response_fails_with_the_name_of_the_key(tmp_path, expected, sentence):
    (found,) = load_recordings(write(tmp_path, expected={**EXPECTED, **expected}))
    got = response(TextBlock("Hi", origin=Origin("p", "m")), CALL, usage=Usage(input_tokens=2))
    with pytest.raises(AssertionError, match=sentence):
        found.assert_matches(got)


def test_an_expected_response_passes(tmp_path):
    values = {"text": "Hi", "blocks": ["text", "tool_use"], "tool_calls": [{"name": "f", "raw": '{"a":1}'}]}
    (found,) = load_recordings(write(tmp_path, expected={**EXPECTED, **values, "usage": {"input_tokens": 2}}))
    found.assert_matches(response(TextBlock("Hi"), CALL, usage=Usage(input_tokens=2)))
