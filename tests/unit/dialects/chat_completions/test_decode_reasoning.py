"""Reasoning in all forms that servers of this dialect send, and its opaque data."""

import json

import pytest

from jumpseat.chat import TextDeltaEvent
from tests.unit.dialects.chat_completions.answers import answer, body, call, calls, chunk, read, stream


@pytest.mark.requirement("chat:reasoning-fields")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_in_any_field_comes_before_the_text(field):
    got = answer(
        stream(chunk({field: "Let me "}), chunk({field: "see."}), chunk({"content": "42"}), chunk({}, "stop"))
    )
    assert [(b.type, getattr(b, b.type)) for b in got.content] == [
        ("thinking", "Let me see."),
        ("text", "42"),
    ]
    assert json.loads(got.content[0].opaque) == {"field": field}


@pytest.mark.requirement("chat:reasoning-twice")
def test_reasoning_sent_in_two_fields_is_used_once():
    got = answer(
        stream(chunk({"reasoning": "Hm", "reasoning_content": "Hm"}), chunk({"content": "x"}, "stop"))
    )
    assert got.content[0].thinking == "Hm"


@pytest.mark.requirement("chat:reasoning-details")
def test_reasoning_details_are_merged_and_travel_with_the_block():
    def details(**item):
        return {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1", **item}

    got = answer(
        stream(
            chunk({"reasoning": "a", "reasoning_details": [details(text="a", signature=None)]}),
            chunk({"reasoning": "b", "reasoning_details": [details(text="b")]}),
            chunk({"reasoning_details": [details(signature="sig")]}),
            chunk({"content": "x"}),
            chunk(
                {
                    "content": "",
                    "reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "zz"}],
                },
                "stop",
            ),
        )
    )
    assert [b.type for b in got.content] == ["thinking", "text", "thinking"]
    first, last = json.loads(got.content[0].opaque), json.loads(got.content[2].opaque)
    assert first["reasoning_details"] == [details(text="ab", signature="sig")]
    assert last["reasoning_details"][0]["data"] == "zz"
    assert (got.content[0].thinking, got.content[2].thinking) == ("ab", "")


@pytest.mark.requirement("chat:reasoning-opaque")
def test_encrypted_reasoning_of_copilot_travels_with_the_block():
    got = answer(
        stream(
            chunk({"reasoning_text": "a"}), chunk({"reasoning_opaque": "zz"}), chunk({"content": "x"}, "stop")
        )
    )
    assert json.loads(got.content[0].opaque) == {"field": "reasoning_text", "reasoning_opaque": "zz"}


@pytest.mark.requirement("chat:thought-signature")
def test_a_thought_signature_travels_with_its_call():
    extra = {"google": {"thought_signature": "sig"}}
    got = answer(stream(calls(call(0, "c-1", "f", "{}", extra_content=extra)), chunk({}, "stop")))
    assert json.loads(got.tool_calls[0].opaque) == {"extra_content": extra}


@pytest.mark.requirement("chat:content-in-parts", "chat:thinking-parts")
def test_content_in_parts_is_flattened():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "x"},
    ]
    for data, kind in (
        (stream(chunk({"content": parts}, "stop")), "text/event-stream"),
        (body({"content": parts}), "application/json"),
    ):
        got = answer(data, kind)
        assert [(b.type, getattr(b, b.type)) for b in got.content] == [("thinking", "Hm"), ("text", "x")]


TAGS = {
    "<think>a</think>b": [("thinking", "a"), ("text", "b")],
    "\n<think>\na<b\n</think>\n\nb": [("thinking", "\na<b\n"), ("text", "b")],
    "<think></think>b": [("text", "b")],
    "<think>a": [("thinking", "a")],
    "<think>a</thin": [("thinking", "a</thin")],
    "<thi": [("text", "<thi")],
    "<thing>": [("text", "<thing>")],
    "b <think>a</think>": [("text", "b <think>a</think>")],
    "  b": [("text", "  b")],
}


@pytest.mark.requirement("chat:think-tags")
@pytest.mark.parametrize("content", TAGS)
def test_think_tags_are_recognised_only_at_the_start(content):
    for pieces in ([content], list(content), *([content[:i], content[i:]] for i in range(1, len(content)))):
        got = answer(stream(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop")))
        assert [(b.type, getattr(b, b.type)) for b in got.content] == TAGS[content], pieces


UNOPENED = {
    "a\nb\n</think>\n\nc": [("thinking", "a\nb\n"), ("text", "c")],
    "a</think>\nc": [("thinking", "a"), ("text", "c")],
    "a\n</think>c": [("thinking", "a\n"), ("text", "c")],
    "a\n</think>": [("thinking", "a\n")],
    "a\n</think>\n\n": [("thinking", "a\n")],
    "</think>\n\nc": [("text", "c")],
    "a\n</thin": [("text", "a\n</thin")],
    "no tag at all": [("text", "no tag at all")],
    "write `</think>`\n to end": [("text", "write `</think>`\n to end")],
    "write </think> to end": [("text", "write </think> to end")],
    "```\n</think>\n```": [("text", "```\n</think>\n```")],
    "<think>a</think>c": [("thinking", "a"), ("text", "c")],
    "Reasoning is put so:\n<think>\na\n</think>\n\nThen b.": [
        ("text", "Reasoning is put so:\n<think>\na\n</think>\n\nThen b.")
    ],
    "A tag\n<think>\nopens,\n</think>\ncloses.": [("text", "A tag\n<think>\nopens,\n</think>\ncloses.")],
}


@pytest.mark.requirement("chat:think-tag-unopened")
@pytest.mark.parametrize("content", UNOPENED)
def test_a_closing_tag_ends_reasoning_that_the_template_opened(content):
    def parts_of(got):
        return [(b.type, getattr(b, b.type)) for b in got.content]

    assert parts_of(answer(body({"content": content}), "application/json")) == UNOPENED[content]
    for pieces in ([content], list(content)):
        data = stream(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"))
        assert parts_of(answer(data, model="deepseek-r1:7b")) == UNOPENED[content], pieces
        # Such tags are also expected if the answering model has the name of a reasoning model.
        named = data.replace(b'"m-1"', b'"Qwen/QwQ-32B"')
        assert parts_of(answer(named)) == UNOPENED[content], pieces


@pytest.mark.requirement("chat:think-tag-unopened")
def test_text_is_not_held_back_if_think_tags_are_not_expected():
    for model, before in (("asked", []), ("deepseek-r1", [chunk({"reasoning_content": "Hm"})])):
        events, _ = read([stream(*before, chunk({"content": "a"}), done=False)], model=model)
        assert [event.text for event in events if isinstance(event, TextDeltaEvent)] == ["a"]


def test_held_back_text_is_bounded(monkeypatch):
    monkeypatch.setattr("jumpseat.dialects.chat_completions.think_tags.MAX_HELD", 10)
    data = stream(chunk({"content": "x" * 11}), chunk({"content": "\n</think>\n"}), chunk({}, "stop"))
    assert answer(data, model="qwq").text == "x" * 11 + "\n</think>\n"
