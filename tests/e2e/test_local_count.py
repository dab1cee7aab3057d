"""Token counts of the local model, before and after it is loaded."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from jumpseat.adapters.local.adapter import LocalAdapter
from jumpseat.chat import ChatRequest, Message, RequestError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from tests import local_model


@pytest.mark.local_model
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp has no wheel for this platform")
@pytest.mark.requirement("5:count-tokens")
async def test_a_count_matches_the_reported_usage_and_does_not_load_the_model() -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    http = HttpClient()
    adapter = LocalAdapter("local", ProviderConfig(kind="local", model_path=str(local_model.FILE)), http)
    request = ChatRequest(
        messages=(Message.user("Hi"), Message.assistant("Hello."), Message.user("Schön, 你好?")),
        system="Be brief.",
        model=adapter.traits.default_model,
        max_tokens=2,
    )
    try:
        assert await adapter.count_tokens(request) == -1  # This means that the model is not loaded.
        answer = await adapter.bind(adapter.traits.default_model).chat(
            request.messages, system=request.system, max_tokens=2
        )
        assert await adapter.count_tokens(request) == answer.usage.input_tokens > 10
        with pytest.raises(RequestError):
            await adapter.count_tokens(ChatRequest(messages=request.messages, model="another"))
    finally:
        await adapter.aclose()
        await http.aclose()
