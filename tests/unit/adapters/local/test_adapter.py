"""The local provider over a scripted llama.cpp: loads, restarts, requests and answers."""

import asyncio
import contextlib
from importlib.util import find_spec

import pytest

from jumpseat.adapters.base.starts import MAX_STARTS
from jumpseat.adapters.local.adapter import LocalAdapter
from jumpseat.adapters.local.model import ENGINE
from jumpseat.adapters.local.process import SLOTS
from jumpseat.chat import (
    AuthenticationError,
    ConfigError,
    ConnectionError,
    DoneEvent,
    Fold,
    ProgressEvent,
    RequestError,
    ServerError,
    TextDeltaEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests import local_model
from tests.unit.adapters.local.local_chats import NAME, WAIT_SECONDS, answer_of, ask, collect

REAL_SECONDS = 30.0
"""A time limit. On two slow, busy cores, the small model loads in seconds and writes one word per second."""


@pytest.fixture
async def adapter(server_class, installed):
    http = HttpClient()
    adapter = LocalAdapter("local", ProviderConfig(kind="local"), http)
    yield adapter
    await adapter.aclose()
    await http.aclose()


async def test_errors_do_not_show_the_key_of_the_server(adapter, upstream):
    upstream.script(Reply.json({"error": {"message": "Invalid API key: key-of-this-server"}}, 401))
    with pytest.raises(AuthenticationError) as failed:
        await collect(adapter)
    assert "Invalid API key" in failed.value.message
    assert "key-of-this-server" not in failed.value.message


async def test_only_the_first_chat_reports_the_load(adapter, server_class):
    first, second = await collect(adapter), await collect(adapter)
    assert first[0] == ProgressEvent("Loading SmolLM2-135M-Instruct…")
    assert isinstance(first[-1], DoneEvent)
    assert not any(isinstance(event, ProgressEvent) for event in second)
    assert len(server_class.started) == 1


async def test_ten_simultaneous_chats_load_once(adapter, server_class, upstream):
    server_class.may_load.clear()
    chats = [asyncio.create_task(answer_of(adapter)) for _ in range(10)]
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    server_class.may_load.set()
    assert await asyncio.wait_for(asyncio.gather(*chats), WAIT_SECONDS) == ["Hello"] * 10
    assert len(server_class.started) == 1


async def test_a_cancelled_chat_leaves_the_load_to_the_next_one(adapter, server_class):
    server_class.may_load.clear()
    chat = asyncio.create_task(answer_of(adapter))
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    chat.cancel()
    with pytest.raises(asyncio.CancelledError):
        await chat
    server_class.may_load.set()
    assert await answer_of(adapter) == "Hello"
    assert len(server_class.started) == 1


async def test_a_failed_load_raises_a_separate_error_for_each_waiting_chat(adapter, server_class):
    server_class.fails = True
    server_class.may_load.clear()
    chats = [asyncio.create_task(collect(adapter)) for _ in range(3)]
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    server_class.may_load.set()
    errors = await asyncio.gather(*chats, return_exceptions=True)
    assert {type(error) for error in errors} == {ConfigError}
    assert {error.message for error in errors} == {"llama.cpp cannot load it."}
    assert {error.provider for error in errors} == {"local"}
    assert len({id(error) for error in errors}) == 3
    server_class.fails = False
    assert await answer_of(adapter) == "Hello"


async def test_a_server_that_died_is_started_again(adapter, server_class):
    await collect(adapter)
    server_class.started[0].alive = False
    events = await collect(adapter)
    assert isinstance(events[0], ProgressEvent)
    assert len(server_class.started) == 2


async def test_the_restarts_of_a_server_that_keeps_dying_are_limited(adapter, server_class):
    for _ in range(MAX_STARTS):
        await collect(adapter)
        server_class.started[-1].alive = False
        server_class.started[-1].end = "it was killed by signal 9"
    with pytest.raises(ConnectionError) as failed:
        await collect(adapter)
    assert f"has ended {MAX_STARTS} times within 3 minutes" in failed.value.message
    assert failed.value.hint.endswith("The last time it was killed by signal 9.")
    assert "log" in failed.value.hint
    assert not failed.value.retryable
    assert len(server_class.started) == MAX_STARTS


async def test_a_file_that_cannot_be_loaded_does_not_count_as_a_dead_server(adapter, server_class):
    server_class.fails = True
    for _ in range(2 * MAX_STARTS):
        with pytest.raises(ConfigError, match="cannot load it"):
            await collect(adapter)
    server_class.fails = False
    assert await answer_of(adapter) == "Hello"


async def test_the_request_carries_the_key_of_the_server_and_the_parameters_of_the_table(
    server_class, installed, upstream
):
    http = HttpClient()
    config = ProviderConfig(kind="local", parameters={"top_k": 7})
    adapter = LocalAdapter("local", config, http)
    await collect(adapter, ask(max_tokens=11))
    request = await upstream.wait_for_request()
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer key-of-this-server"
    body = request.json
    assert (body["model"], body["stream"], body["top_k"]) == (NAME, True, 7)
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    await adapter.aclose()
    await http.aclose()


async def test_the_small_model_has_sampling_of_its_own_that_the_users_values_override(
    server_class, installed, upstream
):
    http = HttpClient()
    for config, settings, expected in (
        (ProviderConfig(kind="local"), {}, (0, 0.8)),
        (ProviderConfig(kind="local", parameters={"dry_multiplier": 0, "temperature": 1}), {}, (1, 0)),
        (ProviderConfig(kind="local"), {"dry_multiplier": 0.5, "temperature": 0.7}, (0.7, 0.5)),
        (ProviderConfig(kind="local", model_path="/models/qwen3-4b.gguf"), {}, (None, None)),
    ):
        adapter = LocalAdapter("local", config, http)
        await collect(adapter, ask(model=adapter.traits.default_model, settings=settings))
        body = upstream.requests[-1].json
        assert (body.get("temperature"), body.get("dry_multiplier")) == expected
        await adapter.aclose()
    await http.aclose()


async def test_leaving_the_stream_closes_the_connection(adapter, upstream):
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])[:2]).stall_after())
    events = adapter.stream(ask())
    async for event in events:
        if isinstance(event, TextDeltaEvent):
            break
    await events.aclose()
    await upstream.wait_for_disconnect()


