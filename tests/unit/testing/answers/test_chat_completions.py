"""The official client reads the fake answers of the chat-completions dialect."""

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_body, completion_stream
from jumpseat.testing.upstream import Reply

QUESTION = [{"role": "user", "content": "Hi"}]
CALL = FakeCall("call_1", "weather", ['{"city": ', '"Rome"}'])


@pytest.fixture
async def client(upstream, openai):
    async with openai.AsyncOpenAI(base_url=upstream.base_url, api_key="k", max_retries=0) as made:
        yield made


async def test_the_official_client_reads_a_streamed_answer(upstream, client):
    upstream.script(Reply.events(completion_stream(["Hel", "lo"], tool_calls=[CALL])))
    async with client.chat.completions.stream(model="m", messages=QUESTION) as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == "Hello"
    (call,) = message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "weather", '{"city": "Rome"}')
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage.total_tokens == 15


async def test_the_official_client_reads_a_whole_answer(upstream, client):
    upstream.script(Reply.json(completion_body("Hello", tool_calls=[CALL])))
    final = await client.chat.completions.create(model="m", messages=QUESTION)
    assert final.choices[0].message.content == "Hello"
    assert final.choices[0].message.tool_calls[0].function.arguments == '{"city": "Rome"}'


async def test_the_official_client_reads_a_refusal(upstream, client, openai):
    refused = {"message": "Too long", "type": "invalid_request_error", "code": "context_length_exceeded"}
    upstream.script(Reply.json({"error": refused}, 400))
    with pytest.raises(openai.BadRequestError) as failed:
        await client.chat.completions.create(model="m", messages=QUESTION)
    assert failed.value.code == "context_length_exceeded"
