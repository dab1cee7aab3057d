"""The official client can read the answers of the fake Ollama server.

Tests with our adapter alone would not find a mistake that the adapter shares with the fake.
"""

import asyncio
import json
import urllib.request

import pytest

from jumpseat.testing.answers.ollama_chat import call, last, lines, part
from jumpseat.testing.upstream import Reply
from tests.fakes.ollama import FakeModel, FakeOllama

QUESTION = [{"role": "user", "content": "Hi"}]


@pytest.fixture
async def server(upstream):
    return FakeOllama(upstream, [FakeModel(), FakeModel("gemma3:1b", "gemma3", 32_768, ("completion",))])


@pytest.fixture
async def client(server, ollama):
    official = ollama.AsyncClient(host=server.base_url)
    yield official
    await official._client.aclose()


async def test_the_official_client_reads_a_streamed_answer(server, client):
    server.script(
        lines(
            part(thinking="Hm"),
            part("Hel"),
            part("lo"),
            part(tool_calls=[call("weather", {"city": "Rome"}, call_id="call_1")]),
            last(),
        )
    )
    chunks = [chunk async for chunk in await client.chat("qwen3:4b", QUESTION, stream=True, think=True)]
    assert "".join(chunk.message.content or "" for chunk in chunks) == "Hello"
    assert chunks[0].message.thinking == "Hm"
    (called,) = chunks[3].message.tool_calls
    assert (called.function.name, called.function.arguments) == ("weather", {"city": "Rome"})
    assert chunks[-1].done
    assert (chunks[-1].done_reason, chunks[-1].eval_count) == ("stop", 29)


async def test_the_official_client_reads_a_whole_answer(server, client):
    server.script(Reply.json(last(content="Hello")))
    answer = await client.chat("qwen3:4b", QUESTION)
    assert (answer.message.content, answer.prompt_eval_count) == ("Hello", 26)


async def test_the_official_client_loads_and_unloads_a_model(client):
    assert (await client.chat("qwen3:4b", [])).done_reason == "load"
    assert (await client.chat("qwen3:4b", [], keep_alive=0)).done_reason == "unload"


@pytest.mark.parametrize(
    ("model", "options", "status", "words"),
    [
        ("absent", {}, 404, "model 'absent' not found"),
        ("gemma3:1b", {"think": True}, 400, "does not support thinking"),
        ("gemma3:1b", {"tools": [{"type": "function", "function": {"name": "f"}}]}, 400, "support tools"),
    ],
)
async def test_the_official_client_reads_a_refusal(client, ollama, model, options, status, words):
    with pytest.raises(ollama.ResponseError, match=words) as refused:
        await client.chat(model, QUESTION, **options)
    assert refused.value.status_code == status


async def test_the_official_client_reads_an_error_in_mid_stream(server, client, ollama):
    server.script(lines(part("Hel"), {"error": "CUDA error"}))
    with pytest.raises(ollama.ResponseError, match="CUDA error"):
        async for _ in await client.chat("qwen3:4b", QUESTION, stream=True):
            pass


async def test_the_official_client_reads_the_lists(server, client):
    server.loaded["qwen3:4b"] = 40_960
    listed = await client.list()
    assert [model.model for model in listed.models] == ["qwen3:4b", "gemma3:1b"]
    assert listed.models[0].details.family == "qwen3"
    shown = await client.show("qwen3:4b")
    assert shown.modelinfo["qwen3.context_length"] == 40_960
    assert shown.capabilities == ["completion", "tools", "thinking"]
    (running,) = (await client.ps()).models
    assert (running.model, running.context_length) == ("qwen3:4b", 40_960)


async def test_the_version_is_served(server):
    def ask():
        # The official client has no method for the version.
        with urllib.request.urlopen(f"{server.base_url}/api/version", timeout=20) as answer:
            return json.load(answer)

    assert set(await asyncio.to_thread(ask)) == {"version"}
