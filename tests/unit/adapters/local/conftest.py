"""A scripted llama.cpp in place of the real one."""

import asyncio
from typing import ClassVar

import pytest

from jumpseat.adapters.local import adapter as local
from jumpseat.adapters.local import shared_server
from jumpseat.chat import ConfigError
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.unit.adapters.local.local_chats import WAIT_SECONDS


class ScriptedServer:
    """A replacement for `LocalServer` that loads when `may_load` is set. The upstream answers chats."""

    started: list["ScriptedServer"]
    origin: str
    fails: bool
    may_load: asyncio.Event
    loading: asyncio.Event

    def __init__(self, path, name, variables):
        self.path = path
        self.variables = variables
        self.address = self.origin
        self.api_key = "key-of-this-server"
        self.context_tokens = 4096
        self.alive = False
        self.end = None
        self.closed = False
        self.started.append(self)

    async def start(self):
        self.loading.set()
        await asyncio.wait_for(self.may_load.wait(), WAIT_SECONDS)
        if self.fails:
            raise ConfigError("llama.cpp cannot load it.")
        self.alive = True

    async def close(self):
        self.alive = False
        self.closed = True


@pytest.fixture
async def upstream():
    async with FakeUpstream() as upstream:
        upstream.default(Reply.events(completion_stream(["Hel", "lo"])))
        yield upstream


@pytest.fixture
async def server_class(upstream, monkeypatch):
    class Scripted(ScriptedServer):
        started: ClassVar = []
        origin = upstream.origin
        fails = False
        may_load = asyncio.Event()
        loading = asyncio.Event()

    Scripted.may_load.set()
    monkeypatch.setattr(shared_server, "LocalServer", Scripted)
    return Scripted


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Install a model, and return its file, which a test may replace."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(local, "locate", lambda provider, model_path, environment: file)
    monkeypatch.setattr(local, "require_engine", lambda provider: None)
    return file
