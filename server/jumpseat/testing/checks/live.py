"""Checks against a real provider, for adapters whose provider cannot be scripted.

They check only the laws of events and the shape of the response, because the model may answer anything.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jumpseat.adapters.base import events_of
from jumpseat.chat import ChatRequest, Fold, Message, Response, TextDeltaEvent
from jumpseat.testing.laws import assert_laws, assert_response, check
from jumpseat.testing.stage import ContractBase, Stage, run_as_test

CONCURRENT_CHATS = 4


class LiveChecks(ContractBase):
    """The checks with a real provider, which are skipped unless the contract has a `live_request`."""

    @run_as_test
    async def test_a_real_provider_answers_and_accepts_its_answer_in_the_next_chat(self) -> None:
        """Chat with and without streaming, continue with the answer, cancel a chat, and chat concurrently."""
        if self.live_request is None:
            pytest.skip("this contract has no `live_request`")
        request = self.live_request
        async with self.open_stage() as stage:
            for stream in (True, False):
                response = await _answer(stage, replace(request, stream=stream))
                check(response.text or response.tool_calls, "the real provider's answer is empty.")
            again = Message.user("Say it once more, please.")
            longer = replace(request, messages=(*request.messages, response.as_message(), again))
            await _answer(stage, longer)
            async with events_of(stage.adapter, request) as events:
                async for event in events:
                    if isinstance(event, TextDeltaEvent):
                        break
            await asyncio.gather(*(_answer(stage, request) for _ in range(CONCURRENT_CHATS)))


async def _answer(stage: Stage, request: ChatRequest) -> Response:
    events = await stage.collect_events(request)
    assert_laws(events)
    fold = Fold(stage.provider, request.model)
    for event in events:
        fold.add(event)
    response = fold.response()
    assert_response(response, provider=stage.provider, model=request.model)
    return response
