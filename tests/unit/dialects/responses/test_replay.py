"""Replay of a model's answer in the next request."""

import pytest

from jumpseat.chat import (
    ChatRequest,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects.responses import ResponsesFacts, encode, without_encrypted_content, without_unfollowed
from tests.unit.dialects.responses.answers import (
    CREATED,
    added_event,
    answer,
    decode_body,
    delta,
    done_event,
    end_event,
    text_parts,
)

ASKED = Origin("acme", "asked")
SUMMARY = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
REASONING = {"type": "reasoning", "id": "rs", "summary": SUMMARY, "encrypted_content": "gAAA+/=="}
CALL = {"type": "function_call", "call_id": "c-1", "name": "f", "arguments": '{ "a":1}'}


def request_of(*messages, model="asked"):
    return ChatRequest(messages=messages, model=model)


def encode_input(*messages, provider="acme", model="asked"):
    return encode(request_of(*messages, model=model), ResponsesFacts(provider=provider))["input"]


def send_back(*output, **where):
    """Return the items of the next request after an answer with these items."""
    return encode_input(decode_body(end_event(*output)["response"]).as_message(), **where)


def message_item(*texts, **more):
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "status": "completed", **more, "content": content}


@pytest.mark.requirement("responses:reasoning-items", "responses:calls")
def test_reasoning_is_replayed_unchanged_before_its_call():
    assert send_back(REASONING, {**CALL, "id": "fc", "status": "completed"}) == [REASONING, CALL]


@pytest.mark.requirement("responses:reasoning-items", "responses:summary-required")
@pytest.mark.parametrize("summary", [[], SUMMARY[:1], SUMMARY])
@pytest.mark.parametrize("content", [None, [{"type": "reasoning_text", "text": "Hm"}]])
def test_the_summary_is_replayed_unchanged_and_plain_reasoning_is_left_out(summary, content):
    item = {**REASONING, "summary": summary}
    assert send_back({**item, "content": content}, CALL) == [item, CALL]


@pytest.mark.requirement("responses:output-index", "responses:reasoning-items")
def test_an_id_that_changes_between_events_is_not_sent_back():
    response = answer(
        CREATED,
        added_event(0, "reasoning", "a", encrypted_content="par"),
        done_event(0, "reasoning", "b", encrypted_content="whole", summary=[]),
        done_event(1, "message", "m", content=text_parts("Hi")),
        end_event(),
    )
    assert encode_input(response.as_message())[0] == {
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "whole",
    }


@pytest.mark.requirement("responses:empty-encrypted", "responses:unfollowed-reasoning")
@pytest.mark.parametrize("encrypted", ["", None])
def test_reasoning_without_encrypted_content_is_not_sent_back(encrypted):
    assert send_back({**REASONING, "encrypted_content": encrypted}, CALL) == [CALL]


@pytest.mark.requirement("responses:unfollowed-reasoning", "responses:reasoning-items")
@pytest.mark.parametrize(
    "first", [[message_item("OK", id="m")], [{**CALL, "id": "fc"}]], ids=["message", "call"]
)
def test_reasoning_that_comes_last_in_an_answer_goes_back_in_its_place(first):
    output = [*first, {**REASONING, "format": "google-gemini-v1", "status": "completed"}]
    expected = [
        *({name: value for name, value in item.items() if name != "id"} for item in first),
        {**REASONING, "format": "google-gemini-v1"},
    ]
    assert send_back(*output) == expected
    streamed = answer(
        CREATED,
        *(done_event(number, item["type"], **item) for number, item in enumerate(output)),
        end_event(),
    )
    assert encode_input(streamed.as_message()) == expected


@pytest.mark.requirement("responses:reasoning-items")
def test_signed_plain_reasoning_is_replayed_with_its_text_and_signature():
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}, {"type": "reasoning_text", "text": "So."}],
        "signature": "EqQB+/==",
        "format": "anthropic-claude-v1",
    }
    response = decode_body(end_event(item, CALL)["response"])
    assert response.content[0].signature == "EqQB+/=="
    assert encode_input(response.as_message()) == [item, CALL]
    assert encode_input(response.as_message(), model="other") == [CALL]


@pytest.mark.requirement("responses:unfollowed-reasoning")
def test_reasoning_at_the_end_of_an_answer_can_be_removed():
    user, output = {"role": "user", "content": "Hi"}, {"type": "function_call_output", "call_id": "c-1"}
    message = message_item("OK")
    assert without_unfollowed([user, REASONING, message, REASONING, REASONING, user, REASONING]) == [
        user,
        REASONING,
        message,
        user,
    ]
    assert without_unfollowed([REASONING, CALL, REASONING, output]) == [REASONING, CALL, output]


