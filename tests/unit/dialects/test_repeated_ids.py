"""Calls of one answer that share an id receive unique ids; requests contain the provider's ids."""

from dataclasses import replace

import pytest

from jumpseat.chat import ChatRequest, Message, Origin, ToolResultBlock
from jumpseat.dialects import BlockAssembler
from jumpseat.dialects.opaque import read_opaque
from jumpseat.engine.conversation import Conversation
from jumpseat.engine.memory import BlockMemory
from jumpseat.testing.recordings import strings_in, through_the_wire, values_in
from tests.unit.dialects.chat_completions.answers import answer, body, call, calls, stream
from tests.unit.dialects.every_dialect import Answer, in_every_dialect, streamed_and_whole
from tests.unit.dialects.responses import answers as responses

pytestmark = pytest.mark.requirement("2:call-ids-unique")

TWICE = Answer(calls=[("c-0", "f", ('{"a"', ":1}")), ("c-0", "g", ('{"b":2}',)), ("c-1", "f", ("{}",))])
PROVIDER_IDS = ["c-0", "c-0", "c-1"]
HI = Message.user("Hi")


def results_of(response, *texts):
    ids = [each.id for each in response.tool_calls]
    return Message("user", tuple(map(ToolResultBlock, ids, texts)))


def pairs_in(request, response):
    """Return two lists of pairs from a request's body: id and name of each call, id and text of each result.

    In every dialect, a pair is in the innermost object that has an id and also either a name or a text.
    """
    ids = {*PROVIDER_IDS, *(each.id for each in response.tool_calls)}
    names, texts = [], []

    def collect(value):
        """Collect the pairs in a value, and return whether there are any."""
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        is_inside = [collect(each) for each in inner]
        if any(is_inside) or not isinstance(value, dict):
            return any(is_inside)
        strings = list(strings_in(value))
        found = [each for each in strings if each in ids]
        text = [each for each in strings if each in ("one", "two", "three")]
        name = [each for each in strings if each in ("f", "g")]
        if found and text:  # The object is a result, even if it also has the name of its call.
            texts.append((found[0], text[0]))
        elif found and name:
            names.append((found[0], name[0]))
        return bool(found and (text or name))

    collect(request)
    return names, texts


@in_every_dialect
@streamed_and_whole
def test_ids_are_unique_and_the_provider_gets_its_own_back(dialect, streamed):
    response = dialect.read(TWICE, streamed=streamed)
    ids = [each.id for each in response.tool_calls]
    assert len(set(ids)) == 3
    assert (ids[0], ids[2]) == ("c-0", "c-1")
    message = through_the_wire(response.as_message())
    conversation = Conversation([HI, message, results_of(response, "one", "two", "three")]).arrange([])
    names, texts = pairs_in(dialect.encode(ChatRequest(messages=conversation, model="asked")), response)
    assert names == [("c-0", "f"), ("c-0", "g"), ("c-1", "f")]
    assert texts == [("c-0", "one"), ("c-0", "two"), ("c-1", "three")]
    # A client may send the results in any order: they are matched by our ids.
    reversed_results = Message("user", results_of(response, "one", "two", "three").content[::-1])
    other = dialect.encode(
        ChatRequest(messages=Conversation([HI, message, reversed_results]).arrange([]), model="asked")
    )
    assert pairs_in(other, response) == (names, texts)


@in_every_dialect
def test_another_model_gets_the_unique_ids(dialect):
    response = dialect.read(TWICE, streamed=True)
    conversation = [HI, response.as_message(), results_of(response, "one", "two", "three")]
    names, texts = pairs_in(dialect.encode(ChatRequest(messages=conversation, model="another")), response)
    ids = [each.id for each in response.tool_calls]
    assert [each for each, _ in names] == [each for each, _ in texts] == ids


@in_every_dialect
def test_ids_survive_in_a_client_that_keeps_only_texts_and_calls(dialect):
    response = dialect.read(TWICE, streamed=True)
    memory = BlockMemory()
    memory.remember(response, [HI])
    bare = (replace(each, origin=None, opaque=None) for each in response.tool_calls)
    thin = Message("assistant", tuple(bare))
    sent = memory.restore([HI, thin, results_of(response, "one", "two", "three")], Origin("acme", "asked"))
    names, texts = pairs_in(
        dialect.encode(ChatRequest(messages=Conversation(sent).arrange([]), model="asked")), response
    )
    assert [each for each, _ in names] == [each for each, _ in texts] == PROVIDER_IDS


