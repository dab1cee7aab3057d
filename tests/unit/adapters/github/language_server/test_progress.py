"""The progress reports of a language server's turn, decoded into events."""

from datetime import UTC, datetime

import pytest

from jumpseat.adapters.github.language_server.notices import Notice
from jumpseat.adapters.github.language_server.progress import ProgressDecoder
from jumpseat.chat import (
    AuthorizationError,
    CitationEvent,
    ContentFilterError,
    Cost,
    DoneEvent,
    Fold,
    ProgressEvent,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    ResponseEvent,
    ThinkingDoneEvent,
    Usage,
    WarningEvent,
)
from jumpseat.testing.laws import assert_laws
from tests.fakes.language_server_answers import begin, end, reply, report, round_reply, token_usage

ANSWER = {"conversationId": "conversation-1", "turnId": "turn-1", "modelName": "GPT-4.1"}


def decode(*values, answer=ANSWER, warnings=()):
    """Return all events of a turn that succeeds, and assert that they obey the rules of events."""
    decoder = ProgressDecoder("helper", "m", warnings)
    events = [event for value in values for event in decoder.feed(value)]
    events += decoder.finish(answer)
    assert_laws(events)
    return events


def decode_failure(*values, answer=ANSWER):
    """Return the events of a turn that fails, and its error."""
    decoder = ProgressDecoder("helper", "m")
    events = [event for value in values for event in decoder.feed(value)]
    with pytest.raises(Exception) as caught:
        decoder.finish(answer)
    assert_laws(events, ended=False)
    return events, caught.value


def response(events):
    fold = Fold("helper", "m")
    for event in events:
        fold.add(event)
    return fold.response()


