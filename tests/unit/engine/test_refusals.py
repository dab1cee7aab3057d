"""Blocks that their own provider refused are left out from then on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    RequestError,
    StreamEvent,
    TextBlock,
    ThinkingBlock,
    WarningEvent,
)
from jumpseat.engine import BlockMemory, run_turn
from jumpseat.engine.refusals import Refusals
from tests.unit.engine.blocks import TEXT, assistant, call, user
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text

HERE = Origin("fake", "m")
NO_MODEL = Origin("fake", "")
"""The origin of a refused block. No model has it, so the block is not sent."""

SIGNED = ThinkingBlock("Hm.", "stale", origin=HERE)


def messages(*blocks: ContentBlock) -> list[Message]:
    return [user(TEXT), assistant(*blocks, TEXT), user(TEXT)]


def apply(refusals: Refusals, given: list[Message], origin: Origin) -> list[Message]:
    return [
        Message(each.role, tuple(refusals.apply(block, origin) for block in each.content)) for each in given
    ]


@pytest.mark.parametrize(
    "block",
    [
        SIGNED,
        ThinkingBlock("Hm."),
        RedactedThinkingBlock("x"),
        call("1", opaque="o"),
        TextBlock("a", opaque="o"),
    ],
)
def test_a_refused_block_is_recognised_later(block: ContentBlock) -> None:
    refusals = Refusals()
    refusals.record(messages(block), messages(), HERE)

    assert apply(refusals, messages(block), HERE) == messages(replace(block, origin=NO_MODEL))
    for other in (Origin("fake", "other"), Origin("other", "m")):
        assert apply(refusals, messages(block), other) == messages(block)


@pytest.mark.requirement("2:refused-once")
def test_a_block_that_was_accepted_with_other_opaque_data_keeps_that_data() -> None:
    refusals = Refusals()
    refused, accepted = replace(SIGNED, opaque='{"id":"rs_1"}'), replace(SIGNED, opaque=None)
    redacted = RedactedThinkingBlock("x", opaque="o")
    refusals.record(messages(refused, redacted), messages(accepted), HERE)

    assert apply(refusals, messages(refused, redacted), HERE) == messages(
        accepted, replace(redacted, origin=NO_MODEL)
    )


def test_accepted_blocks_and_blocks_that_were_not_sent_are_not_refused() -> None:
    refusals = Refusals()
    refusals.record(messages(SIGNED, RedactedThinkingBlock("x")), messages(SIGNED), HERE)

    others = messages(SIGNED, replace(SIGNED, signature="new"), RedactedThinkingBlock("y"), TextBlock("a"))
    assert apply(refusals, others, HERE) == others


def test_the_number_of_refusals_is_bounded() -> None:
    refusals = Refusals(max_refused=2)
    blocks = [RedactedThinkingBlock(str(number)) for number in range(3)]
    refusals.record(messages(*blocks), messages(), HERE)

    applied_blocks = apply(refusals, messages(*blocks), HERE)[1].content
    assert [block.origin for block in applied_blocks] == [None, NO_MODEL, NO_MODEL, None]


class Refusing(ScriptedAdapter):
    """Rejects its own signed thinking, and asks for another attempt without it."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        blocks = [block for message in request.messages for block in message.content]
        if any(isinstance(block, ThinkingBlock) for block in blocks):
            self.requests.append(request)
            without = replace(request, messages=messages())
            raise Replan("foreign", RequestError("No."), without)
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                yield event


@pytest.mark.requirement("2:refused-once")
async def test_refused_reasoning_costs_one_extra_request_instead_of_one_per_turn() -> None:
    answer: list[Step] = [*script_text("Hi"), DONE]
    adapter, memory = Refusing(answer, answer), BlockMemory()
    for requests in (2, 3):  # The first turn sends two requests, and the second turn sends one.
        sink = RecordingSink()
        async with asyncio.timeout(10):
            await run_turn(registry_of(adapter), ask(*messages(SIGNED)), sink, memory)
        assert len(adapter.requests) == requests

    assert list(adapter.requests[-1].messages) == messages()
    assert [event.code for event in sink.events if isinstance(event, WarningEvent)] == [
        "foreign_data_dropped"
    ]


@pytest.mark.requirement("2:refused-once")
async def test_a_block_whose_removal_does_not_help_is_not_refused() -> None:
    adapter, memory = Refusing([RequestError("Still no.")]), BlockMemory()
    async with asyncio.timeout(10):
        with pytest.raises(RequestError, match="Still no"):
            await run_turn(registry_of(adapter), ask(*messages(SIGNED)), RecordingSink(), memory)

    assert apply(memory.refusals, messages(SIGNED), HERE) == messages(SIGNED)
