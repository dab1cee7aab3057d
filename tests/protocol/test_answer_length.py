"""The limit for the length of an answer: what a client requests, and what a provider refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import provider, running_daemon, user


@pytest.mark.requirement("2:max-tokens-default")
async def test_a_client_may_request_the_models_limit_with_8192_as_fallback(
    home: Path, upstream: FakeUpstream
) -> None:
    model = {"id": "m", "max_context_tokens": 200_000, "max_output_tokens": 64_000}
    refusal = "This request requires more credits, or fewer max_tokens."
    upstream.script(
        Reply.json({"error": {"message": refusal, "code": 402}}, status=402),
        Reply.events(completion_stream(["x"])),
    )
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url, models=[model]))
        exchange = await daemon.request("chat/start", {"messages": [user("hi")], "maxTokensDefault": "model"})
        wrong = await daemon.request("chat/start", {"messages": [user("hi")], "maxTokensDefault": "all"})

    assert exchange.result["text"] == "x"
    assert [request.json["max_tokens"] for request in upstream.requests] == [64_000, 8192]
    assert wrong.error["data"]["errors"][0]["path"] == "maxTokensDefault"
