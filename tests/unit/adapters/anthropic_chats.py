"""Helpers for tests of the adapter of Anthropic's Messages API."""

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.chat import ChatRequest, Message
from jumpseat.config import ProviderConfig
from jumpseat.testing.answers.anthropic_messages import error_body
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.streams import events_of, fold_events

MODEL = "claude-haiku-4-5"


def adapter_for(upstream, http, **config):
    table = {"kind": "anthropic", "base_url": upstream.origin, "api_key": "key-of-acme", **config}
    return AnthropicAdapter("acme", ProviderConfig(**table), http)


def request_for(*messages, **more):
    return ChatRequest(**{"messages": messages or (Message.user("Hi"),), "model": MODEL, **more})


async def collect(adapter, request=None):
    """Return the events of a chat, and the error that ended them, if any."""
    return await events_of(adapter, request or request_for())


def response_of(events):
    return fold_events(events, MODEL)


def refusal(text, kind="invalid_request_error", status=400, **headers):
    return Reply.json(error_body(kind, text), status, **headers)
