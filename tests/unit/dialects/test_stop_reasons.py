"""Answers with two stop reasons, in every dialect whose answers can have two."""

import pytest

from jumpseat.dialects.stop_reasons import STOP_REASONS, choose_stop_reason
from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from tests.unit.dialects.anthropic_messages import answers as messages
from tests.unit.dialects.chat_completions import answers as chat
from tests.unit.dialects.responses import answers as responses

pytestmark = pytest.mark.requirement("2:stop-reason-twice")


@pytest.mark.parametrize(
    ("one", "other", "chosen"),
    [
        ("length", "stop", "length"),
        ("stop", "length", "length"),
        ("stop", "SAFETY", "SAFETY"),
        ("new", "stop", "new"),
        ("stop", "new", "new"),
        ("new", "length", "length"),
        ("tool_calls", "stop", "stop"),
        ("length", "", "length"),
        ("length", None, "length"),
        (None, 7, None),
    ],
)
def test_the_stop_reason_of_an_incomplete_answer_takes_precedence(one, other, chosen):
    assert choose_stop_reason(one, other) == chosen


def test_known_stop_reasons_are_in_lower_case():
    assert [word for word in STOP_REASONS if word != word.lower()] == []


@pytest.mark.parametrize("words", [("length", "stop"), ("stop", "length"), ("LENGTH", "length")])
def test_two_chunks_of_chat_completions_can_have_stop_reasons(words):
    chunks = [chat.chunk({"content": "x"}), *(chat.chunk({}, word) for word in words)]
    got = chat.answer(chat.stream(*chunks))
    assert (got.text, got.stop_reason, got.raw_stop_reason.lower()) == ("x", "max_tokens", "length")


@pytest.mark.parametrize("words", [("max_tokens", "end_turn"), ("end_turn", "max_tokens")])
def test_two_events_of_the_messages_dialect_can_have_stop_reasons(words):
    first, second = words
    events = message_stream(Words(["x"]), stop_reason=second)
    got = messages.answer(messages.raw(*events[:-2], *messages.end_events(first, stop=False), *events[-2:]))
    assert (got.text, got.stop_reason, got.raw_stop_reason) == ("x", "max_tokens", "max_tokens")


@pytest.mark.parametrize(
    ("event", "status", "details", "reason"),
    [
        ("incomplete", "completed", None, "end_turn"),
        ("completed", "INCOMPLETE", {"reason": "length"}, "max_tokens"),
        ("completed", "completed", {"reason": "max_output_tokens"}, "max_tokens"),
        ("completed", "completed", {"reason": None}, "end_turn"),
    ],
)
def test_the_last_event_of_the_responses_dialect_can_have_two_stop_reasons(event, status, details, reason):
    end = responses.end_event(kind=event, status=status, incomplete_details=details)
    got = responses.answer(responses.CREATED, responses.added_event(0, "message"), responses.text("x"), end)
    assert (got.text, got.stop_reason) == ("x", reason)


def test_a_body_of_the_responses_dialect_can_have_two_stop_reasons():
    body = {"status": "Incomplete", "output": [], "incomplete_details": {"reason": "MAX_OUTPUT_TOKENS"}}
    assert responses.decode_body(body).stop_reason == "max_tokens"
