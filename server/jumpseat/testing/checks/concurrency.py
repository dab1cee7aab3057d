"""The check of many chats at once on one adapter: no answer, model, tool or failure gets into another chat.

Above it is `contract`; below it are the dialect's script and the hooks in `stage`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
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
from jumpseat.testing.stage import TIDY_SECONDS, ContractBase, Stage, bounded
from jumpseat.testing.upstream import Gate, RecordedRequest, Reply

CHATS = 50
_ASKED = re.compile(r"marker-(\d+)-asked")


class ConcurrencyChecks(ContractBase):
    """One adapter object serves many turns at once."""

    @bounded
    async def test_many_chats_at_once_do_not_mix(self) -> None:
        """50 of them, with models, tools and answers of their own; some are cancelled, and some fail."""
        script = self.answers()
        everybody_is_there, ends = Gate(), Gate()

        def answer(request: RecordedRequest) -> Reply:
            number = int(_ASKED.findall(request.body.decode())[0])
            streamed = script.asks_to_stream(request)
            word = f"marker-{number}-answered"
            match _role(number):
                case "fails":
                    reply = script.error_answer(500, f"{word} with a failure.")
                case "calls":
                    arguments = f'{{"place":"{word}"}}'
                    reply = script.tool_call_answer(
                        f"call{number:05}", f"tool-{number}", arguments, streamed=streamed
                    )
                case "is cancelled":
                    reply = up_to(script.text_answer([word, " and more"], streamed=True), word)
                    reply = replace(reply, pieces=(*reply.pieces, ends))
                case _:
                    reply = script.text_answer([word, f" by {number}"], streamed=streamed)
            return replace(reply, held=everybody_is_there)

        async with self.stage() as stage:
            stage.answer_all(answer)
            chats = [asyncio.create_task(self._chat(stage, number)) for number in range(CHATS)]
            try:
                await stage.chat_arrives(CHATS, chats)
                everybody_is_there.open()
                results = await asyncio.gather(*chats, return_exceptions=True)
            finally:
                for chat in chats:
                    chat.cancel()
                await asyncio.gather(*chats, return_exceptions=True)
            for number, result in enumerate(results):
                if isinstance(result, BaseException):
                    raise AssertionError(f"chat {number} of {CHATS}: {result}") from result
            for request in stage.chats:
                self._assert_asked_alone(request.body.decode())
                if _role(int(_ASKED.findall(request.body.decode())[0])) == "is cancelled":
                    check(
                        await _in_time(request.disconnected.wait),
                        "a chat was cancelled among others, and its connection stays open.",
                    )

    async def _chat(self, stage: Stage, number: int) -> None:
        """One of them, from its question to the check of what it came to."""
        request = ChatRequest(
            messages=(Message.user(f"marker-{number}-asked"),),
            model=self.models[number % len(self.models)],
            tools=(ToolDefinition(f"tool-{number}", f"Tool of marker-{number}-asked."),),
            stream=number % 2 == 0 or _role(number) == "is cancelled",
        )
        fold, events, role = Fold(stage.provider, request.model), [], _role(number)
        try:
            async with events_of(stage.adapter, request) as coming:
                async for event in coming:
                    fold.add(event)
                    events.append(event)
                    if role == "is cancelled" and isinstance(event, TextDeltaEvent):
                        break
        except ChatError as error:
            wanted = role == "fails" and isinstance(error, ServerError)
            check(wanted, f"it {role}, and ended with {type(error).__name__}: {error.message}")
            check(f"marker-{number}-answered" in error.message, f"its error is {error.message!r}.")
            return
        check(role != "fails", "its failure was swallowed.")
        if role == "is cancelled":
            text = "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
            check(text == f"marker-{number}-answered", f"it was told {text!r}.")
            return
        assert_laws(events)
        self._assert_own(fold.response(), number, stage, request.model)

    def _assert_own(self, response: Response, number: int, stage: Stage, model: str) -> None:
        assert_response(response, provider=stage.provider, model=model)
        if _role(number) == "calls":
            told = [(call.name, dict(call.arguments or {})) for call in response.tool_calls]
            wanted = [(f"tool-{number}", {"place": f"marker-{number}-answered"})]
            check(told == wanted, f"its calls are {told!r}, not {wanted!r}.")
        else:
            wanted_text = f"marker-{number}-answered by {number}"
            check(response.text == wanted_text, f"its text is {response.text!r}, not {wanted_text!r}.")

    def _assert_asked_alone(self, body: str) -> None:
        numbers = set(_ASKED.findall(body))
        check(len(numbers) == 1, f"one request holds the questions of the chats {sorted(numbers)}.")
        (number,) = numbers
        check(f'"tool-{number}"' in body, f"chat {number} was sent without its own tool: {body}")
        model = self.models[int(number) % len(self.models)]
        check(model in body, f"chat {number} was sent to another model than {model!r}: {body}")


def _role(number: int) -> str:
    """What becomes of a chat."""
    return {3: "is cancelled", 5: "calls", 7: "fails"}.get(number % 10, "answers")


async def _in_time(wait: Callable[[], object]) -> bool:
    try:
        async with asyncio.timeout(TIDY_SECONDS):
            await wait()  # type: ignore[misc]
    except TimeoutError:
        return False
    return True
