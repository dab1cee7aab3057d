"""Checks that many concurrent chats on one adapter do not mix up answers, models, tools or failures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from jumpseat.adapters.base import events_of
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    Fold,
    Message,
    Response,
    ServerError,
    TextDeltaEvent,
    ToolDefinition,
)
from jumpseat.testing.checks.failures import up_to
from jumpseat.testing.laws import assert_laws, assert_response, check
from jumpseat.testing.stage import TIDY_SECONDS, ContractBase, Stage, run_as_test
from jumpseat.testing.upstream import Gate, RecordedRequest, Reply

CHATS = 50
_ASKED = re.compile(r"marker-(\d+)-asked")
_ANSWERED = re.compile(r"marker-(\d+)-answered")


class ConcurrencyChecks(ContractBase):
    """The checks of concurrent chats on one adapter."""

    @run_as_test
    async def test_many_simultaneous_chats_do_not_mix(self) -> None:
        """Run chats with different models, tools and answers, some of which fail or are cancelled."""
        script = self.answers()
        all_arrived, never_opened = Gate(), Gate()

        def answer(request: RecordedRequest) -> Reply:
            number = int(_ASKED.findall(request.body.decode())[0])
            streamed = script.asks_to_stream(request)
            word = f"marker-{number}-answered"
            match _outcome(number):
                case "fails":
                    reply = script.error_answer(500, f"{word} with a failure.")
                case "calls":
                    arguments = f'{{"place":"{word}"}}'
                    reply = script.tool_call_answer(
                        f"call{number:05}", f"tool-{number}", arguments, streamed=streamed
                    )
                case "is cancelled":
                    reply = up_to(script.text_answer([word, " and more"], streamed=True), word)
                    reply = replace(reply, pieces=(*reply.pieces, never_opened))
                case _:
                    reply = script.text_answer([word, f" by {number}"], streamed=streamed)
            return replace(reply, held=all_arrived)

        async with self.open_stage() as stage:
            stage.answer_all(answer)
            chats = [asyncio.create_task(self._chat(stage, number)) for number in range(CHATS)]
            try:
                await stage.wait_for_chat(CHATS, chats)
                all_arrived.open()
                results = await asyncio.gather(*chats, return_exceptions=True)
            finally:
                for chat in chats:
                    chat.cancel()
                await asyncio.gather(*chats, return_exceptions=True)
            for number, result in enumerate(results):
                if isinstance(result, BaseException):
                    raise AssertionError(f"chat {number} of {CHATS}: {result}") from result
            for request in stage.chats:
                self._assert_own_request(request.body.decode())
                if _outcome(int(_ASKED.findall(request.body.decode())[0])) == "is cancelled":
                    check(
                        await _in_time(request.disconnected.wait),
                        "a cancelled chat among others keeps its connection open.",
                    )

    async def _chat(self, stage: Stage, number: int) -> None:
        request = ChatRequest(
            messages=(Message.user(f"marker-{number}-asked"),),
            model=self.models[number % len(self.models)],
            tools=(ToolDefinition(f"tool-{number}", f"Tool of marker-{number}-asked."),),
            stream=number % 2 == 0 or _outcome(number) == "is cancelled",
        )
        fold, events, outcome = Fold(stage.provider, request.model), [], _outcome(number)
        try:
            async with events_of(stage.adapter, request) as incoming:
                async for event in incoming:
                    fold.add(event)
                    events.append(event)
                    if outcome == "is cancelled" and isinstance(event, TextDeltaEvent):
                        break
        except ChatError as error:
            is_expected = outcome == "fails" and isinstance(error, ServerError)
            name = type(error).__name__
            check(
                is_expected, f"it ended with {name}, but its script says that it {outcome}: {error.message}"
            )
            # An adapter may replace the provider's message, but not with the message of another chat.
            others = set(_ANSWERED.findall(error.message)) - {str(number)}
            check(not others, f"its error has the words of the chats {sorted(others)}: {error.message!r}.")
            return
        check(outcome != "fails", "its failure was not raised.")
        if outcome == "is cancelled":
            text = "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
            check(text == f"marker-{number}-answered", f"it received {text!r}.")
            return
        assert_laws(events)
        self._assert_own(fold.response(), number, stage, request.model)

    def _assert_own(self, response: Response, number: int, stage: Stage, model: str) -> None:
        assert_response(response, provider=stage.provider, model=model)
        if _outcome(number) == "calls":
            calls = [(call.name, dict(call.arguments or {})) for call in response.tool_calls]
            expected = [(f"tool-{number}", {"place": f"marker-{number}-answered"})]
            check(calls == expected, f"its calls are {calls!r}, not {expected!r}.")
        else:
            expected_text = f"marker-{number}-answered by {number}"
            check(response.text == expected_text, f"its text is {response.text!r}, not {expected_text!r}.")

    def _assert_own_request(self, body: str) -> None:
        numbers = set(_ASKED.findall(body))
        check(len(numbers) == 1, f"one request contains messages of the chats {sorted(numbers)}.")
        (number,) = numbers
        check(f'"tool-{number}"' in body, f"chat {number} was sent without its own tool: {body}")
        model = self.models[int(number) % len(self.models)]
        check(model in body, f"chat {number} was not sent to the model {model!r}: {body}")


def _outcome(number: int) -> str:
    """Return how the chat with this number ends."""
    return {3: "is cancelled", 5: "calls", 7: "fails"}.get(number % 10, "answers")


async def _in_time(wait: Callable[[], Awaitable[object]]) -> bool:
    try:
        async with asyncio.timeout(TIDY_SECONDS):
            await wait()
    except TimeoutError:
        return False
    return True
