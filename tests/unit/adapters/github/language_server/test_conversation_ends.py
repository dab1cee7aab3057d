"""Chats through the language server's conversations that are cancelled, get no answer, or lose the server."""

import asyncio
import contextlib
import time

import pytest

from jumpseat.adapters.github.language_server import exchange
from jumpseat.chat import ConnectionError, ProtocolError
from tests.attempts import assert_quick
from tests.fakes.language_server import NEVER
from tests.fakes.language_server_answers import begin, end, report, round_reply, turn
from tests.unit.adapters.github.language_server.chats import (
    CREATE,
    DESTROY,
    answer_of,
    conversations,
    failure_of,
    make_request,
    text_in,
)


@pytest.mark.requirement("language-server:cancel")
async def test_a_closed_chat_cancels_its_request_and_destroys_its_conversation(fake):
    never = asyncio.Event()
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), never))

    async def seconds_until_it_is_closed():
        async with conversations(fake) as api:
            count = len(fake.starts) + 1
            stream = api.stream(make_request("Hello"))
            async for event in stream:
                if event.type == "text_delta":
                    break
            before = time.monotonic()
            await stream.aclose()
            took = time.monotonic() - before
            cancelled = await fake.wait_for("$/cancelRequest", count)
            destroyed = await fake.wait_for(DESTROY, count)
            *_, request = [each for each in fake.received if each.get("method") == CREATE]
        assert cancelled == {"id": request["id"]}
        assert destroyed["conversationId"] == "conversation-1"
        return took

    await assert_quick(seconds_until_it_is_closed, within=1)


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancelled_task_cancels_its_request(fake):
    fake.on(CREATE, NEVER)
    async with conversations(fake) as api:
        task = asyncio.ensure_future(answer_of(api, make_request("Hello")))
        await fake.wait_for(CREATE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fake.wait_for("$/cancelRequest")
        assert fake.params(DESTROY) == []


@pytest.mark.requirement("language-server:silence")
@pytest.mark.parametrize(
    "said", [(), (begin(),), (begin(), round_reply("Half"))], ids=["nothing", "begin", "begin and text"]
)
async def test_silence_ends_a_chat_and_cancels_its_request(fake, said):
    fake.on(CREATE, turn(fake, *said, result=NEVER))
    for silence_seconds in (0.3, 1.0, 4.0):
        async with conversations(fake, silence_seconds=silence_seconds) as api:
            error, events = await failure_of(api, make_request("Hello"))
            await fake.wait_for("$/cancelRequest")
        if len(said) < 2 or text_in(events):
            break  # If the text is missing, the machine was too busy, so try again with more time.

    assert type(error) is ConnectionError
    assert "providers.helper.timeout" in error.hint
    assert text_in(events) == ("Half" if len(said) == 2 else "")


@pytest.mark.requirement("language-server:silence")
async def test_silence_is_counted_from_the_last_report(fake):
    # Each of five reports comes after a third of the limit. A busy machine may send them later, so the next
    # attempt has a higher limit.
    for silence_seconds in (1.2, 3.6, 7.2):
        steps = [asyncio.Event() for _ in range(5)]
        values = [value for step in steps for value in (step, report())]
        fake.on(CREATE, turn(fake, begin(), *values, round_reply("x"), end()))
        async with conversations(fake, silence_seconds=silence_seconds) as api:
            answering = asyncio.ensure_future(answer_of(api, make_request("Hello")))
            await fake.wait_for(CREATE)
            loop = asyncio.get_running_loop()
            for number, step in enumerate(steps, 1):
                loop.call_later(silence_seconds / 3 * number, step.set)
            with contextlib.suppress(ConnectionError):
                assert (await answering).text == "x"
                return
    pytest.fail("every attempt ended before the answer")


@pytest.mark.requirement("language-server:silence")
async def test_an_end_report_without_a_response_ends_the_chat_in_time(fake, monkeypatch):
    monkeypatch.setattr(exchange, "GRACE_SECONDS", 0.2)
    fake.on(CREATE, turn(fake, begin(), round_reply("Whole"), end(), result=NEVER))
    async with conversations(fake) as api:
        answer = await answer_of(api, make_request("Hello"))
        await fake.wait_for("$/cancelRequest")

    assert (answer.text, answer.stop_reason) == ("Whole", "end_turn")


@pytest.mark.requirement("language-server:silence")
async def test_a_chat_whose_response_lacks_an_end_report_ends_in_time(fake, monkeypatch):
    monkeypatch.setattr(exchange, "GRACE_SECONDS", 0.2)
    fake.on(CREATE, turn(fake, begin(), round_reply("Whole")), {"conversationId": "c", "turnId": "t"})
    async with conversations(fake) as api:
        assert (await answer_of(api, make_request("Hello"))).text == "Whole"
        error, _ = await failure_of(api, make_request("Hello"))

    assert type(error) is ProtocolError


@pytest.mark.requirement("language-server:silence")
async def test_an_end_report_that_comes_after_the_response_still_counts(fake):
    progress_token = asyncio.get_running_loop().create_future()

    def respond_first(params):
        progress_token.set_result(params["workDoneToken"])
        return {"conversationId": "conversation-1", "turnId": "turn-1"}

    fake.on(CREATE, respond_first)
    async with conversations(fake) as api:
        answering = asyncio.ensure_future(answer_of(api, make_request("Hello")))
        token = await progress_token
        # The response to this request shows that the response to the chat has been read.
        await fake.request("workspace/workspaceFolders")
        fake.progress(token, round_reply("Late"))
        fake.progress(token, end())
        answer = await answering

    assert answer.text == "Late"


def test_the_grace_period_is_five_seconds():
    assert exchange.GRACE_SECONDS == 5


@pytest.mark.requirement("language-server:crash", "language-server:silence")
@pytest.mark.parametrize("cause", ["kill", "exit", "garbage"])
async def test_a_server_that_dies_during_a_chat_ends_it_with_the_partial_answer(fake, cause):
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), result=NEVER))

    def end_server(event):
        if event.type == "text_delta":
            ended_at.append(time.monotonic())
            match cause:
                case "kill":
                    fake.kill()
                case "exit":
                    fake.exit(3)
                case _:
                    fake.send_bytes(b"\x00 no header at all\r\n\r\n")

    ended_at = []

    async def seconds_until_it_ends():
        ended_at.clear()
        async with conversations(fake) as api:
            error, events = await failure_of(api, make_request("Hello"), end_server)
            took = time.monotonic() - ended_at[0]
        assert text_in(events) == "Half"
        assert (type(error), error.provider) == (ProtocolError, "helper")
        return took

    await assert_quick(seconds_until_it_ends, within=1)
