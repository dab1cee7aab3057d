"""The emulator's chat completions: three vendors, their quirks, and the refusals."""

import pytest

from tests.unit.emulator.visitor import WEATHER, chunks

PATH = "/chat/completions"
PIXEL = "data:image/png;base64,iVBORw0KGgo="
TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "time"}},
]


def asking(text, model="gpt-4.1", **more):
    return {"model": model, "stream": True, "messages": [{"role": "user", "content": text}], **more}


def deltas(answer):
    return [each["choices"][0]["delta"] for each in chunks(answer)[:-1] if each["choices"]]


def said(answer):
    return "".join(delta.get("content") or "" for delta in deltas(answer))


async def test_azure_begins_with_filter_results_and_has_null_roles(user):
    answer = await user.post(PATH, asking("Hello there"))
    first, second, *middle, last, end = chunks(answer)
    assert (first["choices"], first["id"], "prompt_filter_results" in first) == ([], "", True)
    assert second["choices"][0]["delta"] == {"content": "", "role": "assistant"}
    assert {each["choices"][0]["delta"]["role"] for each in middle} == {None}
    assert last["choices"][0]["delta"] == {"content": None, "role": None}
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["prompt_tokens"] == 2
    assert end == "[DONE]"
    assert said(answer) == "You said: Hello there"
    assert answer.headers["content-type"] == "text/event-stream"


async def test_usage_has_a_chunk_of_its_own_if_requested(user):
    answer = await user.post(PATH, asking("Hi", stream_options={"include_usage": True}))
    *_, finish, usage, end = chunks(answer)
    assert "usage" not in finish
    assert (usage["choices"], usage["usage"]["completion_tokens"], end) == ([], 3, "[DONE]")


async def test_claude_has_every_call_at_index_0_and_names_it_without_arguments(user):
    answer = await user.post(PATH, asking("use the tools weather and time", "claude-sonnet-4.6", tools=TOOLS))
    calls = [delta["tool_calls"][0] for delta in deltas(answer) if "tool_calls" in delta]
    assert {call["index"] for call in calls} == {0}
    named = [call for call in calls if "id" in call]
    assert [call["function"] for call in named] == [{"name": "weather"}, {"name": "time"}]
    assert all(call["id"].startswith("tooluse_") for call in named)
    after = calls[calls.index(named[0]) + 1 : calls.index(named[1])]
    assert after[0]["function"] == {"arguments": ""}
    assert "".join(call["function"]["arguments"] for call in after) == '{"city": "example"}'


async def test_claude_unstreamed_has_text_and_call_in_two_choices(user):
    body = asking('use the tool weather with {"city": "Rome"}', "claude-sonnet-4.6", tools=TOOLS)
    whole = (await user.post(PATH, {**body, "stream": False})).json()
    text, call = whole["choices"]
    assert whole["model"] == "Claude Sonnet 4.6"
    assert ("index" in text, "index" in call) == (False, False)
    assert text["message"] == {"content": "I will use weather.", "role": "assistant"}
    assert call["message"]["tool_calls"][0]["function"]["arguments"] == '{"city": "Rome"}'
    assert {choice["finish_reason"] for choice in whole["choices"]} == {"tool_calls"}


async def test_azure_unstreamed_has_neither_object_nor_created_and_escapes_html(user):
    answer = await user.post(PATH, {**asking("a < b"), "stream": False})
    whole = answer.json()
    assert whole.keys() & {"object", "created"} == set()
    assert "\\u003c" in answer.text
    assert whole["choices"][0]["message"]["content"] == "You said: a < b"
    assert whole["copilot_usage"]["total_nano_aiu"] == 0


async def test_gemini_has_zero_usage_before_the_last_chunk_and_opaque_data(user):
    answer = await user.post(PATH, asking("Hi", "gemini-2.5-pro"))
    *before, last, _ = chunks(answer)
    assert {each["usage"]["total_tokens"] for each in before} == {0}
    usage = last["usage"]
    assert usage["total_tokens"] == 1 + usage["completion_tokens"] + usage["reasoning_tokens"]
    assert {delta["role"] for delta in deltas(answer)} == {"assistant"}
    assert "reasoning_text" in deltas(answer)[0]
    assert "reasoning_opaque" in deltas(answer)[-1]
    assert last["choices"][0]["finish_reason"] == "stop"


