"""Checks of the round trip: an answer goes back as it came, every opaque thing of it byte for byte.

Above it is `contract`; below it are the recordings and the hooks in `stage`. The rule is in the docstring of
`jumpseat.chat.Response`.
"""

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
from jumpseat.testing.stage import TOOLS, ContractBase, Stage, bounded

RESULT = "The result of the tool: 7 °C."
NEXT = "And the next question."
HELLO = Message.user("Hello.")
PARTS = 50
"""Every so-manieth delta of an answer, the part that has come so far is looked at."""


class ReplayChecks(ContractBase):
    """The conversation goes on."""

    @bounded
    async def test_what_must_go_back_goes_back_byte_for_byte(self, answered: Recording) -> None:
        """Signatures, data, raw arguments, and the strings that the recording names."""
        async with self.stage() as stage:
            message = await self._answer_of(stage, answered)
            body = await self._sent_with(stage, answered, message)
            texts = list(strings_in(body))
            for wanted in (*answered.expected.get("replayed", ()), *_opaque(message)):
                check(
                    any(wanted in text for text in texts),
                    f"{wanted!r} of {answered.name} does not stand in the next request: {body!r}",
                )
            for call in (block for block in message.content if isinstance(block, ToolUseBlock)):
                _assert_call_went_back(call, body)

    @bounded
    async def test_an_answer_that_was_held_as_json_goes_back_the_same(self, answered: Recording) -> None:
        """A client holds the conversation in the wire's form: nothing may depend on our own objects."""
        async with self.stage() as stage:
            message = await self._answer_of(stage, answered)
            direct = await self._sent_with(stage, answered, message)
            wired = await self._sent_with(stage, answered, through_the_wire(message))
            check(wired == direct, f"by way of JSON it sends {wired!r}\ninstead of {direct!r}")

    @bounded
    async def test_what_was_given_out_is_taken_back(self, answered: Recording) -> None:
        """The next chat may hold it, whole or as far as it had come when it was cancelled."""
        request = self.request_of(answered)
        async with self.stage() as stage:
            stage.answer(answered.reply())
            assert_taken_back(await stage.events(request), request.messages)

    async def _answer_of(self, stage: Stage, recording: Recording) -> Message:
        """The recorded answer as the message to send back."""
        self.answers()
        stage.answer(recording.reply())
        message = (await stage.chat(self.request_of(recording))).as_message()
        if not message.content:
            pytest.skip("the answer is empty, and an empty message does not go back")
        return message

    async def _sent_with(self, stage: Stage, recording: Recording, message: Message) -> Any:
        """What the next chat sends, in which the message goes back."""
        asked = self.request_of(recording)
        stage.answer(self.answers().text_answer(["Yes."], streamed=True))
        messages = (*asked.messages, message, _next_message(message))
        await stage.chat(replace(asked, messages=messages, stream=True))
        return stage.sent()

    @bounded
    async def test_a_tool_round_goes_back_with_call_and_result_paired(self) -> None:
        """A call of the suite's own making: name, arguments, id and result, in this order."""
        script = self.answers()
        arguments = '{"city":"Göteborg","days":3}'
        async with self.stage() as stage:
            request = self.hello(tools=TOOLS)
            stage.answer(script.tool_call_answer("callcall1", "weather", arguments, streamed=True))
            response = await stage.chat(request)
            check(len(response.tool_calls) == 1, f"there are {len(response.tool_calls)} tool calls, not one.")
            call = response.tool_calls[0]
            check(call.name == "weather", f"the call's name is {call.name!r}.")
            check(call.arguments == json.loads(arguments), f"the arguments are {call.arguments!r}.")
            check(response.stop_reason == "tool_use", f"a call stops for {response.stop_reason!r}.")
            answer = response.as_message()
            stage.answer(script.text_answer(["Cold."], streamed=True))
            messages = (*request.messages, answer, _next_message(answer))
            await stage.chat(replace(request, messages=messages))
            body = stage.sent()
            _assert_call_went_back(call, body)
            texts = list(strings_in(body))
            check(any(RESULT in text for text in texts), f"the tool's result does not go back: {body!r}")
            first, last = (
                next(n for n, text in enumerate(texts) if each in text) for each in ("weather", RESULT)
            )
            check(first < last, "the result stands before its call.")


def assert_taken_back(events: Sequence[StreamEvent], asked: Sequence[Message] = (HELLO,)) -> None:
    """The content of an answer, and of each part that a cancel may leave of it, is valid in the next chat.

    Raises:
        AssertionError: the daemon refuses what it gave out.
    """
    fold = Fold("any", "any")
    given: list[Message] = []
    for number, event in enumerate(events):
        fold.add(event)
        # Of deltas a few will do: nothing but the end of a text depends on them.
        if not type(event).type.endswith("_delta") or number % PARTS == 0:
            given.append(fold.partial().as_message())
    given.append(fold.response().as_message())
    for message in (each for number, each in enumerate(given) if number == 0 or each != given[number - 1]):
        try:
            back = through_the_wire(message)
            conversation = (*asked, back, _next_message(back))
            Conversation(conversation).arranged([])
        except ValueError as error:
            raise AssertionError(f"{message.content!r} was refused: {error}") from error
        except InvalidRequestError as error:
            raise AssertionError(f"{message.content!r} was refused: {error.message}") from error


def _next_message(answer: Message) -> Message:
    """What a client sends after this answer: the results of its calls, or another question."""
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


def _assert_call_went_back(call: ToolUseBlock, body: Any) -> None:
    """The exact text of the arguments, or the very object that it says, with its keys in their order."""
    names = list(strings_in(body))
    check(call.name in names, f"the call's name {call.name!r} does not go back: {body!r}")
    if call.arguments is None or call.raw in names:
        return  # What is broken goes back in the dialect's own way, or not at all.
    if not call.raw.strip() and "{}" in names:
        return  # No arguments at all are an empty object, and JSON has no emptier text for it.
    wanted = json.dumps(json.loads(call.raw or "{}"))
    objects = (value for value in values_in(body) if isinstance(value, dict))
    stands = any(json.dumps(each) == wanted for each in objects)
    check(stands, f"the arguments {call.raw!r} do not go back, as text or as an object: {body!r}")
