"""The adapter interface: its defaults, and the bound model for programs without a daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jumpseat.adapters.base import Account, Adapter, ChatTraits, Replan
from jumpseat.chat import (
    AuthenticationError,
    ChatError,
    ChatRequest,
    DoneEvent,
    Message,
    ProtocolError,
    RequestError,
    ServerError,
    StreamEvent,
    TextBlock,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingStartEvent,
    ToolDefinition,
    Usage,
    UsageEvent,
)
from tests.unit.scripted import DONE, ScriptedAdapter, Step, script_text

QUESTION = [Message.user("Why?")]
REQUEST = ChatRequest(messages=tuple(QUESTION), model="m")


class Silent(Adapter):
    """Overrides nothing."""


async def test_the_optional_parts_of_an_adapter_have_defaults() -> None:
    adapter = Silent()

    assert adapter.provider_name == "Silent"
    assert adapter.traits == ChatTraits()
    assert adapter.max_context_tokens("m") is None
    assert await adapter.count_tokens(REQUEST) == -1
    assert adapter.account is None
    assert (await Account("Silent").auth_status()).state == "not_required"
    assert await adapter.probe() is None
    await adapter.aclose()


def test_the_interface_has_only_what_every_chat_needs() -> None:
    chat = {"bind", "stream", "list_models", "count_tokens", "max_context_tokens", "probe", "aclose"}
    declared = {"provider_name", "capabilities", "traits", "account", "settings_rows", "options"}

    assert {name for name in vars(Adapter) if not name.startswith("_")} == chat | declared


async def test_methods_without_a_default_raise_not_implemented() -> None:
    with pytest.raises(NotImplementedError):
        Silent().stream(REQUEST)
    with pytest.raises(NotImplementedError):
        await Silent().list_models()


async def test_a_bound_model_has_its_name_and_its_provider() -> None:
    model = Silent().bind("m", max_tokens=7)

    assert (model.model_name, model.provider_name, model.max_context_tokens) == ("m", "Silent", None)
    assert model.max_tokens == 7


async def test_a_chat_returns_the_content_as_a_list() -> None:
    response = await ScriptedAdapter([*script_text("Hel", "lo"), DONE]).bind("m").chat(QUESTION)

    assert response.content == [TextBlock("Hello")]
    assert isinstance(response.content, list)
    assert (response.text, response.stop_reason) == ("Hello", "end_turn")


async def test_a_chat_passes_its_arguments_to_the_adapter() -> None:
    adapter = ScriptedAdapter([DONE], [DONE])
    model = adapter.bind("m", max_tokens=7)
    await model.chat(QUESTION, system="Be brief.", tools=[{"name": "grep"}], thinking="low", stream=True)
    await model.chat(QUESTION, max_tokens=9)

    first, second = adapter.requests
    assert (first.model, first.system, first.tools) == ("m", "Be brief.", (ToolDefinition("grep"),))
    assert (first.thinking, first.stream, first.max_tokens) == ("low", True, 7)
    assert (second.stream, second.max_tokens) == (False, 9)


async def test_a_listener_gets_every_event() -> None:
    script: list[Step] = [*script_text("a"), DONE]
    seen: list[StreamEvent] = []

    await ScriptedAdapter(script).bind("m").chat(QUESTION, on_delta=seen.append)

    assert seen == script


async def test_an_asynchronous_listener_is_awaited_before_the_next_event_is_read() -> None:
    adapter = ScriptedAdapter([*script_text("a"), DONE])
    gate = asyncio.Event()
    reached = asyncio.Event()

    async def wait_at_the_gate(event: StreamEvent) -> None:
        reached.set()
        await gate.wait()

    async with asyncio.timeout(10):
        chat = asyncio.ensure_future(adapter.bind("m").chat(QUESTION, on_delta=wait_at_the_gate))
        await reached.wait()
        assert adapter.played == 1
        gate.set()
        await chat
    assert adapter.played == 4


async def test_an_error_carries_the_partial_answer() -> None:
    broken: list[Step] = [
        ThinkingStartEvent(0),
        ThinkingDeltaEvent(0, "hm"),
        *script_text("Hi", block=1),
        ServerError("Down."),
    ]

    with pytest.raises(ServerError) as caught:
        await ScriptedAdapter(broken).bind("m").chat(QUESTION)

    assert caught.value.partial is not None
    assert caught.value.partial.content == [TextBlock("Hi")]
    assert caught.value.partial.stop_reason is None


async def test_a_replan_raises_its_error() -> None:
    error = AuthenticationError("The token is expired.")

    with pytest.raises(AuthenticationError) as caught:
        await ScriptedAdapter([Replan("expired_token", error)]).bind("m").chat(QUESTION)

    assert caught.value is error


@pytest.mark.parametrize("script", [[], script_text("Hi")])
async def test_an_answer_without_an_end_is_a_protocol_error(script: list[Any]) -> None:
    with pytest.raises(ProtocolError, match="without a stop reason"):
        await ScriptedAdapter(script).bind("m").chat(QUESTION)


async def test_the_errors_of_a_replan_and_a_missing_end_carry_the_partial_answer() -> None:
    for ending in (Replan("reason", RequestError("No.")), None):
        adapter = ScriptedAdapter([*script_text("Hel"), *([ending] if ending else [])])
        with pytest.raises(ChatError) as caught:
            await adapter.bind("m").chat([Message.user("hi")])
        assert caught.value.partial is not None
        assert caught.value.partial.text == "Hel"


async def test_a_listener_that_raises_closes_the_adapters_events() -> None:
    closed = asyncio.Event()

    class Watched(Adapter):
        async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
            try:
                yield TextStartEvent(0)
            finally:
                closed.set()

    def fail(event: StreamEvent) -> None:
        raise RuntimeError("the listener is broken")

    with pytest.raises(RuntimeError):
        await Watched().bind("m").chat([Message.user("hi")], on_delta=fail)
    assert closed.is_set()


async def test_a_plug_ins_iterator_need_not_be_a_generator() -> None:
    class Plain:
        def __init__(self) -> None:
            self.left: list[StreamEvent] = [UsageEvent(Usage(5, 7)), DoneEvent("end_turn")]

        def __aiter__(self) -> Plain:
            return self

        async def __anext__(self) -> StreamEvent:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    class Plug(Adapter):
        def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
            return Plain()

    response = await Plug().bind("m").chat([Message.user("hi")])
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)
