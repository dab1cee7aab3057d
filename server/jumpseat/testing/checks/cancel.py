"""Checks that closing the events at any moment closes the connection to the provider immediately."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from jumpseat.adapters.base import events_of
from jumpseat.chat import ChatRequest, Message, TextDeltaEvent
from jumpseat.testing.checks.failures import AFTER, BEFORE, up_to
from jumpseat.testing.laws import check
from jumpseat.testing.stage import TIDY_SECONDS, ContractBase, Stage, run_as_test
from jumpseat.testing.upstream import Gate, RecordedRequest, Reply


class CancelChecks(ContractBase):
    """The checks of cancelled chats."""

    @run_as_test
    async def test_a_cancel_before_the_first_byte_closes_the_connection(self) -> None:
        """Cancel after the provider has received the request and before it sends anything."""
        script = self.answers()
        async with self.open_stage() as stage:
            stage.answer(replace(script.text_answer(["Never."], streamed=True), held=Gate()))
            chat = asyncio.create_task(stage.collect_events(self._story()))
            request = await stage.wait_for_chat(chats=[chat])
            await _cancel_and_wait(chat)
            await _assert_closed(request)
            await self._assert_next_chat_works(stage)

    @run_as_test
    async def test_a_cancel_in_mid_stream_closes_the_connection(self) -> None:
        """Cancel the task that awaits the next event."""
        async with self.open_stage() as stage:
            stage.answer(self._endless_answer())
            started = asyncio.Event()

            async def read_events() -> None:
                async with events_of(stage.adapter, self._story()) as events:
                    async for event in events:
                        if isinstance(event, TextDeltaEvent):
                            started.set()

            chat = asyncio.create_task(read_events())
            await _wait_for(started, chat)
            request = await stage.wait_for_chat()
            await _cancel_and_wait(chat)
            await _assert_closed(request)
            await self._assert_next_chat_works(stage)

    @run_as_test
    async def test_closing_the_events_in_mid_stream_closes_the_connection(self) -> None:
        """Close the iterator between two events."""
        async with self.open_stage() as stage:
            stage.answer(self._endless_answer())
            async with events_of(stage.adapter, self._story()) as events:
                async for event in events:
                    if isinstance(event, TextDeltaEvent):
                        break
            await _assert_closed(await stage.wait_for_chat())
            await self._assert_next_chat_works(stage)

    @run_as_test
    async def test_a_second_cancel_while_the_first_is_under_way_leaks_nothing(self) -> None:
        """Cancel twice, as happens if a client cancels and then disconnects."""
        async with self.open_stage() as stage:
            stage.answer(self._endless_answer())
            chat = asyncio.create_task(stage.collect_events(self._story()))
            request = await stage.wait_for_chat(chats=[chat])
            chat.cancel()
            await asyncio.sleep(0)
            await _cancel_and_wait(chat)
            await _assert_closed(request)
            await self._assert_next_chat_works(stage)

    def _story(self) -> ChatRequest:
        return ChatRequest(messages=(Message.user("Tell a long story."),), model=self.model)

    def _endless_answer(self) -> Reply:
        half = up_to(self.answers().text_answer([BEFORE, AFTER], streamed=True), BEFORE)
        return replace(half, pieces=(*half.pieces, Gate()))

    async def _assert_next_chat_works(self, stage: Stage) -> None:
        stage.answer(self.answers().text_answer(["Next."], streamed=True))
        text = (await stage.chat(self._story())).text
        check(text == "Next.", f"after a cancel the next chat's text is {text!r}.")


async def _cancel_and_wait(chat: asyncio.Task[object]) -> None:
    chat.cancel()
    done, _ = await asyncio.wait({chat}, timeout=TIDY_SECONDS)
    check(done, f"a cancelled chat has not ended after {TIDY_SECONDS:g} s.")
    with contextlib.suppress(asyncio.CancelledError):
        check(False, f"a cancelled chat ended normally, with {await chat!r}.")


async def _wait_for(event: asyncio.Event, chat: asyncio.Task[None]) -> None:
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({waiting, chat}, timeout=TIDY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not event.is_set():
        if chat.done():
            await chat
        raise AssertionError("a delta that the provider sent was not yielded: the answer is held back.")


async def _assert_closed(request: RecordedRequest) -> None:
    try:
        async with asyncio.timeout(TIDY_SECONDS):
            await request.disconnected.wait()
    except TimeoutError:
        raise AssertionError(
            f"the connection to the provider is still open {TIDY_SECONDS:g} s after the cancel: "
            "the provider continues to generate and to charge."
        ) from None