async def test_gemini_requires_its_opaque_data_back(user):
    question = asking("use the tools weather and time", "gemini-3.1-pro-preview", tools=TOOLS)
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
    assert said(answered).startswith("The tool weather answered: call_")


async def test_thinking_is_sent_if_requested(user):
    plain = await user.post(PATH, asking("Hi", "claude-sonnet-4.6"))
    assert not any("reasoning_text" in delta for delta in deltas(plain))
    thought = deltas(await user.post(PATH, asking("Hi", "claude-sonnet-4.6", reasoning_effort="low")))
    assert "reasoning_text" in thought[0]
    assert (await user.post(PATH, asking("Hi", reasoning_effort="low"))).status_code == 400


async def test_an_o_series_model_sends_its_id_after_the_finish(user):
    answer = await user.post(PATH, asking("Hi", "o4-mini", reasoning_effort="low"))
    *_, finish, cot, end = chunks(answer)
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert cot["choices"][0]["delta"]["cot_id"].startswith("cot_")
    assert end == "[DONE]"
    assert "cot_summary" in deltas(answer)[1]
    refused = await user.post(PATH, asking("Hi", "o4-mini", temperature=0.5))
    assert refused.json()["error"]["code"] == "unsupported_parameter"


@pytest.mark.parametrize(
    ("quirk", "shown"),
    [
        ("comments", ": the connection is open"),
        ("references", '"choices":null'),
        ("stray_line", "data: this is not JSON"),
        ("padding", '"padding"'),
    ],
)
async def test_a_quirk_changes_streams_only(user, emulator, quirk, shown):
    assert shown not in (await user.post(PATH, asking("Hi"))).text
    emulator.models["gpt-4.1"].quirks.add(quirk)
    assert shown in (await user.post(PATH, asking("Hi"))).text


async def test_the_end_mark_may_be_missing(user, emulator):
    emulator.models["gpt-4.1"].quirks = {"no_done", "no_finish"}
    text = (await user.post(PATH, asking("Hi"))).text
    assert "[DONE]" not in text
    assert "finish_reason" not in text


async def test_images_need_their_header_and_a_vision_model(user):
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    body = asking([{"type": "text", "text": "What?"}, picture])
    refused = await user.post(PATH, body)
    message = "missing required Copilot-Vision-Request header for vision requests"
    assert refused.json() == {"error": {"message": message, "code": ""}}
    seen = await user.post(PATH, body, Copilot_Vision_Request="true")
    assert said(seen) == "You said: What? I see 1 image."
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
    answer = await user.post(PATH, {**asking("Hi"), "messages": messages})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request_body"


async def test_conversations_can_be_checked(user):
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello Ada."},
    ]

    async def ask(text, **more):
        messages = [*history, {"role": "user", "content": text}]
        return said(await user.post(PATH, {**asking(""), "messages": messages, **more}))

    assert await ask("Repeat my first message") == "My name is Ada."
    assert await ask("Repeat the system prompt") == "Be brief."
    assert await ask("Count to 4") == "1 2 3 4"
    assert await ask("Count to 4", max_tokens=2) == "1 2"
    assert await ask("use the tool weather") == "You said: use the tool weather"
    assert await ask("use the tool weather with {nonsense}", tools=TOOLS) == "I will use weather."
    assert await ask("Hi", tools=TOOLS, tool_choice="required") == "I will use weather."
    assert await ask("use the tool weather", tools=TOOLS, tool_choice="none") != "I will use weather."


async def test_json_and_stop_sequences_are_kept(user):
    any_object = await user.post(PATH, asking("Hi", response_format={"type": "json_object"}))
    assert said(any_object) == '{"said": "Hi"}'
    schema = {"type": "json_schema", "json_schema": {"name": "w", "schema": WEATHER}}
    assert said(await user.post(PATH, asking("Hi", response_format=schema))) == '{"city": "example"}'
    assert said(await user.post(PATH, asking("Count to 9", stop=["4"]))) == "1 2 3"
