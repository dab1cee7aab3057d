"""Helpers for tests of the adapter of Ollama servers."""

from jumpseat.adapters.ollama.adapter import OllamaAdapter
from jumpseat.chat import ChatRequest, Message
from jumpseat.config import ProviderConfig
from jumpseat.testing.answers.ollama_chat import last, lines, part
from tests.unit.adapters.streams import events_of

HELLO = lines(part("Hel"), part("lo"), last(), x_request_id="req_1")


def adapter_for(base_url, http, **config):
    return OllamaAdapter("acme", ProviderConfig(kind="ollama", base_url=base_url, **config), http)


def request_for(text="Hi", **more):
    return ChatRequest(**{"messages": (Message.user(text),), "model": "qwen3:4b", **more})


async def collect(adapter, request=None):
    """Return the events of a chat, and the error that ended them, if any."""
    return await events_of(adapter, request or request_for())
