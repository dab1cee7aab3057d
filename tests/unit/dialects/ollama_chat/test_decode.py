"""Answers in Ollama's dialect, feature by feature."""

import json

import pytest

from jumpseat.chat import (
    ContextExceededError,
    DoneEvent,
    Fold,
    ProtocolError,
    RateLimitError,
    ServerError,
    TextDeltaEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.ollama_chat import call, last, ndjson, part
from tests.unit.dialects.ollama_chat.answers import answer, arrivals, read


def blocks_of(response):
    return [block.type for block in response.content]


@pytest.mark.requirement("ollama:ndjson")
def test_text_comes_line_by_line_and_the_last_line_ends_it():
    response = answer(part("Grü"), part("ße, "), part("世界 🙂"), part("\u2028\n"), last())
    assert response.text == "Grüße, 世界 🙂\u2028\n"
    assert response.model == "qwen3:4b"
    assert (response.stop_reason, response.raw_stop_reason) == ("end_turn", "stop")
    assert response.usage == Usage(input_tokens=26, output_tokens=29)
    assert response.response_id is None


@pytest.mark.requirement("ollama:ndjson")
def test_a_whole_body_is_decoded_like_a_line():
    body = json.dumps(last(content="Hello"), indent=2).encode()
    for pieces in ([body], [body[:30], body[30:]]):
        events, error = read(pieces, "application/json; charset=utf-8")
        assert error is None
        assert_laws(events)
        assert [event.text for event in events if isinstance(event, TextDeltaEvent)] == ["Hello"]


def test_text_in_the_last_line_is_used():
    assert answer(part("a"), last(content="b")).text == "ab"


def test_bytes_after_the_last_line_are_not_read():
    assert answer(part("a"), last(), part("b"), {"error": "late"}).text == "a"


@pytest.mark.requirement("ollama:thinking")
def test_thinking_is_a_block_of_its_own_before_the_text():
    response = answer(part(thinking="Okay"), part(thinking=", so"), part("Hi", thinking="."), last())
    assert blocks_of(response) == ["thinking", "text"]
    assert response.content[0].thinking == "Okay, so."
    assert response.content[0].origin.model == "asked"
    assert response.text == "Hi"


@pytest.mark.requirement("ollama:tool-calls-whole", "ollama:arguments-object")
def test_one_line_or_several_lines_may_contain_several_calls():
    response = answer(
        part(thinking="Hm"),
        part("Let me see."),
        part(tool_calls=[call("weather", {"city": "Zürich", "days": 2}, call_id="call_a")]),
        part(
            tool_calls=[
                call("time", call_id="call_b", index=1),
                call("news", {"n": [1.5, None]}, call_id="call_c"),
            ]
        ),
        last(),
    )
    assert blocks_of(response) == ["thinking", "text", "tool_use", "tool_use", "tool_use"]
    assert [(each.id, each.name, each.arguments) for each in response.tool_calls] == [
        ("call_a", "weather", {"city": "Zürich", "days": 2}),
        ("call_b", "time", {}),
        ("call_c", "news", {"n": [1.5, None]}),
    ]
    assert response.tool_calls[0].raw == '{"city":"Zürich","days":2}'
    assert (response.stop_reason, response.raw_stop_reason) == ("tool_use", "stop")


@pytest.mark.requirement("ollama:tool-calls-in-done")
def test_calls_in_the_last_line_are_used():
    line = last()
    line["message"]["tool_calls"] = [call("weather", {"city": "Rome"}, call_id="call_z")]
    response = answer(part("I will look."), line)
    assert [each.id for each in response.tool_calls] == ["call_z"]
    assert response.stop_reason == "tool_use"


@pytest.mark.requirement("ollama:minted-ids")
def test_calls_without_an_id_or_with_a_repeated_index_are_distinguished():
    response = answer(
        part(tool_calls=[call("a", {"n": 1}, index=None), call("b", index=0)]),
        part(tool_calls=[call("a", {"n": 2}, index=0, call_id="")]),
        last(),
    )
    assert [(each.id, each.name, each.arguments) for each in response.tool_calls] == [
        ("call_1_x", "a", {"n": 1}),
        ("call_2_x", "b", {}),
        ("call_3_x", "a", {"n": 2}),
    ]


@pytest.mark.requirement("ollama:minted-ids")
def test_generated_ids_differ_between_answers():
    minted = set()
    for _ in range(2):
        events = OllamaChatDecoder("acme", "asked").feed_event(
            "message", json.dumps(part(tool_calls=[call("a")]))
        )
        minted |= {event.id for event in events if event.type == "tool_use_start"}
    assert len(minted) == 2


def test_a_reused_id_is_replaced_and_a_repeated_call_is_ignored():
    twice = call("a", {"n": 1}, call_id="same")
    line = last()
    line["message"]["tool_calls"] = [twice]
    response = answer(part(tool_calls=[twice, call("a", {"n": 2}, call_id="same")]), line)
    assert [(each.id, each.arguments) for each in response.tool_calls] == [
        ("same", {"n": 1}),
        ("same_2_x", {"n": 2}),
    ]


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [('{"a": 1}', {"a": 1}), ("", {}), ("{broken", None), ([1], None), (None, {})],
)
def test_arguments_in_text_are_parsed_and_invalid_ones_are_an_error(arguments, parsed):
    broken = {"id": "c", "function": {"name": "f", "arguments": arguments}}
    (called,) = answer(part(tool_calls=[broken]), last()).tool_calls
    assert called.arguments == parsed
    assert (called.error is None) == (parsed is not None)


