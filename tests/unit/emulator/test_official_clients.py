"""The vendors' own clients can read the emulator's answers.

Tests with our decoders alone would not find a mistake that the decoders share with the emulator.

OpenAI's client is used without its helpers that accumulate a stream. These require `object` in every chunk
and ids that stay the same, and the service sends neither.
"""

import pytest

from tests.unit.emulator.visitor import EDITOR, WEATHER

pytestmark = pytest.mark.slow

QUESTION = 'use the tool weather with {"city": "Rome"}'
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
RESPONSE_TOOL = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}
MESSAGE_TOOL = {"name": "weather", "description": "", "input_schema": WEATHER}


@pytest.fixture
async def openai_client(user, openai):
    client = openai.AsyncOpenAI(
        base_url=user.emulator.copilot_url, api_key=user.token, max_retries=0, default_headers=EDITOR
    )
    yield client
    await client.close()


@pytest.fixture
async def anthropic_client(user, anthropic):
    client = anthropic.AsyncAnthropic(
        base_url=user.emulator.copilot_url, auth_token=user.token, max_retries=0, default_headers=EDITOR
    )
    yield client
    await client.close()


@pytest.mark.parametrize("model", ["gpt-4.1", "gemini-3.1-pro-preview"])
async def test_openais_client_reads_a_tool_call_in_chat_completions(openai_client, model):
    messages = [{"role": "user", "content": QUESTION}]
    request = {"model": model, "tools": [CHAT_TOOL], "stream": True}
    stream = await openai_client.chat.completions.create(messages=messages, **request)
    choices = [choice async for chunk in stream for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == "I will use weather."
    assert choices[-1].finish_reason == "tool_calls"
    first, *more = [call for choice in choices for call in choice.delta.tool_calls or ()]
    arguments = "".join(call.function.arguments for call in (first, *more))
    assert (first.function.name, arguments) == ("weather", '{"city": "Rome"}')
    opaques = [choice.delta.model_extra.get("reasoning_opaque") for choice in choices]
    call = {"id": first.id, "type": "function", "function": {"name": "weather", "arguments": arguments}}
    opaque = next(filter(None, opaques), None)
    spoken = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_opaque": opaque}
    messages += [spoken, {"role": "tool", "tool_call_id": first.id, "content": "rain"}]
    whole = await openai_client.chat.completions.create(messages=messages, model=model, tools=[CHAT_TOOL])
    assert whole.choices[0].message.content == "The tool weather answered: rain"
    assert whole.usage.completion_tokens == 5  # In the emulator, every word is one token.


async def test_openais_client_reads_reasoning_and_a_tool_call_in_responses(openai_client):
    given = [{"role": "user", "content": QUESTION}]
    request = {
        "model": "gpt-5.3-codex",
        "tools": [RESPONSE_TOOL],
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    }
    stream = await openai_client.responses.create(input=given, stream=True, **request)
    events = [event async for event in stream]
    # The client keeps unknown fields as extra ones; the price is one of them.
    assert {name for event in events for name in event.model_extra or ()} == {"copilot_usage"}
    items = [event.item for event in events if event.type == "response.output_item.done"]
    thought, said, call = items
    assert (thought.type, said.content[0].text) == ("reasoning", "I will use weather.")
    assert call.arguments == '{"city": "Rome"}'
    given += [item.model_dump(exclude_none=True) for item in items]
    given.append({"type": "function_call_output", "call_id": call.call_id, "output": "rain"})
    whole = await openai_client.responses.create(input=given, **request)
    assert whole.output_text == "The tool weather answered: rain"


async def test_anthropics_client_reads_thinking_and_a_tool_call_in_messages(anthropic_client):
    messages = [{"role": "user", "content": QUESTION}]
    request = {
        "model": "claude-sonnet-4.6",
        "max_tokens": 4096,
        "tools": [MESSAGE_TOOL],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }
    async with anthropic_client.messages.stream(messages=messages, **request) as stream:
        answer = await stream.get_final_message()
    thought, said, call = answer.content
    assert (thought.type, said.text, call.input) == ("thinking", "I will use weather.", {"city": "Rome"})
    assert answer.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    messages += [
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]},
        {"role": "user", "content": [result]},
    ]
    whole = await anthropic_client.messages.create(messages=messages, **request)
    assert whole.content[-1].text == "The tool weather answered: rain"


async def test_the_clients_raise_their_own_errors_for_refusals(
    openai_client, anthropic_client, emulator, openai, anthropic
):
    request = {"messages": [{"role": "user", "content": "Hi"}], "model": "gpt-17"}
    with pytest.raises(openai.BadRequestError, match="not supported"):
        await openai_client.chat.completions.create(**request)
    emulator.expire_copilot_tokens()
    with pytest.raises(openai.AuthenticationError):
        await openai_client.chat.completions.create(**{**request, "model": "gpt-4.1"})
    with pytest.raises(anthropic.AuthenticationError):
        await anthropic_client.messages.create(**{**request, "model": "claude-sonnet-4.6"}, max_tokens=10)


async def test_the_list_of_models_is_read(openai_client):
    listed = [model.id async for model in openai_client.models.list()]
    assert {"gpt-4.1", "gpt-4o", "gpt-4o-mini", "claude-sonnet-4.6"} <= set(listed)
