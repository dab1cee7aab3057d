"""The `openai-responses` adapter against a real third-party server: llama.cpp's own /v1/responses."""

import asyncio
import contextlib
from importlib.util import find_spec

import pytest
import pytest_asyncio

from jumpseat.adapters.local.model import ENGINE
from jumpseat.adapters.local.process import LocalServer
from jumpseat.adapters.openai.responses import OpenAIResponsesAdapter
from jumpseat.chat import (
    AuthenticationError,
    ChatRequest,
    Fold,
    Message,
    TextDeltaEvent,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
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

QUESTION = Message.user("What is the capital of France? Answer with one word.")
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    running = LocalServer(local_model.FILE, "small", environment_of_process().variables)
    await running.start()
    yield running
    await running.close()


@contextlib.asynccontextmanager
async def running_adapter(server, **config):
    """Run an adapter with its own connections, because llama.cpp sometimes closes one despite keep-alive.

    In the daemon, the engine retries a request that fails because of this.
    """
    table = {
        "kind": "openai-responses",
        "base_url": f"{server.address}/v1",
        "api_key": server.api_key,
        "parameters": {"temperature": 0},
        **config,
    }
    http = HttpClient()
    try:
        yield OpenAIResponsesAdapter("llama", ProviderConfig(**table), http)
    finally:
        await http.aclose()


async def response_to(server, *messages, config=None, **more):
    fold, events = Fold("llama", "small"), []
    request = ChatRequest(**{"messages": messages or (QUESTION,), "model": "small", "max_tokens": 20, **more})
    async with asyncio.timeout(WAIT_SECONDS), running_adapter(server, **(config or {})) as adapter:
        async for event in adapter.stream(request):
            events.append(event)
            fold.add(event)
    assert_laws(events)
    return fold.response(), events


@pytest.mark.requirement("responses:llama-cpp", "responses:unnumbered")
async def test_llama_cpp_gives_the_same_answer_streamed_and_whole(server):
    streamed, events = await response_to(server)
    assert "Paris" in streamed.text
    assert (streamed.stop_reason, streamed.raw_stop_reason) == ("end_turn", "completed")
    assert streamed.usage.input_tokens > 0
    assert streamed.usage.output_tokens > 0
    assert any(isinstance(event, TextDeltaEvent) for event in events)
    whole, _ = await response_to(server, stream=False)
    assert (whole.text, whole.stop_reason) == (streamed.text, streamed.stop_reason)


@pytest.mark.requirement("responses:llama-cpp")
async def test_llama_cpp_accepts_a_history_with_calls_and_results(server):
    first, _ = await response_to(server, system="You are a geographer.", thinking="low")
    call = Message("assistant", (ToolUseBlock("c-1", "weather", {"city": "Rome"}, '{"city": "Rome"}'),))
    result = Message("user", (ToolResultBlock("c-1", "Sunny"),))
    tools = (ToolDefinition("weather", "The weather of a city", CITY),)
    again, _ = await response_to(server, QUESTION, first.as_message(), QUESTION, call, result, tools=tools)
    assert again.content


async def test_a_wrong_key_is_refused(server):
    with pytest.raises(AuthenticationError):
        await response_to(server, config={"api_key": "wrong"})


async def test_closing_the_stream_frees_the_server_for_the_next_chat(server):
    story = ChatRequest(messages=(Message.user("Tell a long story."),), model="small", max_tokens=4000)
    async with asyncio.timeout(WAIT_SECONDS), running_adapter(server) as adapter:
        events = adapter.stream(story)
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        await events.aclose()
    assert "Paris" in (await response_to(server))[0].text