def test_an_entry_that_is_not_a_call_is_skipped():
    response = answer(part(tool_calls=["x", {"function": 1}]), part(tool_calls={}), last())
    assert (response.tool_calls, response.stop_reason) == ([], "end_turn")


@pytest.mark.requirement("ollama:done-reason")
@pytest.mark.parametrize(
    ("done_reason", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("load", "end_turn"),
        ("unload", "end_turn"),
        (None, "end_turn"),
        ("something new", "end_turn"),
    ],
)
def test_a_done_reason_is_mapped_and_kept(done_reason, stop_reason):
    response = answer(part("x"), last(done_reason))
    assert (response.stop_reason, response.raw_stop_reason) == (stop_reason, done_reason)


@pytest.mark.requirement("ollama:done-reason")
def test_an_answer_that_is_cut_off_within_calls_is_reported_as_cut_off():
    response = answer(part(tool_calls=[call("a", call_id="1")]), last("length"))
    assert response.stop_reason == "max_tokens"


def test_an_empty_answer_has_no_block():
    response = answer(last("load", prompt_eval_count=None, eval_count=None))
    assert list(response.content) == []
    assert response.usage is None


@pytest.mark.requirement("ollama:omitted-counts")
def test_a_count_that_is_left_out_is_zero():
    assert answer(part("x"), last(prompt_eval_count=None)).usage == Usage(0, 29)
    events, _ = read([ndjson(last(prompt_eval_count=None, eval_count=None))])
    assert not any(isinstance(event, UsageEvent) for event in events)
    assert isinstance(events[-1], DoneEvent)


@pytest.mark.requirement("ollama:error-in-stream")
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("an error was encountered while running the model: CUDA error", ServerError),
        ("the input length exceeds the context length", ContextExceededError),
        ("you have reached your hourly limit: too many requests", RateLimitError),
    ],
)
def test_an_error_in_mid_stream_keeps_the_partial(words, kind):
    data = ndjson(part("Hel"), part("lo"), {"error": words})
    for pieces in arrivals(data):
        events, error = read(pieces)
        assert type(error) is kind
        assert words[:20] in error.message
        assert error.provider == "acme"
        assert_laws(events, ended=False)
        fold = Fold("acme", "asked")
        for event in events:
            fold.add(event)
        assert fold.partial().text == "Hello"


@pytest.mark.requirement("ollama:error-in-stream", "ollama:early-end")
@pytest.mark.parametrize(("tail", "kind"), [({"error": "boom"}, ServerError), (None, ProtocolError)])
def test_the_partial_is_kept_if_lines_are_labelled_as_json(tail, kind):
    data = ndjson(part("Hel"), part("lo"), *([tail] if tail else []))
    events, error = read([data], "application/json")
    assert type(error) is kind
    assert "".join(event.text for event in events if isinstance(event, TextDeltaEvent)) == "Hello"


@pytest.mark.requirement("ollama:early-end")
@pytest.mark.parametrize("cut", [0, 1, -2, -20])
def test_an_end_without_done_is_a_protocol_error_with_the_partial(cut):
    data = ndjson(part("Hel"), part("lo"))
    events, error = read([data + ndjson(last())[:cut]])
    assert type(error) is ProtocolError
    assert "early" in error.message
    assert "".join(event.text for event in events if isinstance(event, TextDeltaEvent)) == "Hello"


def test_the_last_line_may_lack_its_line_ending():
    events, error = read([ndjson(part("x"), last()).rstrip()])
    assert error is None
    assert isinstance(events[-1], DoneEvent)


def test_an_empty_answer_is_a_protocol_error():
    for content_type in ("application/x-ndjson", "application/json", ""):
        _, error = read([], content_type)
        assert type(error) is ProtocolError


@pytest.mark.requirement("ollama:garbage-line")
@pytest.mark.parametrize("garbage", [b"<html>502</html>\n", b"keep-alive\n", b"\xff\xfe\n"])
def test_a_line_that_is_not_json_is_left_out_with_a_warning(garbage):
    events, error = read([ndjson(part("Hi")) + garbage + garbage + ndjson(last())])
    assert error is None
    assert [event.code for event in events if isinstance(event, WarningEvent)] == ["unreadable_event"]
    assert isinstance(events[-1], DoneEvent)


@pytest.mark.requirement("ollama:garbage-line")
@pytest.mark.parametrize("garbage", [b"[1]\n", b'{"a": }\n'])
def test_a_line_that_is_not_an_object_is_a_protocol_error(garbage):
    events, error = read([ndjson(part("Hi")) + garbage + ndjson(last())])
    assert type(error) is ProtocolError
    assert any(isinstance(event, TextDeltaEvent) for event in events)


@pytest.mark.requirement("ollama:generated-images")
@pytest.mark.parametrize(
    "lines",
    [
        (part("Here."), last(image="iVBORw0K")),
        (part("Here."), {**part(""), "message": {"role": "assistant", "image": "iVBORw0K"}}, last()),
        (part("Here."), {**part(""), "message": {"role": "assistant", "images": ["iVBORw0K"]}}, last()),
    ],
)
def test_a_generated_image_is_a_block(lines):
    response = answer(*lines)
    assert blocks_of(response) == ["text", "image"]
    assert (response.content[1].source, response.content[1].media_type) == ("iVBORw0K", "image/png")
