"""Streams with lost, repeated or swapped events, for which the decoder still follows the event rules."""

import json

import pytest

from jumpseat.chat import ChatRequest, Message, ProtocolError
from jumpseat.dialects.responses import ResponsesFacts, encode
from jumpseat.testing import assert_laws
from jumpseat.testing.answers.responses import function_call, message, reasoning, response_stream
from tests.unit.dialects.responses.answers import fold_of, read, stream

ITEMS = (
    reasoning("First.", "Second.", encrypted="gAAA"),
    message("Hel", "lo", phase="commentary"),
    function_call("call_1", "f", '{"a"', ": 1}"),
    function_call("call_2", "g", "{}", item_id="fc_2"),
    message("Bye", item_id="msg_2"),
)
EVENTS = [event for _, event in response_stream(*ITEMS)]


def drop_one(position):
    return [*EVENTS[:position], *EVENTS[position + 1 :]]


def repeat_one(position):
    return [*EVENTS[: position + 1], *EVENTS[position:]]


def swap_two(position):
    return [*EVENTS[:position], *reversed(EVENTS[position : position + 2]), *EVENTS[position + 2 :]]


def empty_one(position):
    return [*EVENTS[:position], {"type": EVENTS[position]["type"]}, *EVENTS[position + 1 :]]


@pytest.mark.parametrize("change", [drop_one, repeat_one, swap_two, empty_one])
def test_one_lost_repeated_swapped_or_empty_event_does_not_lose_an_item(change):
    for position in range(len(EVENTS)):
        events, error = read([stream(*change(position))])
        assert_laws(events, ended=error is None)
        fold = fold_of(events)
        if error is None:
            response = fold.response()
            assert [call.id for call in response.tool_calls] == ["call_1", "call_2"], position
            assert response.content[0].signature == "gAAA"
        else:
            assert type(error) is ProtocolError
            assert position == len(EVENTS) - 1, "an answer is incomplete only without its last event"
        request = ChatRequest(messages=(Message.user("Hi"), fold.partial().as_message()), model="asked")
        json.dumps(encode(request, ResponsesFacts(provider="acme")))
