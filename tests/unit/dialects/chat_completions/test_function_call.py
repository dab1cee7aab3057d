"""The deprecated `function_call`, and the empty one that Snowflake adds to every text."""

import pytest

from tests.unit.dialects.chat_completions.answers import answer, body, chunk, read, stream

EMPTY = {"function_call": {"arguments": "", "name": ""}, "tool_calls": None}


@pytest.mark.requirement("chat:function-call")
def test_the_old_function_call_is_a_tool_call():
    (got,) = answer(
        body({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        "application/json",
    ).tool_calls
    assert (got.name, got.arguments) == ("f", {})


@pytest.mark.requirement("chat:function-call", "2:nameless-call")
@pytest.mark.parametrize(
    ("data", "form"),
    [
        (body({"content": "<think>Hm</think>Hello", **EMPTY}), "application/json"),
        (
            stream(
                chunk({"content": "<think>H", **EMPTY}),
                chunk({"content": "m</think>Hel", **EMPTY}),
                chunk({"content": "lo", **EMPTY}, "stop"),
            ),
            "text/event-stream",
        ),
    ],
    ids=["whole", "streamed"],
)
def test_an_empty_function_call_next_to_text_is_not_a_call(data, form):
    got = answer(data, form)
    assert [(block.type, getattr(block, block.type)) for block in got.content] == [
        ("thinking", "Hm"),
        ("text", "Hello"),
    ]
    assert got.stop_reason == "end_turn"
    events, _ = read([data], form)
    assert [event.code for event in events if event.type == "warning"] == ["nameless_call_dropped"]


@pytest.mark.requirement("chat:function-call")
def test_a_function_call_that_repeats_a_tool_call_is_not_a_second_call():
    function = {"name": "f", "arguments": '{"a":1}'}
    message = {
        "content": None,
        "function_call": function,
        "tool_calls": [{"id": "c-1", "function": function}],
    }
    (got,) = answer(body(message, "tool_calls"), "application/json").tool_calls
    assert (got.id, got.raw) == ("c-1", '{"a":1}')
