"""Helpers for tests of the adapter of OpenAI-compatible providers."""

from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.chat import ChatRequest, Message, TextDeltaEvent
from jumpseat.config import ProviderConfig
from tests.environments import here
from tests.unit.adapters.streams import events_of


def adapter_for(base_url, http, **config):
    table = ProviderConfig(kind="openai", base_url=base_url, **config).set_environment(here())
    return OpenAIAdapter("acme", table, http)


def request_for(text="Hi", **more):
    return ChatRequest(**{"messages": (Message.user(text),), "model": "fake-model", **more})


async def collect(adapter, request=None):
    """Return the events of a chat, and the error that ended them, if any."""
    return await events_of(adapter, request or request_for())


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
