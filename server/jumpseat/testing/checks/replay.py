"""Checks that the next request sends an answer back unchanged, with its opaque parts byte for byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import (
    Fold,
    InvalidRequestError,
    Message,
    RedactedThinkingBlock,
    StreamEvent,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.engine.conversation import Conversation
from jumpseat.testing.laws import check
from jumpseat.testing.recordings import Recording, strings_in, through_the_wire, values_in
from jumpseat.testing.stage import TOOLS, ContractBase, Stage, run_as_test

RESULT = "The result of the tool: 7 °C."
NEXT = "And the next question."
HELLO = Message.user("Hello.")
CHECKED_DELTA = 50
"""After a delta, the partial answer is checked only if the event's number is a multiple of this."""


class ReplayChecks(ContractBase):
    """The checks of the next request in a conversation."""

    @run_as_test
    async def test_provider_data_is_sent_back_byte_for_byte(self, answered: Recording) -> None:
        """Check signatures, redacted data, raw arguments and the strings in the recording's `replayed`."""
        async with self.open_stage() as stage:
            message = await self._fetch_answer(stage, answered)
            body = await self._send_with(stage, answered, message)
            texts = list(strings_in(body))
            for data in (*answered.expected.get("replayed", ()), *_opaque(message)):
                check(
                    any(data in text for text in texts),
                    f"{data!r} of {answered.name} is not in the next request: {body!r}",
                )
            for call in (block for block in message.content if isinstance(block, ToolUseBlock)):
                _assert_call_sent_back(call, body)

    @run_as_test
    async def test_an_answer_that_was_stored_as_json_is_sent_back_the_same(self, answered: Recording) -> None:
        """Check that objects' identities do not matter, because clients store conversations as JSON."""
        async with self.open_stage() as stage:
            message = await self._fetch_answer(stage, answered)
            direct = await self._send_with(stage, answered, message)
            wired = await self._send_with(stage, answered, through_the_wire(message))
            check(wired == direct, f"through JSON it sends {wired!r}\ninstead of {direct!r}")

    @run_as_test
    async def test_an_answer_is_valid_in_the_next_chat(self, answered: Recording) -> None:
        """Check this also for the part of an answer that was received before a cancel."""
        request = self.request_of(answered)
        async with self.open_stage() as stage:
            stage.answer(answered.reply())
            assert_valid_in_next_chat(await stage.collect_events(request), request.messages)

    async def _fetch_answer(self, stage: Stage, recording: Recording) -> Message:
        """Return the recorded answer as the message to send back."""
        self.answers()  # This skips the check if there is no script.
        stage.answer(recording.reply())
        message = (await stage.chat(self.request_of(recording))).as_message()
        if not message.content:
            pytest.skip("the answer is empty, and an empty message is not sent back")
        return message

    async def _send_with(self, stage: Stage, recording: Recording, message: Message) -> Any:
        """Send the message back in the next chat, and return the body of that request."""
        request = self.request_of(recording)
        stage.answer(self.answers().text_answer(["Yes."], streamed=True))
        messages = (*request.messages, message, _next_message(message))
        await stage.chat(replace(request, messages=messages, stream=True))
        return stage.request_body()

    @run_as_test
    async def test_a_tool_round_is_sent_back_with_call_and_result_paired(self) -> None:
        """Check that the call is sent with its name and arguments, followed by its result."""
        script = self.answers()
        arguments = '{"city":"Göteborg","days":3}'
        async with self.open_stage() as stage:
            request = self.hello(tools=TOOLS)
            stage.answer(script.tool_call_answer("callcall1", "weather", arguments, streamed=True))
            response = await stage.chat(request)
            check(len(response.tool_calls) == 1, f"there are {len(response.tool_calls)} tool calls, not one.")
            call = response.tool_calls[0]
            check(call.name == "weather", f"the call's name is {call.name!r}.")
            check(call.arguments == json.loads(arguments), f"the arguments are {call.arguments!r}.")
            check(
                response.stop_reason == "tool_use", f"the stop reason of a call is {response.stop_reason!r}."
            )
            answer = response.as_message()
            stage.answer(script.text_answer(["Cold."], streamed=True))
            messages = (*request.messages, answer, _next_message(answer))
            await stage.chat(replace(request, messages=messages))
            body = stage.request_body()
            _assert_call_sent_back(call, body)
            texts = list(strings_in(body))
            check(any(RESULT in text for text in texts), f"the tool's result is not sent back: {body!r}")
            first, last = (
                next(n for n, text in enumerate(texts) if each in text) for each in ("weather", RESULT)
            )
            check(first < last, "the result is before its call.")


def assert_valid_in_next_chat(events: Sequence[StreamEvent], before: Sequence[Message] = (HELLO,)) -> None:
    """Assert that an answer, and each partial answer after a cancel, is valid in the next chat.

    Raises:
        AssertionError: the daemon rejects content that it sent.
    """
    fold = Fold("any", "any")
    given: list[Message] = []
    for number, event in enumerate(events):
        fold.add(event)
        # Checking after some of the deltas is enough: a delta changes only the end of a text.
        if not type(event).type.endswith("_delta") or number % CHECKED_DELTA == 0:
            given.append(fold.partial().as_message())
    given.append(fold.response().as_message())
    for message in (each for number, each in enumerate(given) if number == 0 or each != given[number - 1]):
        try:
            back = through_the_wire(message)
            conversation = (*before, back, _next_message(back))
            Conversation(conversation).arrange([])
        except ValueError as error:
            raise AssertionError(f"{message.content!r} was rejected: {error}") from error
        except InvalidRequestError as error:
            raise AssertionError(f"{message.content!r} was rejected: {error.message}") from error


def _next_message(answer: Message) -> Message:
    """Return a client's reply to this answer: the results of its calls, or another question."""
    results = [
        ToolResultBlock(block.id, RESULT) for block in answer.content if isinstance(block, ToolUseBlock)
    ]
    return Message("user", tuple(results)) if results else Message.user(NEXT)


def _opaque(message: Message) -> Sequence[str]:
    found = []
    for block in message.content:
        if isinstance(block, ThinkingBlock) and block.signature:
            found.append(block.signature)
        if isinstance(block, RedactedThinkingBlock):
            found.append(block.data)
    return found


def _assert_call_sent_back(call: ToolUseBlock, body: Any) -> None:
    """Assert that the body has the call's name, and its arguments as the same text or an equal object."""
    texts = list(strings_in(body))
    check(call.name in texts, f"the call's name {call.name!r} is not sent back: {body!r}")
    if call.raw in texts:
        return
    if call.arguments is None:
        return  # Depending on the dialect, invalid arguments are dropped or sent in another form.
    if not call.raw.strip() and "{}" in texts:
        return  # Empty arguments are sent back as an empty object.
    expected = json.dumps(json.loads(call.raw or "{}"))
    objects = (value for value in values_in(body) if isinstance(value, dict))
    is_sent = any(json.dumps(each) == expected for each in objects)
    check(is_sent, f"the arguments {call.raw!r} are not sent back, as text or as an object: {body!r}")
