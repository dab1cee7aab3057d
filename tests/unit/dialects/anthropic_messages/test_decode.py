"""Hand-written answers in the Messages dialect, one for each server behaviour."""

import json

import pytest

from jumpseat.chat import Usage, UsageEvent, WarningEvent
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Redacted,
    Thought,
    Words,
    event,
    message_body,
    message_stream,
)
from tests.unit.dialects.anthropic_messages.answers import (
    TEXT,
    THINKING,
    answer,
    block,
    end_events,
    json_piece,
    raw,
    read,
    start_event,
    stream,
    words,
)

EVERYTHING = (
    Thought(["Let me ", "see."], "sig=="),
    Redacted("cipher-1"),
    Redacted("cipher-2"),
    Words(["Hé", "llo"]),
    Call("toolu_1", "f", ['{"a"', ": 1}"]),
    Call("toolu_2", "g", []),
)


@pytest.mark.requirement("messages:stream", "messages:redacted", "messages:no-arguments")
def test_one_stream_may_contain_every_kind_of_block():
    got = answer(stream(*EVERYTHING))
    thought, first, second, text, call, empty = got.content
    assert (thought.thinking, thought.signature) == ("Let me see.", "sig==")
    assert (first.data, second.data) == ("cipher-1", "cipher-2")
    assert text.text == got.text == "Héllo"
    assert (call.id, call.name, call.arguments, call.raw) == ("toolu_1", "f", {"a": 1}, '{"a": 1}')
    assert (empty.arguments, empty.raw, empty.error) == ({}, "", None)
    assert (got.stop_reason, got.raw_stop_reason) == ("tool_use", "tool_use")
    assert (got.model, got.response_id) == ("claude-fake", "msg_fake")
    assert {(each.origin.provider, each.origin.model) for each in got.content} == {("acme", "asked")}


@pytest.mark.requirement("messages:whole-body")
def test_a_body_has_the_same_result_as_a_stream():
    call = Call("toolu_1", "f", ['{"a":1}'])
    parts = (Thought(["Hm"]), Redacted("x"), Words(["Hi"]), call)
    whole = answer(json.dumps(message_body(*parts)).encode(), "application/json")
    assert whole == answer(stream(*parts))


@pytest.mark.requirement("messages:data-type")
def test_the_name_of_an_event_is_not_needed():
    assert answer(raw(*message_stream(*EVERYTHING), named=False)) == answer(stream(*EVERYTHING))


@pytest.mark.requirement("messages:unknown-events")
def test_unknown_events_are_ignored():
    got = answer(
        raw(
            start_event(),
            event("weather_report", sunny=True),
            *block(0, TEXT, words("a"), {"type": "colour_delta", "colour": "red"}, words("b")),
            event("ping"),
            event("message_delta", delta={"mood": "good"}, usage=None),
            *end_events("a_new_reason"),
        )
    )
    assert got.text == "ab"
    assert (got.stop_reason, got.raw_stop_reason) == ("end_turn", "a_new_reason")


@pytest.mark.requirement("messages:signature")
def test_the_last_signature_is_used_and_empty_thinking_keeps_its_signature():
    got = answer(
        raw(
            start_event(),
            *block(0, THINKING, *({"type": "signature_delta", "signature": each} for each in ("a", "b"))),
            *block(1, {"type": "thinking", "thinking": "given", "signature": "s"}),
            *block(2, {"type": "thinking", "thinking": "unsigned"}),
            *end_events(),
        )
    )
    assert [(each.thinking, each.signature) for each in got.content] == [
        ("", "b"),
        ("given", "s"),
        ("unsigned", None),
    ]


@pytest.mark.requirement("messages:cut-arguments")
@pytest.mark.parametrize("text", ['{"a": [1, 2', "[1]", '{"a": NaN}', "{} {}"])
def test_broken_arguments_are_never_repaired(text):
    got = answer(stream(Call("toolu_1", "f", [text]), stop_reason="max_tokens"))
    (call,) = got.tool_calls
    assert (call.arguments, call.raw, got.stop_reason) == (None, text, "max_tokens")
    assert call.error.startswith("The arguments of the call are not")


@pytest.mark.requirement("messages:input-in-start", "messages:replay-citations")
def test_the_input_in_a_calls_start_is_used_if_no_deltas_follow():
    start = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": "é"}, "caller": {"type": "direct"}}
    got = answer(raw(start_event(), *block(0, start), *end_events("tool_use")))
    (call,) = got.tool_calls
    assert (call.arguments, call.raw) == ({"a": "é"}, '{"a":"é"}')
    assert json.loads(call.opaque) == {"caller": {"type": "direct"}}
    got = answer(
        raw(start_event(), *block(0, start, json_piece(""), json_piece('{"b":2}')), *end_events("tool_use"))
    )
    assert got.tool_calls[0].arguments == {"b": 2}


