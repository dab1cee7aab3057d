"""The key `cache` of a provider's table: it decides whether requests carry marks for the provider's cache."""

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.testing.answers.anthropic_messages import message_stream
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.unit.adapters import anthropic_chats, openai_chats


@pytest.mark.requirement("messages:cache-breakpoints")
@pytest.mark.parametrize(
    ("table", "is_marked"), [({}, True), ({"cache": True}, True), ({"cache": False}, False)]
)
async def test_messages_are_marked_unless_the_cache_is_off(upstream, http, table, is_marked):
    upstream.default(Reply.events(message_stream()))
    _, error = await anthropic_chats.collect(anthropic_chats.adapter_for(upstream, http, **table))
    assert error is None
    assert ("cache_control" in str(upstream.requests[0].json)) is is_marked


@pytest.mark.requirement("chat:cache-marks")
@pytest.mark.parametrize(
    ("table", "is_marked"), [({}, False), ({"cache": True}, True), ({"cache": False}, False)]
)
async def test_chat_completions_are_marked_only_on_request(upstream, http, table, is_marked):
    upstream.default(Reply.events(completion_stream(["Hi"])))
    _, error = await openai_chats.collect(openai_chats.adapter_for(upstream.base_url, http, **table))
    assert error is None
    assert ("cache_control" in str(upstream.requests[0].json)) is is_marked


@pytest.mark.requirement("messages:cache-breakpoints")
async def test_marks_are_not_sent_again_to_a_server_that_refuses_them(upstream, http):
    words = "messages.0.content.0.text.cache_control: Extra inputs are not permitted"
    upstream.script(anthropic_chats.refusal(words))
    upstream.default(Reply.events(message_stream()))
    adapter = anthropic_chats.adapter_for(upstream, http)
    _, replan = await anthropic_chats.collect(adapter)
    assert isinstance(replan, Replan)
    assert replan.reason == "refused_parameter:cache_control"
    for number in (1, 2):
        _, error = await anthropic_chats.collect(adapter)
        assert error is None
        assert "cache_control" not in str(upstream.requests[number].json)
