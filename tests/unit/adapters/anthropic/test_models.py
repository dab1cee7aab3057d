"""Models and token counts of Anthropic's Messages API."""

import pytest

from jumpseat.chat import AuthenticationError, ImageBlock, Message, ProtocolError, TextBlock, ToolDefinition
from jumpseat.testing.answers.anthropic_messages import message_stream
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.anthropic_chats import adapter_for, collect, refusal, request_for


@pytest.mark.requirement("messages:count-tokens")
async def test_tokens_are_counted_by_the_api(upstream, http):
    upstream.script(Reply.json({"input_tokens": 17}), path="/v1/messages/count_tokens")
    request = request_for(
        Message("user", (TextBlock("Hi"), ImageBlock("aGk="))),
        system="S",
        tools=(ToolDefinition("f"),),
        thinking="low",
        settings={"temperature": 1},
        stop_sequences=["x"],
    )
    assert await adapter_for(upstream, http).count_tokens(request) == 17
    assert set(upstream.requests[0].json) == {"model", "messages", "system", "tools"}


@pytest.mark.requirement("messages:count-tokens")
@pytest.mark.parametrize(
    "reply",
    [
        Reply.json({"detail": "Not Found"}, 404),
        Reply.json({}, 405),
        Reply.raw(b"<html>hello</html>"),
        Reply.json({"tokens": 3}),
    ],
)
async def test_an_endpoint_without_counts_gives_minus_one(upstream, http, reply):
    upstream.script(reply)
    assert await adapter_for(upstream, http).count_tokens(request_for()) == -1


async def test_a_failed_count_is_an_error(upstream, http):
    upstream.script(refusal("No", "authentication_error", 401))
    with pytest.raises(AuthenticationError):
        await adapter_for(upstream, http).count_tokens(request_for())


def row(name, **more):
    return {"type": "model", "id": name, "display_name": name.title(), **more}


def can(flag=True, **more):
    return {"supported": flag, **more}


@pytest.mark.requirement("messages:models", "messages:model-capabilities")
async def test_every_page_of_the_list_of_models_is_read(upstream, http):
    types = {"adaptive": can(), "enabled": can(False), "disabled": can(False), "between_tools": can(False)}
    capabilities = {
        "image_input": can(False),
        "structured_outputs": can(),
        "thinking": can(types=types),
        "effort": can(low=can(), medium=can(), high=can(False)),
    }
    new = row("claude-new-9", max_input_tokens=200_000, max_tokens=3000, capabilities=capabilities)
    old = row("claude-opus-4-1", lifecycle="deprecated", retires_at="2026-08-05T00:00:00Z")
    upstream.script(
        Reply.json({"data": [new], "has_more": True, "last_id": "claude-new-9"}),
        Reply.json({"data": [old, {"no": "id"}], "has_more": False, "last_id": "x"}),
        Reply.events(message_stream()),
    )
    adapter = adapter_for(upstream, http, default_model="claude-new-9")
    first, second = await adapter.list_models()
    assert [each.query for each in upstream.requests] == ["limit=1000", "limit=1000&after_id=claude-new-9"]
    assert (first.id, first.name, first.is_default) == ("acme:claude-new-9", "Claude-New-9", True)
    assert (first.max_context_tokens, first.max_output_tokens) == (200_000, 3000)
    assert adapter.max_context_tokens("claude-new-9") == 200_000
    assert (first.supports_vision, first.supports_json, first.supports_thinking) == (False, True, True)
    assert first.thinking_levels == ["low", "medium"]
    assert (second.deprecated, second.picker_enabled, second.family) == (True, True, "opus")
    assert second.max_context_tokens is None
    assert "2026-08-05" in second.messages[0]
    await collect(adapter, request_for(model="claude-new-9", thinking="low", max_tokens=9000))
    sent = upstream.requests[2].json
    assert (sent["thinking"], sent["max_tokens"]) == ({"type": "adaptive"}, 3000)


@pytest.mark.requirement("messages:models")
async def test_a_list_in_openais_format_is_read_and_any_other_is_a_protocol_error(upstream, http):
    upstream.script(Reply.json({"object": "list", "data": [{"id": "m", "context_length": 1000}]}))
    (model,) = await adapter_for(upstream, http).list_models()
    assert (model.model, model.name, model.max_context_tokens) == ("m", "m", 1000)
    upstream.script(Reply.json({"models": 3}))
    with pytest.raises(ProtocolError):
        await adapter_for(upstream, http).list_models()
