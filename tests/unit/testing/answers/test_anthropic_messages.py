"""The official client reads the fake's answers, so that fake and decoder cannot share a mistake."""

import pytest

from jumpseat.testing.answers.anthropic_messages import (
    Call,
    Redacted,
    Thought,
    Words,
    error_body,
    message_body,
    message_stream,
)
from jumpseat.testing.upstream import Reply

QUESTION = [{"role": "user", "content": "Hi"}]
PARTS = (
    Thought(["Let ", "me"], "sig"),
    Redacted("d"),
    Words(["Hel", "lo"]),
    Call("t1", "f", ['{"a"', ": 1}"]),
    Call("t2", "g", [], {}),
)


@pytest.fixture
async def client(upstream, anthropic):
    async with anthropic.AsyncAnthropic(base_url=upstream.origin, api_key="k", max_retries=0) as made:
        yield made


def facts_of(message):
    thought, redacted, text, call, empty = message.content
    return (
        (thought.thinking, thought.signature, redacted.data, text.text),
        (call.id, call.name, call.input, empty.input),
        (message.id, message.model, message.stop_reason),
        (message.usage.input_tokens, message.usage.output_tokens),
    )


EXPECTED = (
    ("Let me", "sig", "d", "Hello"),
    ("t1", "f", {"a": 1}, {}),
    ("msg_fake", "claude-fake", "tool_use"),
    (10, 5),
)


async def test_the_official_client_reads_a_streamed_answer(upstream, client):
    upstream.script(Reply.events(message_stream(*PARTS)))
    async with client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream:
        message = await stream.get_final_message()
    assert facts_of(message) == EXPECTED
    request = await upstream.wait_for_request()
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.json["messages"] == QUESTION


async def test_the_official_client_reads_a_whole_answer(upstream, client):
    upstream.script(Reply.json(message_body(*PARTS)))
    message = await client.messages.create(model="m", max_tokens=9, messages=QUESTION)
    assert facts_of(message) == EXPECTED


async def test_the_official_client_understands_the_errors(upstream, client, anthropic):
    upstream.script(Reply.json(error_body("overloaded_error", "Overloaded"), 529))
    with pytest.raises(anthropic.APIStatusError) as failed:
        await client.messages.create(model="m", max_tokens=9, messages=QUESTION)
    assert failed.value.status_code == 529
    assert failed.value.body["error"]["type"] == "overloaded_error"
    upstream.script(
        Reply.events([*message_stream()[:1], ("error", error_body("overloaded_error", "Overloaded"))])
    )
    with pytest.raises(anthropic.APIStatusError):
        async with client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream:
            await stream.get_final_message()