async def test_another_model_is_refused_by_name_before_anything_is_loaded(adapter, server_class):
    with pytest.raises(RequestError, match=f"local has no model 'gpt-4.1'. Its only model is {NAME}"):
        await collect(adapter, ask(model="gpt-4.1"))
    assert server_class.started == []


async def test_closing_stops_the_server(adapter, server_class):
    await collect(adapter)
    await adapter.aclose()
    assert server_class.started[0].closed


async def test_closing_stops_a_load_and_fails_the_waiting_chat(adapter, server_class):
    server_class.may_load.clear()
    chat = asyncio.create_task(collect(adapter))
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    await asyncio.wait_for(adapter.aclose(), WAIT_SECONDS)
    with pytest.raises(ServerError, match="was closed while"):
        await asyncio.wait_for(chat, WAIT_SECONDS)
    assert server_class.started[0].closed


async def test_without_its_model_the_provider_is_signed_out_and_refuses_requests(
    server_class, monkeypatch, tmp_path
):
    monkeypatch.setenv("JUMPSEAT_HOME", str(tmp_path))
    monkeypatch.setattr("jumpseat.adapters.local.model.PACKAGE", "llm_that_is_not_installed")
    adapter = LocalAdapter("local", ProviderConfig(kind="local"), HttpClient())
    status = await adapter.account.auth_status()
    assert status.state == "signed_out"
    assert "jumpseat local install" in status.message
    with pytest.raises(ConfigError, match="is not installed"):
        await adapter.list_models()
    with pytest.raises(ConfigError, match="is not installed"):
        await anext(adapter.stream(ask()))  # This fails before the event that reports the load.
    with pytest.raises(ConfigError, match="is not installed"):
        adapter.check()
    for refused in (adapter.account.sign_in(lambda prompt: None), adapter.account.sign_out()):
        with pytest.raises(ConfigError, match="does not need a sign-in"):
            await refused
    assert server_class.started == []


async def test_listing_does_not_load_the_model(adapter, server_class):
    (model,) = await adapter.list_models()
    assert (model.id, model.name) == (f"local:{NAME}", "SmolLM2-135M-Instruct")
    assert (model.max_context_tokens, model.supports_tool_use, model.is_default) == (8192, False, True)
    assert (await adapter.account.auth_status()).state == "not_required"
    assert server_class.started == []


async def test_a_loaded_server_gives_its_own_context_length(adapter):
    await collect(adapter)
    assert adapter.max_context_tokens(NAME) == 4096
    assert adapter.max_context_tokens("another") is None


async def test_a_configured_model_has_the_stem_of_its_file_as_name_and_supports_tools(
    server_class, installed
):
    config = ProviderConfig(kind="local", model_path="~/models/Qwen3-4B.gguf")
    adapter = LocalAdapter("mine", config, HttpClient())
    (model,) = await adapter.list_models()
    assert (model.id, model.max_context_tokens, model.supports_tool_use) == ("mine:qwen3-4b", None, True)
    assert adapter.traits.default_model == "qwen3-4b"
    assert adapter.capabilities.tool_calls


async def test_the_small_model_supports_json_but_not_tools_images_or_thinking(adapter):
    found = adapter.capabilities
    assert (found.tool_calls, found.vision, found.thinking, found.json_mode) == (False, False, False, True)


@pytest.mark.skipif(find_spec(ENGINE) is None, reason=f"{ENGINE} has no wheel here")
@pytest.mark.skipif(local_model.FILE is None, reason=local_model.HOW_TO_INSTALL)
@pytest.mark.local_model
async def test_the_real_model_answers_and_stops_when_the_stream_is_closed():
    http = HttpClient()
    adapter = LocalAdapter("local", ProviderConfig(kind="local", model_path=str(local_model.FILE)), http)
    endless = ask(max_tokens=8000, settings={"ignore_eos": True})
    try:
        # One closed stream for each slot: if any of them still ran, the last chat could wait for minutes.
        for _ in range(SLOTS):
            events = adapter.stream(endless)
            async with asyncio.timeout(REAL_SECONDS), contextlib.aclosing(events):
                async for event in events:
                    if isinstance(event, TextDeltaEvent):
                        break
        fold = Fold("local", NAME)
        async with asyncio.timeout(REAL_SECONDS):
            async for event in adapter.stream(ask(max_tokens=8, system="Answer briefly.")):
                fold.add(event)
    finally:
        await adapter.aclose()
        await http.aclose()
    response = fold.response()
    assert response.text
    assert response.stop_reason in ("end_turn", "max_tokens")
    assert response.usage.input_tokens > 0
    assert 0 < response.usage.output_tokens <= 9
