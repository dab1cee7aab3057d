"""The emulator's chat completions refuse what the service refuses."""

import pytest

from tests.unit.emulator.visitor import WEATHER, chunks

PATH = "/chat/completions"
PIXEL = "data:image/png;base64,iVBORw0KGgo="
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "time"}},
]


def make_body(text, model="gpt-4.1", **more):
    return {"model": model, "stream": True, "messages": [{"role": "user", "content": text}], **more}


def deltas(answer):
    return [each["choices"][0]["delta"] for each in chunks(answer)[:-1] if each["choices"]]


def read_text(answer):
    return "".join(delta.get("content") or "" for delta in deltas(answer))


async def test_gemini_requires_its_opaque_data_back(user):
    question = make_body("use the tools weather and time", "gemini-3.1-pro-preview", tools=TOOLS)
    answer = deltas(await user.post(PATH, question))
    calls = [call for delta in answer for call in delta.get("tool_calls", ())]
    assert [call["index"] for call in calls] == [0, 1]
    (opaque,) = [delta["reasoning_opaque"] for delta in answer if "reasoning_opaque" in delta]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": call["id"]} for call in calls]

    async def follow(**reasoning):
        spoken = {"role": "assistant", "content": None, "tool_calls": calls, **reasoning}
        return await user.post(PATH, {**question, "messages": [*question["messages"], spoken, *results]})

    assert (await follow()).status_code == 400
    assert (await follow(reasoning_opaque="AAAA")).status_code == 400
    answered = await follow(reasoning_opaque=opaque)
    assert answered.status_code == 200
    assert read_text(answered).startswith("The tool weather answered: call_")


async def test_images_need_their_header_and_a_vision_model(user):
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    body = make_body([{"type": "text", "text": "What?"}, picture])
    refused = await user.post(PATH, body)
    message = "missing required Copilot-Vision-Request header for vision requests"
    assert refused.json() == {"error": {"message": message, "code": ""}}
    seen = await user.post(PATH, body, Copilot_Vision_Request="true")
    assert read_text(seen) == "You said: What? I see 1 image."
    blind = {**body, "model": "gpt-4o-mini"}
    assert (await user.post(PATH, blind, Copilot_Vision_Request="true")).status_code == 400


CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "narrator", "content": "Hi"}],
        [{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "call_1", "content": "x"}],
        [{"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "user", "content": "Hi"}],
        [{"role": "user", "content": [{"type": "file", "file": {}}]}],
        [{"role": "user"}, "not a message"],
    ],
)
async def test_an_invalid_conversation_is_refused(user, messages):
    answer = await user.post(PATH, {**make_body("Hi"), "messages": messages})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request_body"
