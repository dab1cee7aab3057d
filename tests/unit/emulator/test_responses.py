"""The emulator's Responses API: ids that rotate, and encrypted content that must come back unchanged."""

import pytest

from tests.unit.emulator.visitor import WEATHER, chunks

PATH = "/responses"
TOOL = {"type": "function", "name": "weather", "parameters": WEATHER}
THINKING = {
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}


def make_body(given, **more):
    return {"model": "gpt-5.3-codex", "stream": True, "store": False, "input": given, **more}


def done_items(answer):
    return [each["item"] for each in chunks(answer) if each["type"] == "response.output_item.done"]


def read_text(answer):
    return "".join(each["delta"] for each in chunks(answer) if each["type"] == "response.output_text.delta")


@pytest.mark.parametrize("path", ["/responses", "/v1/responses"])
async def test_all_ids_in_the_events_differ_but_the_call_id_of_an_item_stays(user, path):
    body = make_body("use the tool weather", tools=[TOOL], **THINKING)
    events = chunks(await user.post(path, body))
    ids = [each["item_id"] for each in events if "item_id" in each]
    ids += [each["item"]["id"] for each in events if "item" in each]
    ids += [each["response"]["id"] for each in events if "response" in each]
    assert len(ids) == len(set(ids)) > 20
    assert min(map(len, ids)) >= 390  # The service's ids have about this length.
    assert [each["sequence_number"] for each in events] == list(range(len(events)))
    items = [each["item"] for each in events if each["type"].startswith("response.output_item")]
    assert [item["type"] for item in items[::2]] == ["reasoning", "message", "function_call"]
    assert items[4]["call_id"] == items[5]["call_id"]
    assert (items[4]["arguments"], items[5]["arguments"]) == ("", '{"city": "example"}')


async def test_reasoning_is_refused_unless_its_encrypted_content_and_its_id_match(user, emulator):
    question = {"role": "user", "content": [{"type": "input_text", "text": "use the tool weather"}]}
    first = await user.post(PATH, make_body([question], tools=[TOOL], **THINKING))
    reasoning, message, call = done_items(first)
    assert len(reasoning["summary"]) == 2
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}

    async def follow(**changed):
        history = [question, {**reasoning, **changed}, message, call, result]
        return await user.post(PATH, make_body(history, tools=[TOOL]))

    assert read_text(await follow()) == "The tool weather answered: rain"
    other = done_items(await user.post(PATH, make_body("Hi", **THINKING)))[0]
    for changed in (
        {"encrypted_content": "gAAAAA"},
        {"encrypted_content": None},
        {"encrypted_content": other["encrypted_content"]},
        {"id": other["id"]},
    ):
        refused = await follow(**changed)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "invalid_encrypted_content"
    assert (await follow(id=None)).status_code == 200


async def test_encrypted_content_is_sent_on_request_only(user):
    reasoning = done_items(await user.post(PATH, make_body("Hi", reasoning={"effort": "low"})))[0]
    assert (reasoning["encrypted_content"], reasoning["summary"]) == (None, [])
    assert done_items(await user.post(PATH, make_body("Hi")))[0]["type"] == "message"


CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"temperature": 0.5}, "unsupported_parameter"),
        ({"previous_response_id": "resp_1"}, "previous_response_not_found"),
        ({"service_tier": "auto"}, "invalid_request_body"),
        ({"input": []}, "invalid_request_body"),
        ({"input": [CALL]}, "invalid_request_body"),
        ({"input": [{**CALL, "type": "function_call_output", "output": "x"}]}, "invalid_request_body"),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "invalid_request_body"),
    ],
)
async def test_unsupported_parameters_and_invalid_input_are_refused(user, more, code):
    answer = await user.post(PATH, make_body("Hi", **more))
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
