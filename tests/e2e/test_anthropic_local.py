"""The `anthropic` adapter against a real third-party server: llama.cpp's own /v1/messages."""

import asyncio
from importlib.util import find_spec

import pytest
import pytest_asyncio

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.adapters.local.model import ENGINE
from jumpseat.adapters.local.process import LocalServer
from jumpseat.chat import AuthenticationError, ChatRequest, Fold, Message, TextDeltaEvent
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.environment import environment_of_process
from jumpseat.testing import assert_laws
from tests import local_model

WAIT_SECONDS = 60.0
"""The time limit for an answer of the model on a busy machine."""

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(find_spec(ENGINE) is None, reason=f"{ENGINE} has no wheel for this platform"),
    pytest.mark.slow,
    # The server's process can be used only in the event loop that started it.
    pytest.mark.asyncio(loop_scope="module"),
]

QUESTION = "What is the capital of France? Answer with one word."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    running = LocalServer(local_model.FILE, "small", environment_of_process().variables)
    await running.start()
    yield running
    await running.close()


@pytest_asyncio.fixture(loop_scope="module")
async def http():
    client = HttpClient()
    yield client
    await client.aclose()


def adapter_for(server, http, **config):
    table = {
        "kind": "anthropic",
        "base_url": server.address,
        "api_key": server.api_key,
        "parameters": {"temperature": 0},
        **config,
    }
    return AnthropicAdapter("llama", ProviderConfig(**table), http)


async def response_to(server, *messages, **more):
    """Request an answer over a new connection; return the response and its events.

    llama.cpp closes the connection after a streamed answer, although it promised keep-alive. If the client
    sent the next request over this connection before it noticed that, the request would fail. In the daemon,
    the engine would retry it.
    """
    fold, events = Fold("llama", "small"), []
    asked = {"messages": messages or (Message.user(QUESTION),), "model": "small", "max_tokens": 20}
    client = HttpClient()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            async for event in adapter_for(server, client).stream(ChatRequest(**{**asked, **more})):
                events.append(event)
                fold.add(event)
    finally:
        await client.aclose()
    assert_laws(events)
    return fold.response(), events


async def test_llama_cpp_gives_the_same_answer_streamed_and_whole(server):
    streamed, events = await response_to(server)
    assert "Paris" in streamed.text
    assert (streamed.stop_reason, streamed.raw_stop_reason) == ("end_turn", "end_turn")
    assert streamed.usage.input_tokens > 0
    assert streamed.usage.output_tokens > 0
    assert any(isinstance(event, TextDeltaEvent) for event in events)
    whole, _ = await response_to(server, stream=False)
    assert (whole.text, whole.stop_reason) == (streamed.text, streamed.stop_reason)


async def test_a_conversation_continues_and_an_answer_ends_at_its_token_limit(server):
    first, _ = await response_to(server, system="You are a geographer.")
    again, _ = await response_to(
        server, Message.user(QUESTION), first.as_message(), Message.user("And of Italy?")
    )
    assert again.text
    cut, _ = await response_to(server, Message.user("Count from 1 to 100."), max_tokens=3)
    assert cut.stop_reason == "max_tokens"


async def test_llama_cpp_counts_tokens_and_lists_models(server, http):
    adapter = adapter_for(server, http)
    request = ChatRequest(messages=(Message.user(QUESTION),), model="small")
    async with asyncio.timeout(WAIT_SECONDS):
        assert await adapter.count_tokens(request) > 5
        models = await adapter.list_models()
    assert [model.model for model in models] == ["small"]
    assert models[0].max_context_tokens


async def test_a_wrong_key_is_refused(server, http):
    events = adapter_for(server, http, api_key="wrong").stream(
        ChatRequest(messages=(Message.user(QUESTION),), model="small")
    )
    with pytest.raises(AuthenticationError):
        await asyncio.wait_for(anext(events), WAIT_SECONDS)


async def test_closing_the_stream_frees_the_server_for_the_next_chat(server, http):
    adapter = adapter_for(server, http)
    story = ChatRequest(messages=(Message.user("Tell a long story."),), model="small", max_tokens=4000)
    async with asyncio.timeout(WAIT_SECONDS):
        events = adapter.stream(story)
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        await events.aclose()
    assert "Paris" in (await response_to(server))[0].text
