"""The contract suite for the local provider: over a scripted llama.cpp, and with the real model."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from jumpseat.adapters.local import adapter as local
from jumpseat.adapters.local import shared_server
from jumpseat.adapters.local.adapter import LocalAdapter
from jumpseat.adapters.local.model import ENGINE
from jumpseat.chat import ChatRequest, Message
from jumpseat.config import ProviderConfig
from jumpseat.testing import AdapterContract, ChatCompletionsScript
from tests import local_model

NAME = "smollm2-135m-instruct"


class ScriptedServer:
    """Replaces `LocalServer`. It has the address of the scripted server, and does not start llama.cpp."""

    address = ""
    api_key = "sk-contract-0123456789abcdef"
    context_tokens = 4096
    alive = False

    def __init__(self, path, name, variables):
        pass

    async def start(self):
        self.alive = True

    async def close(self):
        self.alive = False


class TestLocal(AdapterContract):
    kind = "local"
    recordings = Path(__file__).with_name("recordings") / kind
    script = ChatCompletionsScript(base_path="")
    models = (NAME,)
    secret = ScriptedServer.api_key

    @pytest.fixture(autouse=True)
    def _llama_cpp_is_scripted(self, monkeypatch, tmp_path):
        model = tmp_path / "model.gguf"
        model.touch()
        monkeypatch.setattr(local, "locate", lambda provider, model_path, environment: model)
        monkeypatch.setattr(local, "require_engine", lambda provider: None)
        self.monkeypatch = monkeypatch

    def make_adapter(self, base_url, http):
        server = type("Scripted", (ScriptedServer,), {"address": base_url})
        self.monkeypatch.setattr(shared_server, "LocalServer", server)
        return LocalAdapter("local", ProviderConfig(kind="local"), http)


@pytest.mark.local_model
@pytest.mark.skipif(find_spec(ENGINE) is None, reason=f"{ENGINE} has no wheel for this platform")
@pytest.mark.skipif(local_model.FILE is None, reason=local_model.HOW_TO_INSTALL)
class TestLocalModel(AdapterContract):
    speaks_http = False
    models = (NAME,)
    live_request = ChatRequest(
        messages=(Message.user("What is the capital of France? Answer with one word."),),
        model=NAME,
        max_tokens=12,
    )

    def make_adapter(self, base_url, http):
        return LocalAdapter("local", ProviderConfig(kind="local", model_path=str(local_model.FILE)), http)