@pytest.mark.requirement("messages:compaction", "messages:replay-other")
def test_blocks_of_unknown_types_are_kept_unchanged():
    server = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted_content": "e"}]}
    compaction = {"type": "compaction", "content": None}
    pieces = [{"type": "compaction_delta", "content": each} for each in ("Sum", "mary")]
    got = answer(
        raw(
            start_event(),
            *block(0, server, json_piece(""), json_piece('{"q":'), json_piece('"é"}')),
            *block(1, result),
            *block(2, compaction, *pieces),
            *block(3, server, json_piece('{"q')),
            *end_events("compaction"),
        )
    )
    assert [each.kind for each in got.content] == [
        "server_tool_use",
        "web_search_tool_result",
        "compaction",
        "server_tool_use",
    ]
    assert [json.loads(each.opaque) for each in got.content] == [
        {**server, "input": {"q": "é"}},
        result,
        {"type": "compaction", "content": "Summary"},
        {**server, "input": {"INVALID_JSON": '{"q'}},
    ]
    assert got.content[2].text == "Summary"
    assert got.stop_reason == "pause_turn"


@pytest.mark.requirement("messages:stop-reasons")
@pytest.mark.parametrize(
    ("raw_reason", "reason"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_exceeded"),
        ("compaction", "pause_turn"),
        ("tool_use", "end_turn"),
    ],
)
def test_stop_reasons_are_mapped(raw_reason, reason):
    got = answer(stream(Words(["x"]), stop_reason=raw_reason))
    assert (got.stop_reason, got.raw_stop_reason) == (reason, raw_reason)


@pytest.mark.requirement("messages:stop-reasons")
def test_end_turn_after_a_call_is_reported_as_tool_use():
    assert answer(stream(Call("t", "f"), stop_reason="end_turn")).stop_reason == "tool_use"


@pytest.mark.requirement("messages:stop-reasons")
@pytest.mark.parametrize("explanation", ["Not this.", None])
def test_a_refusal_has_a_warning_with_its_reason(explanation):
    details = {"type": "refusal", "category": "frontier_llm", "explanation": explanation}
    events, _ = read([raw(start_event(), *end_events("refusal", stop_details=details))])
    (warning,) = [each for each in events if isinstance(each, WarningEvent)]
    assert warning.code == "refusal"
    assert "(frontier llm)" in warning.message
    assert (explanation or "Remove this answer") in warning.message
    assert_laws(events)


@pytest.mark.requirement("messages:usage-cumulative", "messages:usage-cache")
def test_usage_is_overwritten_field_by_field_and_includes_the_cache():
    first = {"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 100}
    second = {"output_tokens": 20, "input_tokens": None, "cache_creation_input_tokens": 30}
    last = {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 15}}
    data = raw(
        start_event(usage=first),
        event("message_delta", delta={}, usage=second),
        *end_events(usage=last),
    )
    events, _ = read([data])
    reported = [each.usage for each in events if isinstance(each, UsageEvent)]
    assert reported == [
        Usage(107, 1, 100, 0),
        Usage(137, 20, 100, 30),
        Usage(137, 40, 100, 30, reasoning_tokens=15),
    ]
    assert events[-1].usage == reported[-1]


@pytest.mark.requirement("messages:usage-iterations")
def test_every_sampling_of_an_answer_is_counted():
    compaction = {"type": "compaction", "input_tokens": 60385, "output_tokens": 522}
    message = {"type": "message", "input_tokens": 612, "output_tokens": 2819, "cache_read_input_tokens": 7}
    totals = {"input_tokens": 612, "output_tokens": 2819, "cache_read_input_tokens": 7}
    usage = {**totals, "iterations": [compaction, message]}
    got = answer(
        raw(start_event(usage={"input_tokens": 60385, "output_tokens": 5}), *end_events(usage=usage))
    )
    assert got.usage == Usage(60385 + 612 + 7, 522 + 2819, 7)
    assert answer(raw(start_event(), *end_events(usage={**totals, "iterations": []}))).usage == Usage(
        619, 2819, 7
    )


def test_the_usage_of_a_gateway_that_counts_only_at_the_end_is_used():
    zero = {"input_tokens": 0, "output_tokens": 0}
    got = answer(raw(start_event(usage=zero), *end_events(usage={"input_tokens": 61, "output_tokens": 2})))
    assert got.usage == Usage(61, 2)
    assert answer(raw(start_event(usage=None), *end_events())).usage is None
