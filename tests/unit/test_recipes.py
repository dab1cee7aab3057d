"""Every table of `docs/recipes.md` defines a provider whose requests match the page."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from jumpseat.chat import Message
from jumpseat.config import Config, load_config
from jumpseat.providers import BUILT_IN, KINDS, Registry, ensure_default_provider, resolve_model
from jumpseat.system.environment import environment_of_process
from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.answers.ollama_chat import last, lines, part
from jumpseat.testing.answers.responses import message, response_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.fakes.language_server import FakeLanguageServer

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
TABLES = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
RECIPES = {name: text for text in TABLES for name in tomllib.loads(text)["providers"]}

DEFAULT_ADDRESSES = {
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434",
}
ANSWERS = {
    "openai": Reply.events(completion_stream(["Hi"])),
    "openai-responses": Reply.events(response_stream(message("Hi"))),
    "anthropic": Reply.events(message_stream(Words(["Hi"]))),
    "ollama": lines(part("Hi"), last()),
}
BEARER = {"authorization": "Bearer key-of-{}"}

SENT: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "groq": ("api.groq.com", "/openai/v1/chat/completions", BEARER),
    "openrouter": ("openrouter.ai", "/api/v1/chat/completions", BEARER),
    "mistral": ("api.mistral.ai", "/v1/chat/completions", BEARER),
    "deepseek": ("api.deepseek.com", "/v1/chat/completions", BEARER),
    "gemini": ("generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", BEARER),
    "xai": ("api.x.ai", "/v1/chat/completions", BEARER),
    "openai": ("api.openai.com", "/v1/responses", BEARER),
    "anthropic": ("api.anthropic.com", "/v1/messages", {"x-api-key": "key-of-{}"}),
    "azure": (
        "${resource}.openai.azure.com",
        "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
        {"api-key": "key-of-{}"},
    ),
    "azure-v1": ("${resource}.openai.azure.com", "/openai/v1/chat/completions", {"api-key": "key-of-{}"}),
    "ollama": ("127.0.0.1", "/api/chat", {}),
    "lmstudio": ("127.0.0.1", "/v1/chat/completions", {}),
    "vllm": ("127.0.0.1", "/v1/chat/completions", {}),
    "llamacpp": ("127.0.0.1", "/v1/chat/completions", {}),
}
"""The host of each provider, and the path and the credential of a chat."""

SIGNED_IN = ("work", "official")
"""Providers with a sign-in: they have no key, and the account determines their default model."""


def load(home: Path, text: str) -> Config:
    (home / "config.toml").write_text(text, "utf-8")
    return load_config(None, None, environment=environment_of_process(), built_in=BUILT_IN, kinds=KINDS)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"env:([A-Z_]+)", PAGE.read_text("utf-8")):
        monkeypatch.setenv(name, f"key-of-{name}")


def test_each_table_of_the_page_has_a_test_below() -> None:
    assert set(RECIPES) == {*SENT, *SIGNED_IN}
    assert len(TABLES) == len(RECIPES)


@pytest.mark.requirement("7:recipes")
@pytest.mark.parametrize("name", RECIPES)
async def test_a_recipe_is_read_without_a_warning_and_makes_a_provider(
    home: Path, keys: None, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    registry = Registry(load(home, RECIPES[name]))

    assert caplog.messages == []
    assert registry.adapter(name).provider_name == name
    assert await ensure_default_provider(registry) == name
    if name not in SIGNED_IN:
        target = await resolve_model(registry, None)
        assert (target.provider, target.model) == (name, registry.table(name).default_model)
    await registry.aclose()


@pytest.mark.requirement("7:recipes")
@pytest.mark.parametrize("name", SENT)
async def test_a_recipe_sends_its_chat_with_its_key_to_the_address_of_the_page(
    home: Path, keys: None, upstream: FakeUpstream, name: str
) -> None:
    host, path, credential = SENT[name]
    table: dict[str, Any] = tomllib.loads(RECIPES[name])["providers"][name]
    key = "url" if "url" in table else "base_url"
    address = table.get(key) or DEFAULT_ADDRESSES[table["kind"]]
    assert urlsplit(address).netloc.partition(":")[0] == host
    # Replace the address in the table with the address of the fake server.
    text = RECIPES[name].replace(f'{key} = "{address}"\n', "")
    moved = f"{upstream.origin}{urlsplit(address).path}"
    text = text.replace(f"[providers.{name}]\n", f'[providers.{name}]\n{key} = "{moved}"\n')
    registry = Registry(load(home, text))
    # Answer other requests, such as the one for the models of an Ollama server, with 404.
    upstream.default(Reply.json({"error": {"message": "There is no such thing here."}}, status=404))
    upstream.script(ANSWERS[table["kind"]], path=path.partition("?")[0])

    target = await resolve_model(registry, None)
    answer = await target.adapter.bind(target.model).chat([Message.user("Hi")], stream=True)
    await registry.aclose()

    assert answer.text == "Hi"
    sent = upstream.requests[-1]
    assert f"{sent.path}?{sent.query}".removesuffix("?") == path
    variable = re.findall(r"env:([A-Z_]+)", RECIPES[name])
    for header, value in credential.items():
        assert sent.headers[header] == value.format(*variable)
    if not credential:
        assert {"authorization", "x-api-key", "api-key"} & sent.headers.keys() == set()
    if name == "openrouter":
        assert sent.json["provider"] == {"data_collection": "deny"}


@pytest.mark.requirement("7:recipes", "language-server:command")
async def test_the_recipe_of_a_language_server_starts_the_program_that_it_installs(
    home: Path, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeLanguageServer() as fake:
        program = home / "bin" / "copilot-language-server"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.join(fake.command)} "$@"\n', "utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
        registry = Registry(load(home, RECIPES["official"]))

        target = await resolve_model(registry, None)
        answer = await target.adapter.bind(target.model).chat([Message.user("Hi")], stream=True)
        await registry.aclose()

        (start,) = fake.starts
    assert (target.provider, target.model, answer.text) == ("official", "gpt-4.1", "You said: Hi")
    assert start.argv == ["--stdio"]
    # The program does not get the keys of the page's other recipes.
    assert os.environ["GROQ_API_KEY"]
    assert [name for name in start.env if name.endswith("_API_KEY")] == []
