"""`EndpointAdapter`: URLs and queries, the key and its redaction, and plug-in hooks."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import Account, Adapter
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.hooks import HttpAdapter
from jumpseat.adapters.http.url import join_url, with_query
from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.chat import ChatRequest, ConfigError, Message
from jumpseat.config import ProviderConfig
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http import HttpCall, HttpClient
from jumpseat.providers.registry import KINDS
from jumpseat.system.secrets import redact
from jumpseat.testing.answers.chat_completions import completion_body, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply


def adapter_class(kind: str) -> type[Adapter]:
    module, _, name = KINDS[kind].adapter.partition(":")
    found: type[Adapter] = getattr(import_module(module), name)
    return found


ENDPOINTS = [kind for kind in KINDS if issubclass(adapter_class(kind), EndpointAdapter)]
KEY = "key-of/the endpoint&4711"
REQUEST = ChatRequest(messages=(Message.user("Hi"),), model="m/1")
OK = Reply.json(completion_body("ok"))


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


async def drain(adapter: Adapter) -> None:
    async for _ in adapter.stream(REQUEST):
        pass


def endpoint(http: HttpClient, **table: Any) -> OpenAIAdapter:
    return OpenAIAdapter("x", ProviderConfig(kind="openai", **table), http)


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h/v1", "/models", "http://h/v1/models"),
        ("http://h/v1/", "/models", "http://h/v1/models"),
        ("http://h/v1?v=1", "/models", "http://h/v1/models?v=1"),
        ("http://h/v1?v=1", "/models?limit=2", "http://h/v1/models?limit=2&v=1"),
        ("http://h", "/models?limit=2", "http://h/models?limit=2"),
    ],
)
def test_a_path_goes_before_the_query_of_the_base(base: str, path: str, url: str) -> None:
    assert join_url(base, path) == url


@pytest.mark.requirement("7:query")
@pytest.mark.parametrize(
    ("url", "query", "expected"),
    [
        ("http://h/p", {}, "http://h/p"),
        ("http://h/p", {"a b": "c&d=é"}, "http://h/p?a%20b=c%26d%3D%C3%A9"),
        ("http://h/p?x=1&a=2&flag", {"a": "3"}, "http://h/p?x=1&flag&a=3"),
        ("http://h/p?a%20b=1", {"a b": "2"}, "http://h/p?a%20b=2"),
    ],
)
def test_a_configured_query_replaces_parameters_of_the_url(
    url: str, query: dict[str, str], expected: str
) -> None:
    assert with_query(url, query) == expected


async def headers_of(adapter: EndpointAdapter) -> dict[str, str]:
    return adapter._requests.headers(await adapter._requests.resolve("m"))


async def url_of_chat(adapter: EndpointAdapter, model: str) -> str:
    resolved = await adapter._requests.resolve(model)
    url = resolved.url or adapter._address_of_chat(replace(REQUEST, model=model), resolved)
    return adapter._requests.with_query(url, resolved)


@pytest.mark.requirement("7:templates-in-urls")
@pytest.mark.parametrize(
    "place",
    [
        {"query": {"key": "${api_key}"}},
        {"headers": {"X-Goog-Api-Key": "${api_key}"}},
        {"url": "http://127.0.0.1:1/${api_key}"},
    ],
)
async def test_a_key_with_a_configured_place_is_sent_only_there(http: HttpClient, place: Any) -> None:
    table = {"base_url": "http://127.0.0.1:1/v1", "api_key": KEY, **place}

    assert "authorization" not in await headers_of(endpoint(http, **table))
    del table["headers" if "headers" in place else next(iter(place))]
    assert (await headers_of(endpoint(http, **table)))["authorization"] == f"Bearer {KEY}"


@pytest.mark.requirement("6:no-secrets", "7:query")
@pytest.mark.parametrize(
    "table",
    [
        {"query": {"key": "secret/one-of-4711"}},
        {"query": {"access_token": "${k}"}, "env": {"k": "secret/two-of-4711"}},
        {"query": {"q": "${my_secret}"}, "env": {"my_secret": "secret/three-of-4711"}},
        {"base_url": "http://127.0.0.1:1/v1?key=secret%2Ffour-of-4711"},
        {"base_url": "http://me:secret%2Ffive-of-4711@127.0.0.1:1/v1"},
    ],
)
async def test_secrets_in_a_url_are_redacted_before_it_is_sent(http: HttpClient, table: Any) -> None:
    adapter = endpoint(http, **{"base_url": "http://127.0.0.1:1/v1", **table})
    call = HttpCall("POST", await url_of_chat(adapter, "m"))

    assert "4711" in call.url
    assert "4711" not in redact(call.url)
    assert "4711" not in repr(call)


@pytest.mark.requirement("7:query")
async def test_a_query_is_percent_encoded_on_the_way(upstream: FakeUpstream, http: HttpClient) -> None:
    upstream.default(OK)
    query = {"key": "${api_key}", "n": 1}
    await drain(endpoint(http, base_url=upstream.base_url, api_key=KEY, query=query))
    assert upstream.requests[0].query == "key=key-of%2Fthe%20endpoint%264711&n=1"


async def test_only_values_that_cannot_change_are_remembered(http: HttpClient, tmp_path: Path) -> None:
    file = tmp_path / "key"
    table: dict[str, Any] = {"base_url": "http://127.0.0.1:1/v1"}
    constant = endpoint(http, **table, api_key=KEY)._requests
    assert await constant.resolve("m") is await constant.resolve("m")
    for changing in (
        {"api_key": f"file:{file}"},
        {"headers": {"x-a": "cmd:date"}},
        {"query": {"a": "${model}"}},
    ):
        file.write_text("a key", "utf-8")
        requests = endpoint(http, **table, **changing)._requests
        assert await requests.resolve("m") is not await requests.resolve("m")


@pytest.mark.requirement("7:url")
@pytest.mark.parametrize("kind", ENDPOINTS)
async def test_a_table_with_only_a_url_makes_only_chat_requests(http: HttpClient, kind: str) -> None:
    table = {"url": "http://127.0.0.1:1/${model}", "models": ["a"], "default_model": "b", "api_key": KEY}
    adapter = adapter_class(kind)("x", ProviderConfig(kind=kind, **table), http)
    assert isinstance(adapter, EndpointAdapter)

    assert [model.model for model in await adapter.list_models()] == ["a", "b"]
    assert (await adapter.account.auth_status(refresh=True)).state == "configured"
    assert await adapter.count_tokens(REQUEST) == -1
    assert await url_of_chat(adapter, "m/1") == "http://127.0.0.1:1/m/1"


@pytest.mark.requirement("8:sign-in")
@pytest.mark.parametrize("kind", ENDPOINTS)
async def test_only_a_vendors_own_address_needs_a_key(http: HttpClient, kind: str) -> None:
    def account(**table: Any) -> Account:
        adapter = adapter_class(kind)("x", ProviderConfig(kind=kind, **table), http)
        assert adapter.account is not None
        return adapter.account

    elsewhere = account(base_url="http://127.0.0.1:1")
    assert (await elsewhere.sign_in(lambda prompt: None)).state == "not_required"
    # The credential may be in a header of the table.
    assert (await account(headers={"X-Api-Key": "env:KEY"}).auth_status()).state == "not_required"
    own = account()
    if kind == "ollama":
        assert (await own.auth_status()).state == "not_required"
        return
    # Without the key, even a refresh does not send a request.
    status = await own.auth_status(refresh=True)
    assert status.state == "signed_out"
    assert "providers.x.api_key" in (status.message or "")
    for change in (lambda: own.sign_in(lambda prompt: None), own.sign_out):
        with pytest.raises(ConfigError) as error:
            await change()
        assert "providers.x.api_key" in (error.value.hint or "")


async def test_a_base_url_with_the_model_lists_the_configured_models(http: HttpClient) -> None:
    adapter = endpoint(http, base_url="http://127.0.0.1:1/deployments/${model}", models=["a"])

    assert [model.model for model in await adapter.list_models()] == ["a"]
    url = await url_of_chat(adapter, "m/1")
    assert url == "http://127.0.0.1:1/deployments/m/1/chat/completions"


async def test_the_state_of_a_key_is_reported_without_running_a_command(http: HttpClient) -> None:
    missing = endpoint(http, base_url="http://127.0.0.1:1/v1", api_key="file:/no/such/file")
    assert (await missing.account.auth_status()).state == "signed_out"
    for source in ("cmd:no-such-command-4711", "keyring:a/b", "python:no_such_package:f"):
        adapter = endpoint(http, base_url="http://127.0.0.1:1/v1", api_key=source)
        assert (await adapter.account.auth_status()).state == "configured"
        if not source.startswith("keyring:"):
            status = await adapter.account.auth_status(refresh=True)
            assert status.state == "signed_out"
            assert "providers.x.api_key is" in (status.message or "")


@pytest.mark.requirement("7:templates-in-urls", "7:query", "7:url")
async def test_requests_of_a_plug_ins_hooks_use_the_same_urls(
    upstream: FakeUpstream, http: HttpClient
) -> None:
    upstream.default(OK)
    seen: list[str] = []

    class Own(HttpAdapter):
        async def set_up(self, request: ChatRequest) -> None:
            seen.append(self.base_url)
            seen.append((await self.values.resolve("my_key", "env:TEST_NOWHERE_SET")).reveal())

    table: dict[str, Any] = {"base_url": "${place}/v1", "query": {"m": "${model}"}, "api_key": KEY}
    table |= {"env": {"place": upstream.origin}, "parameters": {"user": "${model}"}}
    with pytest.raises(ConfigError, match=r"providers\.x\.my_key is env:TEST_NOWHERE_SET"):
        await drain(Own("x", ProviderConfig(**table), http))
    assert seen == [upstream.base_url]

    await drain(HttpAdapter("x", ProviderConfig(**table), http))
    await drain(HttpAdapter("x", ProviderConfig(**table, url="${place}/own?k=${api_key}"), http))
    first, second = upstream.requests
    assert (first.path, first.query, first.json["user"]) == ("/v1/chat/completions", "m=m%2F1", "m/1")
    assert second.path == "/own"
    assert second.query == "k=key-of%2Fthe%20endpoint%264711&m=m%2F1"
    assert "authorization" not in second.headers
    with pytest.raises(ConfigError, match=r"base_url uses \$\{model\}"):
        HttpAdapter("x", ProviderConfig(base_url="http://h/${model}"), http)


async def test_only_three_generators_pass_an_event_from_the_decoder_to_the_caller(
    http: HttpClient, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.default(Reply.events([*completion_stream("ok")]))
    passed: list[str] = []
    feed_event = ChatCompletionsDecoder.feed_event

    def record_callers(decoder: ChatCompletionsDecoder, name: str, data: str) -> Any:
        frame, passed[:] = sys._getframe(), []
        while (frame := frame.f_back) is not None:
            if frame.f_code.co_flags & inspect.CO_ASYNC_GENERATOR:
                passed.append(frame.f_code.co_name)
        return feed_event(decoder, name, data)

    monkeypatch.setattr(ChatCompletionsDecoder, "feed_event", record_callers)
    await drain(endpoint(http, base_url=upstream.base_url))
    assert passed == ["decode_answer", "stream_events", "stream"]
