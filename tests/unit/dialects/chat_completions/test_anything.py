"""Arbitrary JSON in the dialect's fields: the decoder follows the event rules, or raises a `ChatError`."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpseat.chat import DoneEvent
from jumpseat.testing import assert_laws
from tests.unit.dialects.chat_completions.answers import read

pytestmark = pytest.mark.slow

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.sampled_from(["", "x", "null", "{}", '{"a":', "<think>", "</think>", "c-1"]),
    st.lists(st.sampled_from([None, 1, "x", {}, {"type": "text", "text": "y"}]), max_size=2),
    st.dictionaries(
        st.sampled_from(["text", "url", "index", "id"]), st.sampled_from([None, 1, "x"]), max_size=2
    ),
)


def some(**fields):
    """Generate an object with any of these fields, each with a valid or an odd value."""
    return st.fixed_dictionaries({}, optional={name: st.one_of(value, ODD) for name, value in fields.items()})


CALLS = st.lists(
    some(
        index=st.integers(0, 2),
        id=st.sampled_from(["", "c-1", "c-2"]),
        function=some(name=st.sampled_from(["", "f"]), arguments=st.sampled_from(["", "{}", '{"a', '":1}'])),
        extra_content=ODD,
    ),
    max_size=3,
)
MESSAGES = some(
    content=st.text(max_size=3),
    refusal=st.text(max_size=3),
    reasoning=st.text(max_size=3),
    reasoning_content=ODD,
    reasoning_details=st.lists(some(type=st.just("reasoning.text"), text=ODD, index=ODD), max_size=2),
    reasoning_opaque=ODD,
    tool_calls=CALLS,
    function_call=some(name=ODD, arguments=ODD),
    annotations=ODD,
)
CHOICES = st.lists(
    some(
        index=st.integers(0, 1),
        delta=MESSAGES,
        message=MESSAGES,
        finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
        usage=ODD,
    ),
    max_size=2,
)
CHUNKS = some(
    id=st.just("r-1"),
    model=st.just("m-1"),
    choices=CHOICES,
    usage=some(
        prompt_tokens=ODD, completion_tokens=ODD, prompt_tokens_details=ODD, total_tokens=ODD, cost=ODD
    ),
    x_groq=some(usage=ODD),
    citations=ODD,
    search_results=ODD,
)


def assert_event_rules(data, content_type):
    events, error = read([data], content_type)
    assert_laws(events, ended=error is None)
    assert (error is None) == any(isinstance(event, DoneEvent) for event in events)


@settings(max_examples=300, deadline=None)
@given(chunks=st.lists(CHUNKS, max_size=4), done=st.booleans())
def test_any_stream_follows_the_event_rules_or_ends_in_an_error(chunks, done):
    lines = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * done
    assert_event_rules("".join(f"data: {line}\n\n" for line in lines).encode(), "text/event-stream")


@settings(max_examples=200, deadline=None)
@given(body=st.one_of(CHUNKS, ODD))
def test_any_body_follows_the_event_rules_or_is_an_error(body):
    assert_event_rules(json.dumps(body).encode(), "application/json")
