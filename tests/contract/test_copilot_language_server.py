"""The contract suite for both APIs of the language server, over a scripted server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from jumpseat.adapters.base import Adapter
from jumpseat.adapters.github.language_server.adapter import LanguageServerAdapter
from jumpseat.chat import ChatRequest, Message
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing import AdapterContract
from tests.fakes.language_server import WAIT_SECONDS, FakeLanguageServer

KIND = "copilot-language-server"


@pytest.fixture
def command() -> Iterator[list[str]]:
    """Run a scripted server and yield its command.

    The server has an event loop of its own, because the suite runs each check in a new loop.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    fake = FakeLanguageServer()
    asyncio.run_coroutine_threadsafe(fake.__aenter__(), loop).result(WAIT_SECONDS)
    try:
        yield fake.command
    finally:
        asyncio.run_coroutine_threadsafe(fake.__aexit__(), loop).result(WAIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_SECONDS)
        loop.close()


class LanguageServerContract(AdapterContract):
    """The common parts of both APIs. They do not use HTTP, so the suite cannot script answers."""

    kind = KIND
    speaks_http = False
    chat_api = "auto"

    @pytest.fixture(autouse=True)
    def _server_is_scripted(self, command: list[str]) -> None:
        self.command = command

    def make_adapter(self, base_url: str, http: HttpClient) -> Adapter:
        config = ProviderConfig.model_validate(
            {"kind": KIND, "command": self.command, "chat_api": self.chat_api}
        )
        return LanguageServerAdapter("cls", config, http)


@pytest.mark.requirement("adapters:contract-suite", "language-server:conversation")
class TestConversation(LanguageServerContract):
    models = ("gpt-4.1", "claude-sonnet-4.6")
    live_request = ChatRequest(messages=(Message.user("Say hello."),), model="gpt-4.1")


@pytest.mark.requirement("adapters:contract-suite", "language-server:completion")
class TestCompletion(LanguageServerContract):
    chat_api = "completion"
    models = ("gpt-41-copilot",)
    live_request = ChatRequest(messages=(Message.user("Say hello."),), model="gpt-41-copilot")
