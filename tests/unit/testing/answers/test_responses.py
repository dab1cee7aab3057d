"""The official client reads the fake's answers, so that fake and decoder cannot share a mistake."""

import pytest

from jumpseat.testing.answers.responses import (
    USAGE,
    function_call,
    message,
    reasoning,
    response,
    response_stream,
)
from jumpseat.testing.upstream import Reply

ITEMS = (
    reasoning("First.", "Second.", encrypted="gAAA"),
    message("Hel", "lo", phase="commentary"),
    function_call("call_1", "weather", '{"city": ', '"Rome"}'),
)


@pytest.fixture
async def client(upstream, openai):
    official = openai.AsyncOpenAI(base_url=upstream.base_url, api_key="none", max_retries=0)
    yield official
    await official.close()


def check(answer):
    thought, said, called = answer.output
    assert [part.text for part in thought.summary] == ["First.", "Second."]
    assert thought.encrypted_content == "gAAA"
    assert (answer.output_text, said.phase) == ("Hello", "commentary")
    assert (called.call_id, called.arguments) == ("call_1", '{"city": "Rome"}')
    assert answer.usage.total_tokens == USAGE["total_tokens"]


async def test_the_official_client_reads_a_whole_answer(upstream, client):
    upstream.script(Reply.json(response(ITEMS)))
    check(await client.responses.create(model="m", input="Hi"))


async def test_the_official_client_reads_a_streamed_answer(upstream, client):
    upstream.script(Reply.events(response_stream(*ITEMS)))
    async with client.responses.stream(model="m", input="Hi") as stream:
        events = [event async for event in stream]
        check(await stream.get_final_response())
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == "Hello"
    arguments = [e.delta for e in events if e.type == "response.function_call_arguments.delta"]
    assert "".join(arguments) == '{"city": "Rome"}'
    assert [e.sequence_number for e in events] == list(range(len(events)))
    for event in events:  # The client keeps unknown fields as extra ones.
        assert not event.model_extra, event
