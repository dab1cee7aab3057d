"""Tool calls in all forms that servers of this dialect send."""

import pytest

from tests.unit.dialects.chat_completions.answers import answer, call, calls, chunk, stream

CALLS = {
    "arguments in pieces": [
        calls(call(0, "c-1", "f", "")),
        calls(call(0, arguments='{"a"')),
        calls(call(0, arguments=":1}")),
    ],
    "index missing": [calls(call(None, "c-1", "f", '{"a":')), calls(call(None, None, None, "1}"))],
    "index missing, id repeated": [
        calls(call(None, "c-1", "f", '{"a":')),
        calls(call(None, "c-1", "", "1}")),
    ],
    "index from 1": [calls(call(1, "c-1", "f", '{"a":1}'))],
    "id and name repeated": [calls(call(0, "c-1", "f", '{"a"')), calls(call(0, "c-1", "f", ":1}"))],
    "id and name empty later": [calls(call(0, "c-1", "f", '{"a"')), calls(call(0, "", "", ":1}"))],
    "name before id": [calls(call(0, None, "f", '{"a"')), calls(call(0, "c-1", None, ":1}"))],
    "in the finish chunk": [calls(call(0, "c-1", "f", '{"a":1}'), finish="tool_calls")],
    "with finish stop": [calls(call(0, "c-1", "f", '{"a":1}')), chunk({}, "stop")],
    "with null deltas": [
        calls(call(0, "c-1", "f", None)),
        calls(call(0, None, None, '{"a":1}')),
        chunk({"tool_calls": None}),
    ],
    "arguments as an object": [calls(call(0, "c-1", "f", {"a": 1}))],
}


@pytest.mark.requirement(
    "chat:arguments-in-pieces",
    "chat:index-missing",
    "chat:index-from-one",
    "chat:id-and-name-repeated",
    "chat:id-and-name-empty",
    "chat:calls-with-finish",
    "chat:finish-stop-with-calls",
)
@pytest.mark.parametrize("name", CALLS)
def test_tool_calls_are_decoded_in_every_form(name):
    got = answer(stream(*CALLS[name]))
    assert [(c.id, c.name, c.arguments, c.raw) for c in got.tool_calls] == [("c-1", "f", {"a": 1}, '{"a":1}')]
    assert got.stop_reason == "tool_use"


SEVERAL = {
    "one after the other": [calls(call(0, "c-1", "f", "{}")), calls(call(1, "c-2", "g", "{}"))],
    "in one delta": [calls(call(0, "c-1", "f", "{}"), call(1, "c-2", "g", "{}"))],
    "interleaved": [
        calls(call(0, "c-1", "f", "{")),
        calls(call(1, "c-2", "g", "{")),
        calls(call(0, arguments="}")),
        calls(call(1, arguments="}")),
    ],
    "the same index": [calls(call(0, "c-1", "f", "{}")), calls(call(0, "c-2", "g", "{}"))],
    "no index": [calls(call(None, "c-1", "f", "{}"), call(None, "c-2", "g", "{}"))],
}


@pytest.mark.requirement("chat:index-repeated", "chat:index-missing", "chat:calls-with-finish")
@pytest.mark.parametrize("name", SEVERAL)
def test_several_calls_are_distinguished(name):
    got = answer(stream(*SEVERAL[name]))
    assert [(c.id, c.name, c.arguments) for c in got.tool_calls] == [("c-1", "f", {}), ("c-2", "g", {})]


@pytest.mark.requirement("chat:arguments-none")
@pytest.mark.parametrize("raw", ["", "null", None])
def test_missing_arguments_are_an_empty_object_and_raw_is_unchanged(raw):
    (got,) = answer(stream(calls(call(0, "c-1", "f", raw)))).tool_calls
    assert (got.arguments, got.raw, got.error) == ({}, raw or "", None)


@pytest.mark.requirement("chat:finish-length-half-call")
@pytest.mark.parametrize(
    "raw", ['{"a": [1, 2', "[1]", '{"a": NaN}', '"text"', "{} {}", r'"\ud83d"', r'{"a": "\ud83d"}']
)
def test_broken_arguments_are_never_repaired(raw):
    got = answer(stream(calls(call(0, "c-1", "f", raw)), chunk({}, "length")))
    assert (got.tool_calls[0].arguments, got.tool_calls[0].raw) == (None, raw)
    assert got.tool_calls[0].error.startswith("The arguments of the call are not")
    assert got.stop_reason == "max_tokens"


@pytest.mark.requirement("chat:id-and-name-empty")
def test_calls_without_ids_get_ids_that_differ_between_answers():
    def ids(response_id):
        data = stream(
            *(
                {**c, "id": response_id}
                for c in (calls(call(0, "", "f", "{}")), calls(call(1, None, "g", "{}")))
            )
        )
        return [c.id for c in answer(data).tool_calls]

    assert ids("r-1") == ["call_1_r1", "call_2_r1"]
    assert not set(ids("r-1")) & set(ids("r-2"))