def events_of_type(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.requirement("language-server:conversation-progress")
@pytest.mark.parametrize("piece", [reply, round_reply], ids=["reply", "editAgentRounds"])
def test_text_is_read_from_the_fields_of_old_and_new_versions(piece):
    events = decode(begin(), piece("Hel"), piece("lo"), end())

    answer = response(events)
    assert [event.type for event in events] == [
        "response",
        "text_start",
        "text_delta",
        "text_delta",
        "text_done",
        "done",
    ]
    assert (answer.text, answer.stop_reason, answer.response_id) == ("Hello", "end_turn", "turn-1")


@pytest.mark.requirement("language-server:conversation-progress")
def test_the_response_event_comes_with_the_first_output():
    decoder = ProgressDecoder("helper", "m")

    assert decoder.feed(begin()) + decoder.feed(round_reply("")) == []
    assert decoder.feed(round_reply("x") | {"turnId": "turn-2"})[0] == ResponseEvent("m", "turn-1")
    assert [event.type for event in decode(begin(), end())] == ["response", "done"]


@pytest.mark.requirement("language-server:conversation-progress")
def test_text_in_both_fields_counts_once():
    assert response(decode(begin(), round_reply("Hi", reply="Hi"), end())).text == "Hi"
    assert response(decode(begin(), round_reply("", reply="Hi"), end())).text == "Hi"


@pytest.mark.requirement("language-server:conversation-progress")
def test_each_round_is_a_block():
    events = decode(begin(), round_reply("I look."), round_reply("", 2), round_reply("Found.", 2), end())

    assert [block.text for block in response(events).content] == ["I look.", "Found."]


@pytest.mark.requirement("language-server:conversation-progress")
@pytest.mark.parametrize("piece", [reply, round_reply], ids=["reply", "editAgentRounds"])
def test_a_marker_for_editors_is_dropped(piece):
    marker = piece("<!-- replace lines 1 to 2 -->", hideText=True)

    assert response(decode(begin(), marker, piece("x"), end())).text == "x"


@pytest.mark.requirement("language-server:conversation-progress")
def test_the_decoder_keeps_the_conversations_id_and_the_raw_text():
    decoder = ProgressDecoder("helper", "m")
    assert (decoder.begun, decoder.ended, decoder.conversation_id) == (False, False, None)
    for value in (begin("c7"), round_reply("a "), reply("b"), end()):
        decoder.feed(value)

    assert (decoder.begun, decoder.ended, decoder.conversation_id) == (True, True, "c7")
    assert decoder.text == "a b"
    assert decoder.feed(reply("late")) == []


@pytest.mark.requirement("language-server:reports")
def test_thinking_comes_before_the_text_of_its_report():
    events = decode(
        begin(),
        round_reply("", thinking={"id": "t", "text": "Hm, "}),
        round_reply("So.", thinking={"id": "t", "text": ["let ", "me see"]}),
        round_reply(" Yes.", thinking={"id": "opaque", "encrypted": "x"}),
        end(),
    )

    (thought,) = events_of_type(ThinkingDoneEvent, events)
    assert thought.content.thinking == "Hm, let me see"
    assert [block.type for block in response(events).content] == ["thinking", "text"]
    assert response(events).text == "So. Yes."


@pytest.mark.requirement("language-server:reports")
@pytest.mark.parametrize(("thought", "codes"), [("", ["thinking_ignored"]), ("Hm", [])])
def test_missing_reasoning_that_was_requested_is_a_warning(thought, codes):
    decoder = ProgressDecoder("helper", "m", expects_thinking=True)
    values = [begin(), round_reply("x", thinking={"id": "t", "text": thought}), end()]
    events = [event for value in values for event in decoder.feed(value)] + decoder.finish(ANSWER)

    assert_laws(events)
    assert [event.code for event in events_of_type(WarningEvent, events)] == codes


@pytest.mark.requirement("language-server:reports")
def test_input_tokens_include_the_cached_ones_and_credits_are_the_cost():
    events = decode(
        begin(),
        round_reply("x"),
        token_usage(100, 7, 40),
        token_usage(100, 7, 40),
        end(),
        answer={**ANSWER, "preciseCredits": 0.25},
    )

    usages = [event.usage for event in events if event.type == "usage"]
    counted = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=40)
    assert usages == [
        counted,
        Usage(input_tokens=100, output_tokens=7, cache_read_tokens=40, cost=Cost(0.25, "AIU")),
    ]
    assert events_of_type(DoneEvent, events)[0].usage == usages[-1]


@pytest.mark.requirement("language-server:reports")
def test_invalid_counts_are_zero_and_the_input_includes_its_cached_tokens():
    odd = report(tokenUsage={"promptTokens": None, "completionTokens": -3, "cachedTokens": 5})
    events = decode(begin(), odd, report(tokenUsage=[1]), end(), answer={"preciseCredits": "1"})

    assert events_of_type(DoneEvent, events)[0].usage == Usage(input_tokens=5, cache_read_tokens=5)


@pytest.mark.requirement("language-server:reports")
def test_public_code_and_search_results_are_cited_once():
    code = {"id": 1, "type": "ip_code_citations", "citations": {"url": "https://x/code", "license": "MIT"}}
    flaw = {"id": 2, "type": "code_vulnerability", "citations": {"url": "https://x/not"}}
    page = {"title": "A page", "excerpt": "…", "url": "https://x/page"}
    search = {"type": "github.web-search", "id": "s", "data": {"query": "q", "results": [page]}}
    events = decode(
        begin(),
        round_reply("x", annotations=[code, flaw], references=[search]),
        round_reply("y", annotations=[code], references=[{"data": 7}, 7]),
        end(),
    )

    assert events_of_type(CitationEvent, events) == [
        CitationEvent(0, "https://x/code", "MIT"),
        CitationEvent(0, "https://x/page", "A page"),
    ]