@in_every_dialect
@streamed_and_whole
def test_the_providers_id_is_kept_as_opaque_data_and_not_sent_to_another_model(dialect, streamed):
    response = dialect.read(TWICE, streamed=streamed)
    second = response.tool_calls[1]
    assert read_opaque(second.opaque)["call_id"] == "c-0"
    sent = dialect.encode(ChatRequest(messages=[HI, response.as_message()], model="another"))
    # Only the Messages dialect has objects of this type.
    plain = [each for each in values_in(sent) if isinstance(each, dict) and each.get("type") == "tool_use"]
    assert all(each.keys() == {"type", "id", "name", "input"} for each in plain)


def test_an_id_that_arrives_after_the_start_of_its_call_is_kept_for_the_provider():
    blocks = BlockAssembler("acme", "m")
    blocks.add_tool_call("a", name="f")
    blocks.add_text("x")
    blocks.add_tool_call("a", id="c-9", arguments="{}")
    blocks.close_all()
    done = blocks.take()[-1].content
    assert (done.id, read_opaque(done.opaque)) == ("call_1", {"call_id": "c-9"})


SAME = {
    "one index, one id": [calls(call(0, "c-0", "f", '{"a":1}')), calls(call(0, "c-0", "f", '{"a":2}'))],
    "one index, one id, in pieces": [
        calls(call(0, "c-0", "f", '{"a":')),
        calls(call(0, None, None, "1}")),
        calls(call(0, "c-0", "f", '{"a":')),
        calls(call(0, None, None, "2}")),
    ],
    "no index, one id": [calls(call(None, "c-0", "f", '{"a":1}')), calls(call(None, "c-0", "f", '{"a":2}'))],
    "no index, one id, in one delta": [
        calls(call(None, "c-0", "f", '{"a":1}'), call(None, "c-0", "f", '{"a":2}'))
    ],
    "one index, no id": [calls(call(0, None, "f", '{"a":1}')), calls(call(0, None, "f", '{"a":2}'))],
    "two indices, one id": [calls(call(0, "c-0", "f", '{"a":1}')), calls(call(1, "c-0", "f", '{"a":2}'))],
}


@pytest.mark.parametrize("name", SAME)
def test_calls_of_chat_completions_with_equal_ids_or_indices_are_distinguished(name):
    got = answer(stream(*SAME[name]))
    assert [(each.name, each.arguments) for each in got.tool_calls] == [("f", {"a": 1}), ("f", {"a": 2})]
    assert len({each.id for each in got.tool_calls}) == 2


def test_calls_without_arguments_are_distinguished_within_a_delta_and_by_their_names():
    got = answer(stream(calls(call(None, "c-0", "f", ""), call(None, "c-0", "f", ""))))
    assert [each.name for each in got.tool_calls] == ["f", "f"]
    got = answer(stream(calls(call(0, "c-0", "f", "")), calls(call(0, "c-0", "g", ""))))
    assert [each.name for each in got.tool_calls] == ["f", "g"]


def test_an_empty_object_before_the_arguments_does_not_begin_another_call():
    got = answer(stream(calls(call(0, "c-0", "f", "{}")), calls(call(0, "c-0", "f", '{"a":1}'))))
    # The arguments of the one call are `{}{"a":1}`, which is not JSON.
    assert [each.arguments for each in got.tool_calls] == [None]


@pytest.mark.parametrize("marks", [{"id": "c-0"}, {"id": "c-0", "index": 0}, {}])
def test_every_entry_of_a_whole_answer_is_a_call(marks):
    entries = [{**marks, "function": {"name": "f", "arguments": "{}"}}] * 2
    got = answer(body({"content": None, "tool_calls": entries}, "tool_calls"), "application/json")
    assert [each.arguments for each in got.tool_calls] == [{}, {}]
    assert len({each.id for each in got.tool_calls}) == 2


def test_items_of_the_responses_dialect_with_equal_ids_are_distinguished():
    def item(make, index, raw):
        return make(index, "function_call", "fc", call_id="c-0", name="f", arguments=raw)

    def piece(index, raw):
        return responses.delta("function_call_arguments", raw, index, "fc")

    begun = [[item(responses.added_event, index, ""), piece(index, f"[{index}]")] for index in range(2)]
    ended = [item(responses.done_event, index, f"[{index}]") for index in range(2)]
    for events in ([*begun[0], ended[0], *begun[1], ended[1]], [*begun[0], *begun[1], *ended], ended):
        got = responses.answer(responses.CREATED, *events, responses.end_event())
        assert [each.raw for each in got.tool_calls] == ["[0]", "[1]"]
        assert len({each.id for each in got.tool_calls}) == 2
