"""Counting a chat's tokens: the provider's count, else an estimate, else -1."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jumpseat.adapters.base import Capabilities, Replan
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ChatRequest,
    ConnectionError,
    ImageBlock,
    Message,
    Origin,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
)
from jumpseat.engine import TokenCount, TokenMemory, count, count_tokens
from jumpseat.engine.tokens import estimate_tokens
from tests.unit.scripted import ScriptedAdapter, ask, registry_of

pytestmark = pytest.mark.requirement("5:count-tokens")

UNSUPPORTED = TokenCount(-1, "unsupported")
HELLO = Message.user("Hello")
PICTURE = Message("user", (ImageBlock("https://example.org/a.png"),))


class Counting(ScriptedAdapter):
    """Counts according to a script."""

    counted: int | Exception | asyncio.Event = -1

    async def count_tokens(self, request: ChatRequest) -> int:
        self.requests.append(request)
        if isinstance(self.counted, Exception):
            raise self.counted
        if isinstance(self.counted, asyncio.Event):
            await self.counted.wait()
            return 0
        return self.counted


def make_adapter(counted: int | Exception | asyncio.Event) -> Counting:
    adapter = Counting()
    adapter.counted = counted
    return adapter


async def count_turn(
    adapter: ScriptedAdapter, *messages: Message, estimates: bool = True, **more: Any
) -> TokenCount:
    return await count_tokens(
        registry_of(adapter), ask(*messages, **more), TokenMemory(), allow_estimate=estimates
    )


async def test_the_providers_count_is_taken() -> None:
    assert await count_turn(make_adapter(17)) == TokenCount(17, "provider")
    assert await count_turn(make_adapter(0), estimates=False) == TokenCount(0, "provider")


async def test_without_a_count_the_result_is_an_estimate_or_unsupported() -> None:
    adapter = make_adapter(-1)
    found = await count_turn(adapter)

    assert found == TokenCount(estimate_tokens(adapter.requests[0]), "estimate")
    assert await count_turn(make_adapter(-1), estimates=False) == UNSUPPORTED
    assert await count_turn(ScriptedAdapter(), estimates=False) == UNSUPPORTED


@pytest.mark.parametrize(
    ("failure", "reported"),
    [
        (ConnectionError("Unreachable."), None),
        (Replan("expired_token", ConnectionError("Unreachable.")), None),
        (AuthenticationError("No key."), AuthenticationError),
        (RequestError("No such model."), RequestError),
    ],
)
async def test_an_unreachable_provider_gets_an_estimate_and_a_refusal_is_an_error(
    failure: Exception, reported: type[ChatError] | None
) -> None:
    if reported is None:
        assert (await count_turn(make_adapter(failure))).method == "estimate"
    # If estimates are not allowed, an unreachable provider is an error too.
    with pytest.raises(reported or ConnectionError):
        await count_turn(make_adapter(failure), estimates=reported is not None)


async def test_a_count_that_takes_too_long_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count, "COUNT_SECONDS", 0.01)

    assert (await count_turn(make_adapter(asyncio.Event()))).method == "estimate"
    with pytest.raises(ConnectionError, match="did not count"):
        await count_turn(make_adapter(asyncio.Event()), estimates=False)


async def test_a_count_is_planned_like_a_chat() -> None:
    adapter = make_adapter(1)
    foreign = ThinkingBlock("Hm.", "sig", origin=Origin("other", "n"))
    await count_turn(adapter, Message.user("Hi"), Message("assistant", (foreign, TextBlock("Yes."))), HELLO)

    assert adapter.requests[0].model == "m"
    assert [block.type for message in adapter.requests[0].messages for block in message.content] == [
        "text"
    ] * 3
    adapter = make_adapter(1)
    adapter.capabilities = Capabilities(tool_calls=False, vision=False)
    with pytest.raises(RequestError, match="tools"):
        await count_turn(adapter, tools=[ToolDefinition("f", "", {})])
    with pytest.raises(RequestError, match="images"):
        await count_turn(adapter, PICTURE)
    assert adapter.requests == []


async def test_a_count_is_remembered_so_that_the_same_prompt_is_not_counted_twice() -> None:
    adapter, memory = make_adapter(17), TokenMemory()
    registry = registry_of(adapter)
    for _ in range(2):
        assert await count_tokens(registry, ask(HELLO), memory) == TokenCount(17, "provider")

    assert len(adapter.requests) == 1