@pytest.mark.requirement("language-server:reports")
def test_a_step_is_reported_once_while_it_runs_and_not_when_it_ends():
    step = {"id": "a", "title": "Searching", "status": "running"}
    events = decode(
        begin(),
        report(steps=[step, {"id": "b", "title": "Reading", "status": "running"}]),
        report(steps=[step]),
        report(steps=[{**step, "status": "completed"}, {"id": "c", "title": "Done", "status": "completed"}]),
        end(),
    )

    assert events_of_type(ProgressEvent, events) == [ProgressEvent("Searching"), ProgressEvent("Reading")]


@pytest.mark.requirement("language-server:limits", "language-server:reports")
def test_each_notice_is_one_warning():
    decoder = ProgressDecoder("helper", "m")
    events = decoder.feed(begin())
    decoder.add_notice(Notice("75% used"))
    events += decoder.feed(report(notifications=[{"severity": "warning", "message": "Slow\ntoday"}]))
    decoder.add_notice(Notice("75% used"))
    events += decoder.feed(round_reply("x")) + decoder.feed(end()) + decoder.finish(None)

    assert events_of_type(WarningEvent, events) == [
        WarningEvent("provider_notice", "75% used"),
        WarningEvent("provider_notice", "Slow today"),
    ]


@pytest.mark.requirement("language-server:limits")
def test_an_error_gives_the_reset_time_of_a_used_up_limit():
    reset = datetime(2026, 12, 1, tzinfo=UTC)
    decoder = ProgressDecoder("helper", "m")
    decoder.add_notice(Notice("All used.", reset))
    decoder.add_notice(Notice("75% of the other one used."))
    decoder.feed(begin())
    decoder.feed(end({"message": "Oops.", "responseIsIncomplete": True}))

    with pytest.raises(RateLimitError) as caught:
        decoder.finish(ANSWER)
    assert caught.value.reset_at == reset


@pytest.mark.requirement("language-server:no-secrets")
def test_tokens_are_redacted_in_notices_and_steps_but_not_in_the_answer():
    token = "gho_abcdefghijklmnop1234"
    steps = [{"id": "a", "title": f"With {token}", "status": "running"}]
    reported = report(notifications=[{"message": f"Slow for {token}"}], steps=steps)
    events = decode(begin(), reported, round_reply(token), end())

    assert events_of_type(WarningEvent, events)[0].message == "Slow for ***"
    assert events_of_type(ProgressEvent, events)[0].message == "With ***"
    assert response(events).text == token


def test_warnings_of_the_request_come_after_the_response_event():
    dropped = WarningEvent("thinking_dropped", "x")
    events = decode(begin(), round_reply("a"), end(), warnings=[dropped])

    assert [event.type for event in events[:3]] == ["response", "warning", "text_start"]


@pytest.mark.requirement("language-server:silence")
def test_an_answer_without_a_begin_or_an_end_is_valid():
    assert response(decode(begin(), round_reply("x"))).text == "x"
    assert response(decode(round_reply("x"), end())).text == "x"
    assert response(decode(begin(), end(), answer=None)).content == []
    assert response(decode(end())).stop_reason == "end_turn"


@pytest.mark.requirement("language-server:silence")
@pytest.mark.parametrize("answer", [None, ANSWER, "OK"])
@pytest.mark.parametrize("reports", [[], [begin()], [begin(), report(contextSize={})]])
def test_an_empty_turn_without_an_end_is_a_protocol_error(answer, reports):
    _, error = decode_failure(*reports, answer=answer)

    assert type(error) is ProtocolError
    assert "without output" in error.message


@pytest.mark.requirement("language-server:silence")
@pytest.mark.parametrize("answer", [None, "OK", [], 7])
def test_text_without_an_end_or_a_valid_result_is_a_protocol_error(answer):
    events, error = decode_failure(begin(), round_reply("Half"), answer=answer)

    assert (type(error), error.message) == (ProtocolError, "helper ended its answer early.")
    assert "Half" in [getattr(event, "text", None) for event in events]


