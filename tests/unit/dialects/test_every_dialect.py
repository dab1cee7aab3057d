"""Unusual answers and requests, in every dialect."""

import pytest

from jumpseat.chat import ChatRequest, Message, TextBlock, ToolDefinition
from jumpseat.chat.json_form import to_json_form
from jumpseat.testing.checks.replay import assert_valid_in_next_chat
from jumpseat.testing.recordings import strings_in
from tests.unit.dialects.every_dialect import Answer, in_every_dialect, streamed_and_whole

NAMELESS = ("c-1", "", ("",))


def codes_of(events):
    return [event.code for event in events if event.type == "warning"]


@pytest.mark.requirement("2:nameless-call")
@in_every_dialect
@streamed_and_whole
def test_a_call_without_a_name_is_dropped_and_the_text_is_kept(dialect, streamed):
    said = Answer(["Hel", "lo"], [NAMELESS])
    assert codes_of(dialect.events(said, streamed=streamed)) == ["nameless_call_dropped"]
    got = dialect.read(said, streamed=streamed)
    assert (got.text, got.tool_calls, got.stop_reason) == ("Hello", [], "end_turn")


@pytest.mark.requirement("2:nameless-call")
@in_every_dialect
@streamed_and_whole
def test_a_call_next_to_one_without_a_name_is_kept(dialect, streamed):
    got = dialect.read(Answer(calls=[NAMELESS, ("c-2", "f", ("{}",))]), streamed=streamed)
    assert [(call.id, call.name) for call in got.tool_calls] == [("c-2", "f")]
    assert got.stop_reason == "tool_use"


@pytest.mark.requirement("1:no-nul")
@in_every_dialect
@streamed_and_whole
def test_nul_is_replaced_in_answers(dialect, streamed):
    said = Answer(["a\0b", "\0", "c"], [("c-1", "f", ('{"a": "\\u0', '000", "b\\u0000": ["\\\\u0000"]}'))])
    assert "\0" not in "".join(strings_in(to_json_form(dialect.events(said, streamed=streamed))))
    got = dialect.read(said, streamed=streamed)
    assert got.text == "a\ufffdb\ufffdc"
    assert [call.arguments for call in got.tool_calls] == [{"a": "\ufffd", "b\ufffd": ["\\u0000"]}]


WORDS = {
    "MAX_TOKENS": "max_tokens",
    "Length": "max_tokens",
    "CONTENT_FILTER": "content_filter",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "LANGUAGE": "content_filter",
    "MALFORMED_FUNCTION_CALL": "content_filter",
    "OTHER": "content_filter",
    "Refusal": "refusal",
}


@pytest.mark.requirement("2:stop-reasons")
@in_every_dialect
@streamed_and_whole
@pytest.mark.parametrize("word", WORDS)
def test_a_stop_reason_is_recognised_in_any_case_and_kept_unchanged(dialect, streamed, word):
    said = Answer(["Hello"], [("c-1", "f", ("{}",))], stop=word)
    assert codes_of(dialect.events(said, streamed=streamed)) == []
    got = dialect.read(said, streamed=streamed)
    assert (got.stop_reason, got.raw_stop_reason) == (WORDS[word], word)


@pytest.mark.requirement("2:stop-reason-unknown")
@in_every_dialect
@streamed_and_whole
def test_an_unknown_stop_reason_has_a_warning(dialect, streamed):
    said = Answer(["Hello"], stop="Something_New")
    (warning,) = [event for event in dialect.events(said, streamed=streamed) if event.type == "warning"]
    assert warning.code == "unknown_stop_reason"
    assert "Something_New" in warning.message
    got = dialect.read(said, streamed=streamed)
    assert (got.stop_reason, got.raw_stop_reason) == ("end_turn", "Something_New")


LARGE = ["1e400", "-1E+999", '[1, {"b": 9e999}]']


@pytest.mark.requirement("2:broken-arguments")
@in_every_dialect
@streamed_and_whole
@pytest.mark.parametrize("number", LARGE)
def test_a_number_beyond_the_range_of_a_double_is_an_error_of_its_call(dialect, streamed, number):
    said = Answer(["Hello"], [("c-1", "f", (f'{{"a": {number}}}',)), ("c-2", "f", ('{"a": 1e300}',))])
    got = dialect.read(said, streamed=streamed)
    first, second = got.tool_calls
    assert first.arguments is None
    assert first.error.startswith("The arguments of the call ")
    assert (second.arguments, second.error) == ({"a": 1e300}, None)
    assert_valid_in_next_chat(dialect.events(said, streamed=streamed))


@pytest.mark.requirement("2:taken-back")
@in_every_dialect
@streamed_and_whole
@pytest.mark.parametrize(
    "said",
    [
        Answer(["Hello"], [NAMELESS]),
        Answer(calls=[("c-1", "f", ("",))]),
        Answer(["Hello"], [("c-1", "f", ('{"a"', ":1}"))], ["Hm"]),
        Answer(),
    ],
    ids=["nameless call", "call without arguments", "thinking, text and a call", "nothing"],
)
def test_a_decoded_answer_is_accepted_in_a_request(dialect, said, streamed):
    assert_valid_in_next_chat(dialect.events(said, streamed=streamed))


SEARCH = {"type": "web_search"}


def tools_of(dialect, **fields):
    request = ChatRequest(messages=(Message.user("Hi"),), model="m", **fields)
    return dialect.encode(request, parameters={"tools": [SEARCH]}).get("tools")


@pytest.mark.requirement("7:parameters-joined")
@in_every_dialect
def test_the_tools_of_a_providers_table_are_added_to_those_of_a_chat(dialect):
    assert tools_of(dialect) == [SEARCH]
    own, added = tools_of(dialect, tools=(ToolDefinition("f"),))
    assert "f" in str(own)
    assert added == SEARCH
    code = {"type": "code_interpreter"}
    assert tools_of(dialect, settings={"tools": [SEARCH, code]}) == [SEARCH, code]


@pytest.mark.requirement("7:parameters-joined")
@in_every_dialect
def test_a_chat_can_exclude_the_tools_of_the_providers_table(dialect):
    request = ChatRequest(messages=(Message.user("Hi"),), model="m", tool_choice="none")
    body = dialect.encode(request, parameters={"tools": [SEARCH]})
    assert "tools" not in body or body["tool_choice"] in ("none", {"type": "none"})


@pytest.mark.requirement("2:text-parts")
@in_every_dialect
def test_texts_of_one_message_stay_apart_where_the_dialect_has_parts(dialect):
    message = Message("user", (TextBlock("One."), TextBlock(""), TextBlock("Two.")))
    body = dialect.encode(ChatRequest(messages=(message,), model="m"))
    texts = [each for each in strings_in(body) if "One." in each or "Two." in each]
    assert texts == (["One.\n\nTwo."] if dialect.name == "ollama_chat" else ["One.", "Two."])