@pytest.mark.requirement("responses:phase")
def test_a_message_is_replayed_with_its_phase_and_all_its_parts():
    items = send_back(
        {"type": "message", "id": "m-1", "phase": "commentary", "content": text_parts("Let me", " see.")},
        {"type": "message", "id": "m-2", "phase": "final_answer", "content": text_parts("Done.")},
    )
    assert items == [
        message_item("Let me", " see.", phase="commentary"),
        message_item("Done.", phase="final_answer"),
    ]


@pytest.mark.requirement("responses:refusal")
def test_a_refusal_goes_back_as_a_refusal():
    refusal = {"type": "refusal", "refusal": "No."}
    (item,) = send_back({"type": "message", "id": "m", "content": [refusal]})
    assert item["content"] == [refusal]


@pytest.mark.requirement("responses:calls")
def test_unknown_members_of_a_call_are_replayed():
    caller = {"type": "program", "caller_id": "c-9"}
    assert send_back({**CALL, "id": "fc", "caller": caller}) == [{**CALL, "caller": caller}]


@pytest.mark.requirement("responses:custom-calls")
def test_a_custom_tools_call_has_free_text_and_its_own_type_of_result():
    item = {"type": "custom_tool_call", "call_id": "c-1", "name": "sql", "input": "SELECT 1"}
    streamed = answer(
        CREATED,
        added_event(0, "custom_tool_call", "ct", call_id="c-1", name="sql", input=""),
        delta("custom_tool_call_input", "SELECT", 0, "ct"),
        done_event(0, "custom_tool_call", "ct", call_id="c-1", name="sql", input="SELECT 1"),
        end_event(),
    )
    (call,) = streamed.tool_calls
    assert (call.raw, call.arguments, streamed.stop_reason) == ("SELECT 1", None, "tool_use")
    result = Message("user", (ToolResultBlock("c-1", "1"),))
    assert encode_input(streamed.as_message(), result) == [
        item,
        {"type": "custom_tool_call_output", "call_id": "c-1", "output": "1"},
    ]


@pytest.mark.requirement("responses:other-items")
def test_items_of_unknown_type_go_back_unchanged():
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "é"}}
    compaction = {"type": "compaction", "id": "cm", "encrypted_content": "gAAA"}
    assert send_back(search, compaction, {"type": "brand_new", "x": [1.5, None]}) == [
        search,
        compaction,
        {"type": "brand_new", "x": [1.5, None]},
    ]


@pytest.mark.requirement("responses:generated-images")
def test_a_generated_image_is_a_block_and_goes_back_with_its_item():
    kept = {"id": "ig", "status": "completed", "output_format": "jpeg", "revised_prompt": "A cat"}
    item = {"type": "image_generation_call", **kept, "result": "/9j/4AAQ"}
    (image,) = decode_body(end_event(item)["response"]).content
    assert (image.type, image.source, image.media_type) == ("image", "/9j/4AAQ", "image/jpeg")
    assert "/9j/4AAQ" not in image.opaque
    assert send_back(item) == [item]
    unfinished = {"type": "image_generation_call", "id": "ig", "status": "failed", "result": None}
    assert decode_body(end_event(unfinished)["response"]).content[0].type == "other"


@pytest.mark.requirement("responses:foreign-blocks")
@pytest.mark.parametrize("where", [{"provider": "other"}, {"model": "other"}])
def test_opaque_data_is_sent_to_its_origin_only(where):
    message = {"type": "message", "id": "m", "phase": "commentary", "content": text_parts("Hi")}
    compaction = {"type": "compaction", "encrypted_content": "gAAA"}
    items = send_back(REASONING, compaction, message, {**CALL, "caller": {}}, **where)
    assert items == [message_item("Hi"), CALL]


def test_blocks_of_other_dialects_are_left_out():
    foreign = (
        RedactedThinkingBlock("x", origin=ASKED),
        OtherBlock("k", opaque="no json", origin=ASKED),
        OtherBlock("k"),
        ThinkingBlock("Hm", origin=ASKED, opaque='{"field":"reasoning_content"}'),
        TextBlock(""),
    )
    assert encode_input(Message("assistant", (*foreign, TextBlock("Hi", opaque="[1]", origin=ASKED)))) == [
        message_item("Hi")
    ]


@pytest.mark.requirement("responses:foreign-encrypted")
def test_encrypted_blocks_and_those_that_depend_on_them_can_be_removed():
    output = (REASONING, {"type": "compaction", "encrypted_content": "x"}, {"type": "web_search_call"}, CALL)
    request = request_of(Message.user("Hi"), decode_body(end_event(*output)["response"]).as_message())
    changed = without_encrypted_content(request)
    assert [type(block) for block in changed.messages[1].content] == [ToolUseBlock]
    assert without_encrypted_content(changed) is None