@pytest.mark.requirement("language-server:errors-of-turns")
@pytest.mark.parametrize(
    "place",
    [
        end,
        lambda error: end(result={"error": error}),
        lambda error: end(result={"error": error}) | {"error": None},
    ],
)
def test_an_error_is_read_from_the_end_report_or_its_result(place):
    events, error = decode_failure(begin(), round_reply("Half"), place({"message": "No more.", "code": 402}))

    assert type(error) is QuotaExceededError
    assert "Half" in [getattr(event, "text", None) for event in events]


@pytest.mark.requirement("language-server:errors-of-turns")
@pytest.mark.parametrize("raw", ["No more.", True, [], 0, "", {}])
@pytest.mark.parametrize("place", [lambda raw: {"error": raw}, lambda raw: {"result": {"error": raw}}])
def test_an_error_in_an_unknown_format_is_a_protocol_error(raw, place):
    events, error = decode_failure(begin(), round_reply("Half"), end() | place(raw))

    assert type(error) is ProtocolError
    assert ("No more" in error.message) is (raw == "No more.")
    assert "Half" in [getattr(event, "text", None) for event in events]


@pytest.mark.requirement("language-server:errors-of-turns")
def test_an_answer_at_the_output_limit_is_truncated_and_not_an_error():
    reported = {
        "message": "Oops, the response got too long. Try to reformulate your question.",
        "responseIsIncomplete": True,
    }
    done = decode(begin(), round_reply("Half"), end(reported))[-1]

    assert (done.stop_reason, done.raw_stop_reason) == ("max_tokens", "length")


@pytest.mark.requirement("language-server:errors-of-turns")
def test_a_filtered_answer_keeps_its_text_or_is_an_error_if_it_has_none():
    reported = {"message": "Oops, your response got filtered.", "responseIsFiltered": True}

    assert decode(begin(), round_reply("Half"), end(reported))[-1].stop_reason == "content_filter"
    assert type(decode_failure(begin(), end(reported))[1]) is ContentFilterError


@pytest.mark.requirement("language-server:errors-of-turns")
def test_a_notice_is_a_warning_with_an_answer_and_an_error_without_one():
    notice = report(notifications=[{"severity": "warning", "message": "The model failed."}])

    assert type(decode_failure(begin(), notice, end())[1]) is ProtocolError
    assert "The model failed." in str(decode_failure(begin(), notice, end())[1])
    beside = decode(begin(), round_reply("Half"), notice, end())
    assert events_of_type(WarningEvent, beside) == [WarningEvent("provider_notice", "The model failed.")]


@pytest.mark.requirement("language-server:errors-of-turns")
def test_an_agent_that_requires_a_sign_in_is_an_error():
    wanted = {"authorizationUri": "https://x", "agentSlug": "a", "agentName": "A"}

    assert type(decode_failure(begin(), end(unauthorized=wanted))[1]) is AuthorizationError


@pytest.mark.requirement("language-server:errors-of-turns")
def test_a_cancel_that_was_not_requested_is_an_error():
    _, error = decode_failure(begin(), round_reply("Half"), end(cancellationReason="CancelledByUser"))

    assert type(error) is ProtocolError
    assert "CancelledByUser" in error.message


@pytest.mark.requirement("language-server:conversation-progress")
@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"kind": "weird"},
        report(reply=7, editAgentRounds="x", thinking="x", steps=[7], notifications={}, references=None),
        report(editAgentRounds=[7, {"reply": None}, {}], annotations=[{"type": "ip_code_citations"}]),
        {"kind": "begin", "conversationId": 7, "turnId": []},
        report(steps=[{"id": 7, "title": None, "status": "running"}]),
    ],
)
def test_malformed_reports_are_ignored(odd):
    events = decode(odd, begin(), odd, round_reply("x"), odd, end())

    assert response(events).text == "x"
    assert {event.type for event in events} <= {"response", "text_start", "text_delta", "text_done", "done"}
    assert len(events_of_type(ResponseEvent, events)) == 1
