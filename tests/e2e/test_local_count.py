"""Token counts of the local model, before and after it is loaded."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from jumpseat.adapters.local.adapter import LocalAdapter
from jumpseat.adapters.local.model import installed_file, packaged_file
from jumpseat.chat import ChatRequest, Message, RequestError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.paths import places_of_process

MODEL = next(
    (file for file in (installed_file(places_of_process()), packaged_file()) if file and file.is_file()), None
)


@pytest.mark.local_model
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp has no wheel for this platform")
@pytest.mark.requirement("5:count-tokens")
async def test_a_count_matches_the_reported_usage_and_does_not_load_the_model() -> None:
    assert MODEL is not None, "the model is missing: run `jumpseat local install`"
    http = HttpClient()
    adapter = LocalAdapter("local", ProviderConfig(kind="local", model_path=str(MODEL)), http)
    request = ChatRequest(
        messages=(Message.user("Hi"), Message.assistant("Hello."), Message.user("Schön, 你好?")),
        system="Be brief.",
        model=adapter.traits.default_model,
        max_tokens=2,
    )
    try:
        assert await adapter.count_tokens(request) == -1
        answer = await adapter.bind(adapter.traits.default_model).chat(
            request.messages, system=request.system, max_tokens=2
        )
        assert await adapter.count_tokens(request) == answer.usage.input_tokens > 10
        with pytest.raises(RequestError):
            await adapter.count_tokens(ChatRequest(messages=request.messages, model="another"))
    finally:
        await adapter.aclose()
        await http.aclose()
